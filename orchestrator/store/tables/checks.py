"""The rows that cannot be, of the two tables that are written at every step (docs/adr/0021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import CheckConstraint

from orchestrator.domain.items import FIRST_ITEM
from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL, STEP_OPEN, STEP_TERMINAL
from orchestrator.store.tables.base import one_of


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One CHECK that calls a function in the database, which knows all of a table's rules and names the broken one.

    `given`: the function's parameters, each with its type and how it is read from the row; the rules are about them.
    A rule that comes to NULL holds, as a CHECK does.
    """

    function: str
    table: str
    given: Mapping[str, tuple[str, str]]
    rules: Mapping[str, str]

    def constraint(self) -> CheckConstraint:
        """The constraint, as part of the table."""
        return CheckConstraint(
            f"{self.function}({', '.join(read for _, read in self.given.values())})", name="possible"
        )

    def script(self) -> str:
        """The statement that makes the function."""
        parameters = ", ".join(f"{name} {kind}" for name, (kind, _) in self.given.items())
        holds = "\n    AND ".join(f"({rule}) IS NOT FALSE" for rule in self.rules.values())
        named = "\n    ".join(f"WHEN ({rule}) IS FALSE THEN '{name}'" for name, rule in self.rules.items())
        return f"""
CREATE FUNCTION {self.function}({parameters}) RETURNS bool
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  broken text;
BEGIN
  IF {holds} THEN
    RETURN true;
  END IF;
  broken := CASE
    {named} END;
  RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = '{self.table}',
    CONSTRAINT = '{self.table}_' || broken || '_check',
    MESSAGE = 'a row of {self.table} breaks the rule "' || broken || '": its status is ' || coalesce(status, 'null');
END $$;
"""


def _columns(kind: str, *names: str) -> dict[str, tuple[str, str]]:
    return {name: (kind, name) for name in names}


def _is_set(*names: str) -> dict[str, tuple[str, str]]:
    """Whether a column has a value: of those that may be large the value itself is nothing to hand around."""
    return {f"has_{name}": ("bool", f"{name} IS NOT NULL") for name in names}


_INSTANTS = ("finished", "lease_expires", "next_attempt", "wake", "held")

STEP_CHECK = RowCheck(
    "orchestrator_check_step",
    "workflow_run_steps",
    _columns("text", "status", "reason", "queue", "held_by")
    | _columns("uuid", "claim_token")
    | _columns("timestamptz", *(f"{name}_at" for name in _INSTANTS))
    | _is_set("error", "wait")
    | _columns(
        "int",
        *("source_count", "remaining_sources", "satisfied_sources", "failed_sources", "upstream_failed_sources"),
        *("skipped_sources", "item_of", "item_index", "items_open", "items_made", "items_total"),
    )
    | {"place": ("int", "position")},
    {
        "status": f"status IN {one_of(STEP_OPEN | STEP_TERMINAL)}",
        "finished": f"(finished_at IS NOT NULL) = (status IN {one_of(STEP_TERMINAL)})",
        "claimed": "(claim_token IS NOT NULL) = (status IN ('queued', 'running'))",
        "leased": "(lease_expires_at IS NOT NULL) = (status = 'running')",
        "has_queue": "status NOT IN ('queued', 'running') OR queue IS NOT NULL",
        "reasoned": "status NOT IN ('skipped', 'upstream_failed', 'canceled') OR reason IS NOT NULL",
        "failed_says_why": "status <> 'failed' OR has_error",
        "retry_is_ready": "next_attempt_at IS NULL OR status = 'ready'",
        "waits_for": "status <> 'waiting' OR has_wait",
        "wakes_while_it_waits": "wake_at IS NULL OR status = 'waiting'",
        "tally": "remaining_sources >= 0 AND source_count >= remaining_sources + satisfied_sources + failed_sources"
        " + upstream_failed_sources + skipped_sources",
        "held": "(held_by IS NOT NULL) = (held_at IS NOT NULL)",
        "held_is_not_sent": "held_at IS NULL OR status <> 'queued'",
        "item": f"(item_of IS NULL) = (place < {FIRST_ITEM}) AND (item_of IS NULL) = (item_index IS NULL)",
        "items": "items_open >= 0 AND items_made >= items_open AND items_total >= items_made",
    },
)

RUN_CHECK = RowCheck(
    "orchestrator_check_run",
    "workflow_runs",
    _columns("text", "status", "final_status", "halting")
    | _columns("timestamptz", "finished_at", "paused_at")
    | _is_set("error"),
    {
        "status": f"status IN {one_of(RUN_OPEN | RUN_TERMINAL)}",
        "final_status": f"final_status IN {one_of(RUN_TERMINAL)}",
        "finished": f"(finished_at IS NOT NULL) = (status IN {one_of(RUN_TERMINAL)})",
        "ends_as_decided": f"status NOT IN {one_of(RUN_TERMINAL)} OR final_status IS NOT DISTINCT FROM status",
        "halting": "halting IN ('abort', 'drain', 'run_failed', 'deadline')",
        "paused": "(paused_at IS NOT NULL) = (status = 'paused')",
        "failed_says_why": "status <> 'failed' OR has_error",
    },
)
