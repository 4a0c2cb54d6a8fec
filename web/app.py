"""The Flask application. It reads Postgres only; nothing here talks to a worker."""

from __future__ import annotations

from flask import Flask

from orchestrator.config import Config
from orchestrator.store.db import Database
from web.failures import Failures
from web.headers import add_security_headers
from web.health import health
from web.identities import Identities
from web.pages.home import home
from web.readiness import Readiness


def create_app(config: Config | None = None) -> Flask:
    """The application for `config` (default: the environment's). Connects to nothing until the first request."""
    config = config or Config.from_env()
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=config.secret_key,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        MAX_CONTENT_LENGTH=4 * config.max_document_bytes,
    )
    db = Database.connect(config.database_url, pool_size=config.pool_size, application_name="orchestrator-web")
    app.extensions["orchestrator.database"] = db
    app.extensions["orchestrator.identities"] = Identities(db)
    app.extensions["orchestrator.failures"] = Failures()
    app.extensions["orchestrator.readiness"] = Readiness.of(config)
    app.register_blueprint(health)
    app.register_blueprint(home)
    app.after_request(add_security_headers)
    return app
