"""The rules of how long what has ended is kept, and the runs they may concern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.retention import Ended, Rule
from orchestrator.store.workflows import name_key

_FIRST = "00000000-0000-0000-0000-000000000000"
_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"

_RULES = text("""
SELECT what, app_key AS app, workflow_key AS workflow, status, keep_seconds, keep_newest FROM retention_rules
""")


def load_rules(conn: Connection) -> list[Rule]:
    """All rules, in no order."""
    return [Rule(**row._mapping) for row in conn.execute(_RULES)]


_SET = text("""
INSERT INTO retention_rules AS r (what, app_key, workflow_key, status, app, workflow, keep_seconds, keep_newest,
  changed_by)
VALUES (:what, :app_key, :workflow_key, :status, :app, :workflow, :keep_seconds, :keep_newest, :actor)
ON CONFLICT (what, app_key, workflow_key, status) DO UPDATE SET app = excluded.app, workflow = excluded.workflow,
  keep_seconds = excluded.keep_seconds, keep_newest = excluded.keep_newest, changed_at = orchestrator_now(),
  changed_by = excluded.changed_by
RETURNING xmax = 0
""")


def set_rule(conn: Connection, rule: Rule, app: str | None, workflow: str | None, actor: str) -> bool:
    """Store the rule in the place of one for the same; whether it is new. `app` and `workflow`: the names."""
    values = _place(rule) | {"app": app, "workflow": workflow, "actor": actor}
    values |= {"keep_seconds": rule.keep_seconds, "keep_newest": rule.keep_newest}
    return bool(conn.execute(_SET, values).scalar_one())


_DELETE = text("""
DELETE FROM retention_rules
WHERE what = :what AND app_key = :app_key AND workflow_key = :workflow_key AND status = :status RETURNING what
""")


def delete_rule(conn: Connection, rule: Rule) -> bool:
    """Remove the rule for the same; whether there was one."""
    return conn.execute(_DELETE, _place(rule)).first() is not None


def _place(rule: Rule) -> dict[str, Any]:
    return {"what": rule.what, "app_key": rule.app, "workflow_key": rule.workflow, "status": rule.status}


# One probe of an index a workflow; asked whether there is one, the planner may read all runs.
_OWN = text("""
SELECT w.id, w.name, w.name_key FROM workflows w, LATERAL (
  SELECT r.workflow_id FROM workflow_runs r WHERE (r.workflow_id, r.id) >= (w.id, CAST(:lowest AS uuid))
  ORDER BY r.workflow_id, r.id LIMIT 1
) f WHERE f.workflow_id = w.id ORDER BY w.name_key, w.id
""")


@dataclass(frozen=True, slots=True)
class Workflow:
    """One that has runs."""

    id: str
    name: str
    key: str


def workflows_with_runs(conn: Connection) -> list[Workflow]:
    """Every workflow that has runs, by name."""
    return [Workflow(str(row.id), row.name, row.name_key) for row in conn.execute(_OWN, {"lowest": _FIRST})]


# All runs of a page are read, whatever they are: what a page costs does not hang on how many of them have ended. Both
# bounds name the workflow: by a condition of its own the planner would rather look through all runs by their ids.
_PAGE = text("""
SELECT n.id, a.name_key AS app, n.status, n.over, extract(epoch FROM orchestrator_now() - n.finished_at)::float8 AS age
FROM (
  SELECT r.id, r.app_id, r.status, r.finished_at, r.parent_run_id IS NULL AND r.finished_at IS NOT NULL AS over
  FROM workflow_runs r
  WHERE (r.workflow_id, r.id) < (CAST(:workflow_id AS uuid), CAST(:before AS uuid))
    AND (r.workflow_id, r.id) >= (CAST(:workflow_id AS uuid), CAST(:lowest AS uuid))
  ORDER BY r.workflow_id DESC, r.id DESC LIMIT :limit
) n JOIN apps a ON a.id = n.app_id ORDER BY n.id DESC
""")
# The highest id of a moment, as orchestrator/ids.py makes them.
_ID_OF = text("""
SELECT lpad(to_hex((extract(epoch FROM orchestrator_now() - make_interval(secs => :age)) * 1000)::bigint), 12, '0')
""")


def id_so_old(conn: Connection, seconds: float) -> str:
    """An id above those of all runs that were started so long ago or earlier; above all ids for 0."""
    if seconds <= 0:
        return _LAST
    digits = str(conn.execute(_ID_OF, {"age": min(seconds, 50 * 366 * 86400)}).scalar_one())
    return f"{digits[:8]}-{digits[8:]}-ffff-ffff-ffffffffffff"


def page_of_runs(conn: Connection, workflow_id: str, before: str, limit: int) -> tuple[Sequence[Ended], str | None]:
    """Of the workflow's next `limit` runs with lower ids, newest first, those that have ended and that no step of
    another started; and where to go on, None at the end."""
    rows = conn.execute(_PAGE, {"workflow_id": workflow_id, "before": before, "lowest": _FIRST, "limit": limit}).all()
    ended = [Ended(str(row.id), row.app, row.status, row.age) for row in rows if row.over]
    return ended, str(rows[-1].id) if len(rows) == limit else None


_TAKE = text("""
INSERT INTO retention_turn AS t (one, holder, free_at)
VALUES (true, :holder, orchestrator_now() + make_interval(secs => :seconds))
ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, free_at = excluded.free_at
WHERE t.free_at <= orchestrator_now() OR t.holder = excluded.holder RETURNING one
""")


def take_turn(conn: Connection, holder: str, seconds: float) -> bool:
    """Be the one who removes what is old for the next `seconds`, or go on being; False while another is."""
    return conn.execute(_TAKE, {"holder": holder, "seconds": seconds}).first() is not None


def key_of(name: str | None) -> str:
    """The key of a name in a rule; empty for None."""
    return "" if name is None else name_key(name)
