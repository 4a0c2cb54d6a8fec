"""A run of a function goes on: what failed last is done again, and the function is replayed up to there."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from orchestrator.store import begun_rows, transition


def reopen_begun(conn: Connection, run_id: str, *, but: Collection[int] = ()) -> tuple[int, frozenset[str]]:
    """Open the steps again that failed, or were canceled with the run, but for those at the positions `but`.

    A failure after which the function went on stays: it has dealt with that. How many, and their queues. The steps of
    the run are locked by the caller.
    """
    begun_rows.forget_failures(conn, run_id)
    opened = {p: tries for p, tries in begun_rows.to_open(conn, run_id).items() if p not in but}
    transition.reopen_steps(conn, run_id, opened)
    begun_rows.recount(conn, run_id)
    queues = begun_rows.begin(conn, run_id, min(opened)) if opened else set()
    return len(opened), frozenset(queues)
