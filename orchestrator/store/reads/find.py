"""Find a run by what a person types."""

from __future__ import annotations

import re

from sqlalchemy import Connection, text

from orchestrator.errors import InvalidInput, NotFound, Problem, unknown_run

LATEST = "latest"
SHORTEST = 6
_HEX = re.compile(r"[0-9a-f]+")
# How many of the newest runs are looked through for the end of an id.
_RECENT = 10_000

_NEWEST = text("SELECT id FROM workflow_runs ORDER BY id DESC LIMIT 1")
_BEGIN = text("""
SELECT id FROM workflow_runs WHERE id BETWEEN CAST(:low AS uuid) AND CAST(:high AS uuid) ORDER BY id DESC LIMIT 3
""")
_END = text("""
SELECT id FROM (SELECT id FROM workflow_runs ORDER BY id DESC LIMIT :recent) AS recent
WHERE replace(CAST(id AS text), '-', '') LIKE :pattern ORDER BY id DESC LIMIT 3
""")


def find_run(conn: Connection, text: str) -> str:
    """The id of the run meant by an id, a beginning or an end of one (6 characters or more), or `latest`.

    An end is looked for among the newest 10,000 runs. Raises `NotFound`, or `InvalidInput` when the text fits
    several runs or cannot be part of an id.
    """
    wanted = text.strip().lower()
    if wanted == LATEST:
        newest = conn.execute(_NEWEST).scalar()
        if newest is None:
            raise NotFound("there is no run yet")
        return str(newest)
    digits = wanted.replace("-", "")
    if not _HEX.fullmatch(digits) or not SHORTEST <= len(digits) <= 32:
        hint = f"give a run's id, {SHORTEST} or more characters of its beginning or end, or 'latest'"
        raise InvalidInput([Problem("", f"'{text}' is not a run's id", hint)], "unclear run")
    return _only(conn, text, digits)


def _only(conn: Connection, wanted: str, digits: str) -> str:
    found = list(conn.execute(_BEGIN, {"low": digits.ljust(32, "0"), "high": digits.ljust(32, "f")}).scalars())
    if not found:
        found = list(conn.execute(_END, {"recent": _RECENT, "pattern": f"%{digits}"}).scalars())
    if not found:
        raise unknown_run(wanted)
    if len(found) > 1:
        several = ", ".join(map(str, found[:2])) + (", ..." if len(found) > 2 else "")
        raise InvalidInput([Problem("", f"'{wanted}' fits several runs", several)], "unclear run")
    return str(found[0])
