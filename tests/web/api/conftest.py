"""The API on the module's database, with tokens of every role; a worker is played by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from werkzeug.test import TestResponse

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.services.coordinate import tick
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from orchestrator.store.workflows import ensure_app
from tests.documents import Document, document, step
from tests.hands import Hands
from tests.integration.cli.conftest import work_off
from tests.web.api.checked import Checked
from web.app import create_app

APPS = ("default", "Shop")


@dataclass
class Api:
    """The application with who may ask it: `tokens` by role, and by (role, app) those of one app."""

    checked: Checked
    hands: Hands
    tokens: dict[Any, str] = field(default_factory=dict)

    @property
    def db(self) -> Database:
        return self.hands.db

    def call(self, method: str, path: str, who: Any = Role.ADMIN, **given: Any) -> TestResponse:
        """Ask as the holder of a token; `who` None: as nobody."""
        return self.checked.call(method, path, token=None if who is None else self.tokens[who], **given)

    def get(self, path: str, who: Any = Role.ADMIN, **given: Any) -> Any:
        """The JSON of what is there."""
        answer = self.call("GET", path, who, **given)
        assert answer.status_code == 200, answer.text
        return answer.get_json()

    def post(self, path: str, body: Any = None, who: Any = Role.ADMIN, **given: Any) -> TestResponse:
        return self.call("POST", path, who, json={} if body is None else body, **given)

    def register(self, *steps: dict[str, Any], app: str = "default", **keys: Any) -> Document:
        """A workflow of these steps."""
        made = document(*(steps or (step("a"),)), **keys)
        answer = self.post(f"/workflows?app={quote(app)}", made)
        assert answer.status_code in (200, 201), answer.text
        return made

    def start(self, workflow: str, input: Any = None, app: str = "default", **given: Any) -> str:
        """The id of a new run."""
        answer = self.post("/runs", {"workflow": workflow, "input": input, "app": app, **given})
        assert answer.status_code in (200, 201), answer.text
        return str(answer.get_json()["id"])

    def work(self) -> None:
        """Perform everything that is ready, which a coordinator sends: the application has no broker."""
        tick(self.hands.engine)
        work_off(self.hands)


@pytest.fixture(scope="module")
def api(orchestrator_module_database_url: str) -> Iterator[Api]:
    """What is ready waits for `Api.work`."""
    app = create_app(Config(database_url=orchestrator_module_database_url, secret_key="x" * 16, api_rate=0))
    db = app.extensions["orchestrator.database"]
    made = Api(Checked(app), Hands(db))
    with db.transaction() as conn:
        for name in APPS:
            ensure_app(conn, name)
    for role in Role:
        made.tokens[role] = create_token(db, str(role), role).token
        for name in APPS:
            made.tokens[role, name] = create_token(db, f"{role} of {name}", role, app=name).token
    yield made
    db.close()
