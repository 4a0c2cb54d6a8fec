"""Two runs side by side."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.blobs import QUOTED
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.shown import SHOWN

# Two blobs are the same if their bytes are, wherever they lie.
_PATH = QUOTED.replace("$", "[$]").replace(".", "[.]") + ':"[^"]*"'
_PLAIN = f"regexp_replace({{}}::text, '{_PATH}', '', 'g')"
_SAME = f"{_PLAIN.format('a.{0}')} IS DISTINCT FROM {_PLAIN.format('b.{0}')}"
_STEPS = f"""
SELECT coalesce(a.name, b.name) AS name, a.position AS left_position, b.position AS right_position,
  a.status AS left_status, b.status AS right_status, a.started_at AS left_start, a.finished_at AS left_end,
  b.started_at AS right_start, b.finished_at AS right_end,
  {_SAME.format("input")} AS input_differs, {_SAME.format("output")} AS output_differs,
  a.error ->> 'message' IS DISTINCT FROM b.error ->> 'message' AS error_differs
FROM (SELECT * FROM {SHOWN} s WHERE run_id = :left AND {STEPS_ONLY}) a
FULL JOIN (SELECT * FROM {SHOWN} s WHERE run_id = :right AND {STEPS_ONLY}) b ON b.name = a.name
"""
_ALL = text(
    f"SELECT * FROM ({_STEPS}) s ORDER BY coalesce(left_position, right_position), name LIMIT :limit OFFSET :skip"
)
_DIFFERENT = text(f"""
SELECT * FROM ({_STEPS}) s
WHERE left_status IS DISTINCT FROM right_status OR input_differs OR output_differs OR error_differs
ORDER BY coalesce(left_position, right_position), name LIMIT :limit OFFSET :skip
""")
_TIMES = ("left_start", "left_end", "right_start", "right_end")


def compare_steps(
    conn: Connection, left: str, right: str, *, different: bool, skip: int = 0, limit: int = 100
) -> tuple[list[dict[str, Any]], bool]:
    """The steps of two runs by name, `different` ones only or all; and whether there are more.

    `*_differs` say of stored values, secrets included, no more than that they are not the same.
    """
    values = {"left": left, "right": right, "skip": skip, "limit": limit + 1}
    rows = conn.execute(_DIFFERENT if different else _ALL, values).all()
    shown = [{**row._mapping} | {name: iso(getattr(row, name)) for name in _TIMES} for row in rows[:limit]]
    return shown, len(rows) > limit
