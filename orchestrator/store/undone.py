"""Which steps of a run were compensated, and which are next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, text

_DONE = """
FROM unnest(CAST(:done AS int[]), CAST(:undone AS int[])) AS p (done, undone)
JOIN workflow_run_steps s ON s.run_id = :run_id AND s.position = p.done
"""
# A step that ran again has ended later than its compensation. What a rerun has kept is the earlier run's, to undo once.
_NOT_UNDONE = text(f"""
SELECT s.position {_DONE}
LEFT JOIN workflow_run_steps u ON u.run_id = :run_id AND u.position = p.undone
WHERE s.status = 'succeeded' AND s.reused_step_id IS NULL AND (u.finished_at IS NULL OR u.finished_at < s.finished_at)
ORDER BY s.finished_at DESC, s.position DESC LIMIT 1
""")
_UNDONE = text(f"""
SELECT s.position {_DONE}
JOIN workflow_run_steps u ON u.run_id = :run_id AND u.position = p.undone
WHERE s.status = 'succeeded' AND u.status = 'succeeded' AND u.finished_at >= s.finished_at
""")


def last_not_undone(conn: Connection, run_id: str, pairs: Mapping[int, int]) -> int | None:
    """Of the steps at the positions of `pairs`, each with that of its compensation: the last to succeed that is not
    compensated since."""
    return conn.execute(_NOT_UNDONE, _of(run_id, pairs)).scalar()


def find_undone(conn: Connection, run_id: str, pairs: Mapping[int, int]) -> set[int]:
    """Those of them that succeeded and were compensated since."""
    return set(conn.execute(_UNDONE, _of(run_id, pairs)).scalars())


def _of(run_id: str, pairs: Mapping[int, int]) -> dict[str, Any]:
    return {"run_id": run_id, "done": list(pairs), "undone": list(pairs.values())}
