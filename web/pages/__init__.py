"""Pages for people, a blueprint a noun; each is named here."""

from __future__ import annotations

from flask import Flask

from web.pages.acts import acts
from web.pages.bulk import bulk
from web.pages.compare import compare
from web.pages.faults import install_faults
from web.pages.home import home
from web.pages.run import run
from web.pages.runs import runs
from web.pages.session import session_pages
from web.pages.step import step

PAGES = (home, runs, bulk, run, step, acts, compare)


def install_pages(app: Flask) -> None:
    """Register every page."""
    install_faults(app)
    app.register_blueprint(session_pages)
    for blueprint in PAGES:
        app.register_blueprint(blueprint)
