"""The run that a page is about, for those it is open to."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.store.reads import RunNow, load_secrets, run_now
from web.application import database
from web.pages.frame import check_scope


def open_run(run_id: str) -> RunNow:
    """The run as it stands, secrets masked; raises `NotFound` for one that is not there or not open."""
    with database().transaction() as conn:
        run = run_now(conn, run_id)
        check_scope(run.app)
        return replace(run, error=load_secrets(conn, run.id).show(run.error))
