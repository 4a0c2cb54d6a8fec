"""When a function may be called next: one row a function, with the theoretical arrival time of its next call.

The generic cell rate algorithm (ITU-T I.371, annex A): each call moves that time on by the spacing of calls, and may
come when it is no more than a whole period ahead of now.
"""

from __future__ import annotations

from orchestrator.domain.rate import Rate
from orchestrator.store.db import Database

# A step that has waited for its turn goes ahead: its call is used up already.
_RESERVE = """
WITH granted AS (
  SELECT 1 FROM workflow_run_steps WHERE id = %(step_id)s AND wait ->> 'for' = 'rate'
), used AS (
  INSERT INTO function_rates AS r (function, arrival_at)
  SELECT %(function)s, orchestrator_now() + make_interval(secs => %(spacing)s)
  WHERE NOT EXISTS (SELECT 1 FROM granted)
  ON CONFLICT (function) DO UPDATE
    SET arrival_at = greatest(r.arrival_at, orchestrator_now()) + make_interval(secs => %(spacing)s)
  RETURNING extract(epoch FROM arrival_at - orchestrator_now())::float8 - %(period)s AS wait
)
SELECT coalesce((SELECT greatest(wait, 0) FROM used), 0)::float8
"""


def reserve(db: Database, function: str, rate: Rate, step_id: str) -> float:
    """Use up one call for the step; seconds until it may be made."""
    values = {"function": function, "step_id": step_id, "spacing": rate.spacing, "period": rate.period}
    return float(db.call(_RESERVE, values)[0][0])
