"""Runs as the terminal shows them, made from a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.cli.runpage import RunPage
from orchestrator.cli.steplines import Around
from orchestrator.domain.definition import Definition, Edge, Step, StepKind
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.services.look import Look
from orchestrator.store.reads import RunNow, StepBrief

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
RUN_ID = "01234567-89ab-7cde-8f01-23456789abcd"


def plan_of(**sources: str) -> Plan:
    """A plan from step name to the names of its sources, separated by spaces (`_` stands for `-`)."""
    return plan_from({name: names.split() for name, names in sources.items()})


def plan_from(sources: Mapping[str, Sequence[str]]) -> Plan:
    steps = tuple(
        Step(name, StepKind.PASS, depends_on=tuple(Edge(source) for source in names)) for name, names in sources.items()
    )
    return make_plan(Definition("order", steps))


def brief(plan: Plan, name: str, status: str = "pending", **given: Any) -> StepBrief:
    """A step in a state, with the times such a step has."""
    begun = status in ("running", "succeeded", "failed")
    defaults: dict[str, Any] = {
        "position": plan.positions[name] if name in plan.positions else len(plan.steps),
        "name": name,
        "status": StepStatus(status),
        "reason": {"failed": "error", "upstream_failed": "upstream", "skipped": "condition"}.get(status),
        "attempt": int(begun),
        "max_attempts": 1,
        "worker": "host:7" if begun else None,
        "queue": "default" if status != "pending" else None,
        "started_at": NOW - timedelta(seconds=5) if begun else None,
        "finished_at": NOW - timedelta(seconds=3) if status in ("succeeded", "failed") else None,
        "next_attempt_at": None,
        "cancel_requested": False,
        "progress": None,
        "error_type": "ValueError" if status == "failed" else None,
        "error_message": "no such card" if status == "failed" else None,
        "wait": None,
        "pool": None,
    }
    return StepBrief(**(defaults | given))


def look_at(steps: Sequence[StepBrief], status: str = "running", **given: Any) -> Look:
    """A look at a run of these steps."""
    ended = status in ("succeeded", "failed", "canceled")
    defaults: dict[str, Any] = {
        "id": RUN_ID,
        "workflow": "order",
        "revision": 3,
        "revision_id": RUN_ID,
        "app": "default",
        "status": RunStatus(status),
        "closing": None,
        "created_at": NOW - timedelta(seconds=12),
        "started_at": NOW - timedelta(seconds=12),
        "finished_at": NOW if ended else None,
        "deadline_at": None,
        "paused_at": None,
        "pause_reason": None,
        "cancel_reason": None,
        "error": None,
        "now": NOW,
    }
    counts = given.pop("counts", None) or dict(Counter(step.status.value for step in steps))
    return Look(RunNow(**(defaults | given)), counts, list(steps))


def around(plan: Plan, look: Look) -> Around:
    return Around(plan, {step.position: step.status for step in look.steps}, look.run.status, NOW)


def page_of(plan: Plan, look: Look, **view: Any) -> RunPage:
    """The page of a run; `view` overrides its tags, input and output. A worker and a beat are alive."""
    shown = {"tags": [], "input": {}, "output": None, "parent_run_id": None} | view
    workers = view.pop("workers", None)
    if workers is None:
        workers = [
            {"kind": "worker", "status": "alive", "queues": ["default"]},
            {"kind": "beat", "status": "alive", "queues": []},
        ]
    return RunPage(shown, look, around(plan, look), workers)


def plain(lines: Sequence[Any]) -> list[str]:
    return [line.plain for line in lines]
