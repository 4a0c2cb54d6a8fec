"""The Flask application. It reads Postgres only; nothing here talks to a worker."""

from __future__ import annotations

import secrets

from flask import Flask

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.services.seal import Seal
from web.api.api import add_api
from web.cookies import Cookies, end_old_sessions
from web.docs import docs
from web.failures import Failures
from web.headers import add_security_headers
from web.health import health
from web.identities import Identities
from web.metrics import measure
from web.pages import install_pages
from web.paths import believe_proxies, use_exact_paths
from web.problems import answer_errors
from web.rates import Rates
from web.readiness import Readiness
from web.requests import watch_requests
from web.templating import install_templating

_YEAR = 366 * 86400


def create_app(config: Config | None = None) -> Flask:
    """The application for `config` (default: the environment's). Connects to nothing until the first request."""
    config = config or Config.from_env()
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=config.secret_key or secrets.token_hex(32),
        SESSION_COOKIE_NAME="orchestrator_session",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SEND_FILE_MAX_AGE_DEFAULT=_YEAR,  # their addresses change with what they hold
        MAX_CONTENT_LENGTH=4 * config.max_document_bytes,
        TRACE_URL=config.trace_url,
    )
    app.session_interface = Cookies()
    use_exact_paths(app)
    believe_proxies(app, config.proxies)
    engine = make_engine(config, load_functions=False, pool_size=config.pool_size, name="orchestrator-web")
    app.extensions["orchestrator.engine"] = engine
    app.extensions["orchestrator.database"] = engine.db
    app.extensions["orchestrator.identities"] = Identities(engine.db)
    app.extensions["orchestrator.failures"] = Failures()
    app.extensions["orchestrator.seal"] = Seal(config.secret_key)
    app.extensions["orchestrator.rates"] = Rates(config.api_rate)
    app.extensions["orchestrator.readiness"] = Readiness.of(config)
    watch_requests(app, config)
    answer_errors(app)
    app.register_blueprint(health)
    app.register_blueprint(docs)
    app.before_request(end_old_sessions)
    install_templating(app)
    install_pages(app)
    add_api(app, config)
    measure(app, config)
    app.after_request(add_security_headers)
    return app
