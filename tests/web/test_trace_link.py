"""The page of a run leads to its trace, where somebody has said where traces are shown."""

from __future__ import annotations

import pytest

from orchestrator.config import Config
from orchestrator.domain.tracing import trace_of
from orchestrator.store.db import Database
from tests.web.stage import Stage
from web.app import create_app


@pytest.mark.parametrize("shown", ["https://jaeger.example/trace/{trace_id}?x=1", ""])
def test_a_run_leads_to_its_trace(module_db: Database, stage: Stage, shown: str) -> None:
    url = module_db.engine.url.render_as_string(hide_password=False)
    app = create_app(Config(database_url=url, secret_key="k" * 32, trace_url=shown))
    client = app.test_client()
    client.post("/login", data={"token": stage.tokens["viewer"]})
    page = client.get(f"/runs/{stage.child}").text
    app.extensions["orchestrator.database"].close()
    link = f'<a href="https://jaeger.example/trace/{trace_of(stage.parent, None)}?x=1"'
    assert (link in page, 'title="Trace' in page) == (bool(shown), bool(shown))
