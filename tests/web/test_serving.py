"""What the web process does as it begins to serve."""

from __future__ import annotations

from types import SimpleNamespace

from flask import Flask

from orchestrator.config import Config
from orchestrator.up.commands import web_command
from tests.support import wait_for
from web.app import create_app
from web.serving import post_worker_init


def test_the_templates_of_all_pages_are_compiled_beside_the_first_requests() -> None:
    """All of them, so that one that is broken is found here too."""
    config = Config.from_env({"DATABASE_URL": "postgresql://u@127.0.0.1:1/d", "REDIS_URL": "redis://127.0.0.1:1/0"})
    app: Flask = create_app(config)
    compiled = app.jinja_env.cache
    assert compiled is not None
    wanted = len(app.jinja_env.list_templates(extensions=["html"]))
    assert len(compiled) < wanted
    post_worker_init(SimpleNamespace(wsgi=app))
    wait_for(lambda: len(compiled) >= wanted, what="all are compiled")
    assert "--config=python:web.serving" in web_command(config, host="127.0.0.1")
