"""What every noun needs of the application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.errors import NotFound, unknown_run
from orchestrator.store.reads import run_app
from web.application import database, engine
from web.auth import current_identity, sees
from web.errors import Forbidden


def app_seen(given: str | None) -> str | None:
    """The app a request is about: that of the token, else the one asked for; None: all of them.

    For a token of one app the others are not there: raises `NotFound`.
    """
    if given is not None and not sees(given):
        raise NotFound(f"there is no app named '{given}'")
    return current_identity().app or given


def app_meant(given: str | None) -> str:
    """The same where it must be one app: without a word, the configured one."""
    return app_seen(given) or engine().settings.app


def for_all_apps(what: str) -> None:
    """Raises `Forbidden` for a token of one app: this is about what all apps share."""
    if current_identity().app is not None:
        raise Forbidden(f"a token of one app is not for {what}, which all apps share")


@contextmanager
def looking_at(run_id: str) -> Iterator[Any]:
    """A transaction to look at a run; raises `NotFound` for one that is not there for who asks."""
    with database().transaction() as conn:
        check_run(conn, run_id)
        yield conn


def check_run(conn: Any, run_id: str) -> None:
    """Raises `NotFound` for a run that is not there for who asks."""
    check_app(run_app(conn, run_id), run_id)


def check_app(app: str, run_id: str) -> None:
    """Raises `NotFound` for a run of another app than that of the token."""
    if not sees(app):
        raise unknown_run(run_id)


def check_acts_on(run_id: str) -> None:
    """The same before an act."""
    with looking_at(run_id):
        return
