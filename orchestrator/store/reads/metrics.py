"""What /metrics tells of the moment: live rows only, by indexes made for them, each count to a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.states import RUN_OPEN
from orchestrator.store.reads.pools import page_pools
from orchestrator.store.reads.queues import MOST_COUNTED, list_queues
from orchestrator.store.reads.schedules import STANDINGS
from orchestrator.store.tables import one_of

_MOST_NAMES = 1000  # pools and queues, the first by name
_ALIVE_SECONDS = 30
_OPEN = text(f"""
SELECT status, count(*) FROM (
  SELECT status FROM workflow_runs WHERE status IN {one_of(RUN_OPEN)} LIMIT {MOST_COUNTED}) one
GROUP BY status
""")
_STEPS = text(f"""
SELECT (SELECT count(*) FROM (SELECT FROM workflow_run_steps WHERE status = 'ready' AND next_attempt_at IS NOT NULL
    LIMIT {MOST_COUNTED}) one) AS retrying,
  (SELECT count(*) FROM (SELECT FROM workflow_run_steps WHERE status = 'waiting' LIMIT {MOST_COUNTED}) one) AS waiting
""")
_PROCESSES = text(f"""
SELECT kind, count(*) FILTER (WHERE stopped_at IS NULL
    AND seen_at > orchestrator_now() - make_interval(secs => {_ALIVE_SECONDS})) AS alive,
  CAST(extract(epoch FROM orchestrator_now() - max(seen_at)) AS float8) AS age
FROM workers GROUP BY kind
""")


_ALERTS = text("""
SELECT k.severity, count(l.id) AS open FROM alert_rules k JOIN alerts l ON l.rule_id = k.id AND l.closed_at IS NULL
GROUP BY 1 ORDER BY 1
""")
_DELIVERIES = text("""
SELECT count(*) AS waiting, count(error) AS failing FROM alert_deliveries WHERE due_at IS NOT NULL
""")
_LISTENING = text(f"""
SELECT count(*) FROM workers WHERE listening AND stopped_at IS NULL
  AND seen_at > orchestrator_now() - make_interval(secs => {_ALIVE_SECONDS})
""")
_SCHEDULES = text(f"""
SELECT {", ".join(f"count(*) FILTER (WHERE {so}) AS {name}" for name, so in STANDINGS.items())} FROM schedules s
""")
_FIRES = text("""
SELECT k.name, a.name AS app, s.workflow, CAST(sum(k.count) AS bigint) AS counted
FROM schedules s JOIN apps a ON a.id = s.app_id CROSS JOIN LATERAL (VALUES
  ('schedule.started', s.started_count), ('schedule.skipped', s.skipped_count), ('schedule.missed', s.missed_count),
  ('schedule.failed', s.failed_count)) AS k (name, count)
WHERE k.count > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
""")


@dataclass(frozen=True, slots=True)
class Gauges:
    """How things stand. `coordinator_age`: seconds since a beat process was heard of; None: never.

    `schedules`: how many are so; `fires`: rows of name, app, workflow, counted, of the schedules there are; `alerts`:
    how many are open, by severity; `deliveries`: messages `waiting`, and those of them that are `failing`.
    """

    open_runs: Mapping[str, int]
    retrying: int
    waiting: int
    queues: list[dict[str, Any]]
    pools: list[dict[str, Any]]
    alive: Mapping[str, int]
    coordinator_age: float | None
    now: Any
    schedules: Mapping[str, int] = field(default_factory=dict)
    fires: Sequence[Any] = ()
    alerts: Mapping[str, int] = field(default_factory=dict)
    deliveries: Mapping[str, int] = field(default_factory=dict)
    listening: int = 0


def read_gauges(conn: Connection) -> Gauges:
    """The numbers now."""
    steps = conn.execute(_STEPS).one()
    processes = {row.kind: row for row in conn.execute(_PROCESSES)}
    beat = processes.get("beat")
    return Gauges(
        open_runs={str(row[0]): int(row[1]) for row in conn.execute(_OPEN)},
        retrying=steps.retrying,
        waiting=steps.waiting,
        queues=list_queues(conn, None, _MOST_NAMES).items,
        pools=page_pools(conn, None, _MOST_NAMES).items,
        alive={kind: row.alive for kind, row in processes.items()},
        coordinator_age=float(beat.age) if beat is not None else None,
        now=conn.execute(text("SELECT orchestrator_now()")).scalar_one(),
        schedules=dict(conn.execute(_SCHEDULES).one()._mapping),
        fires=conn.execute(_FIRES).all(),
        alerts={row.severity: row.open for row in conn.execute(_ALERTS)},
        deliveries=dict(conn.execute(_DELIVERIES).one()._mapping),
        listening=conn.execute(_LISTENING).scalar_one(),
    )
