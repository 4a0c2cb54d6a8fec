"""Pages for people, a blueprint a noun; each is named here."""

from __future__ import annotations

from flask import Flask

from web.pages.acts import acts
from web.pages.alert_acts import alert_acts
from web.pages.alert_form import alert_form
from web.pages.alerts import alerts
from web.pages.approvals import approvals
from web.pages.audit import audit
from web.pages.bulk import bulk
from web.pages.compare import compare
from web.pages.editor import editor
from web.pages.faults import install_faults
from web.pages.home import home
from web.pages.pools import pools
from web.pages.run import run
from web.pages.runs import runs
from web.pages.schedule_acts import schedule_acts
from web.pages.schedule_form import schedule_form
from web.pages.schedules import schedules
from web.pages.session import session_pages
from web.pages.starter import starter
from web.pages.step import step
from web.pages.tokens import tokens
from web.pages.values import values
from web.pages.workers import workers
from web.pages.workflow import workflow
from web.pages.workflows import workflows

_RUNS = (runs, bulk, run, step, values, acts, compare)
_WORKFLOWS = (workflows, workflow, starter, editor)
_SCHEDULES = (schedules, schedule_acts, schedule_form)
_ALERTS = (alerts, alert_acts, alert_form)
PAGES = (home, *_RUNS, *_WORKFLOWS, *_SCHEDULES, *_ALERTS, approvals, pools, workers, audit, tokens)


def install_pages(app: Flask) -> None:
    """Register every page."""
    install_faults(app)
    app.register_blueprint(session_pages)
    for blueprint in PAGES:
        app.register_blueprint(blueprint)
