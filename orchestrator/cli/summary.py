"""A run in a few lines: its state and why, its counts, what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from orchestrator.cli.marks import MARKS, Signs, word
from orchestrator.cli.text import ago, clean, error_line, one_line, plural, shell_option
from orchestrator.config import ALL_QUEUES
from orchestrator.domain.celery_task import STEPS
from orchestrator.domain.states import STEP_TERMINAL, RunStatus, StepStatus
from orchestrator.domain.times import duration
from orchestrator.store.reads import RunNow

# Most telling first.
_ORDER = (
    StepStatus.FAILED,
    StepStatus.RUNNING,
    StepStatus.QUEUED,
    StepStatus.READY,
    StepStatus.WAITING,
    StepStatus.PENDING,
    StepStatus.SUCCEEDED,
    StepStatus.SKIPPED,
    StepStatus.UPSTREAM_FAILED,
    StepStatus.CANCELED,
)


def headline(run: RunNow, signs: Signs) -> Text:
    """`✗ order failed after 12 s`."""
    line = Text.assemble(signs.marked(run.status), (clean(run.workflow), "bold"), " ")
    line.append(word(run.status), MARKS[run.status].style)
    return line.append(f" {timing}" if (timing := _timing(run)) else "")


def _timing(run: RunNow) -> str:
    if run.started_at is None or run.status is RunStatus.PAUSED:
        return ""
    if run.finished_at is not None:
        return f"after {duration((run.finished_at - run.started_at).total_seconds())}"
    return f"for {duration((run.now - run.started_at).total_seconds())}"


def why(run: RunNow) -> Text:
    """Why the run is in its state; empty when there is nothing to say."""
    if run.status is RunStatus.PAUSED and run.paused_at is not None:
        because = f": {one_line(run.pause_reason)}" if run.pause_reason else ""
        return Text(f"paused {ago(run.paused_at, run.now)}{because}", "yellow")
    if run.status is RunStatus.PENDING:
        return Text("waits for its turn: as many runs are active as its workflow allows (max_active_runs)", "yellow")
    if run.error is not None and run.status is not RunStatus.CANCELED:
        return Text(_error(run.error), "red")
    if run.cancel_reason:
        return Text(f"canceled: {one_line(run.cancel_reason)}", "yellow")
    return Text(f"ending as {word(run.closing)}; its last handlers run") if run.closing else Text()


def _error(error: Mapping[str, Any]) -> str:
    step = f"step '{clean(error['step'])}': " if error.get("step") else ""
    return step + error_line(error.get("type"), error.get("message"))


def counts_lines(counts: Mapping[str, int], signs: Signs, bar_width: int, width: int | None) -> list[Text]:
    """`██████░░░░ 60%  12 steps: 1 failed, 6 succeeded, ...`, on two lines where there is no room for one."""
    total = sum(counts.values())
    ended = sum(counts.get(status, 0) for status in STEP_TERMINAL)
    share = ended / total if total else 0.0
    named = [Text(f"{counts[s]:,} {word(s)}", MARKS[s].style) for s in _ORDER if counts.get(s)]
    bar = Text.assemble((signs.bar(share, bar_width), "blue"), f" {int(share * 100)}%")
    told = Text(f"{plural(total, 'step')}: ").append_text(Text(", ").join(named))
    if width is not None and bar.cell_len + 2 + told.cell_len > width:
        return [bar, told]
    return [Text.assemble(bar, "  ", told)]


def obstacles(run: RunNow, queues: set[str], workers: Sequence[Mapping[str, Any]]) -> list[str]:
    """What keeps an open run from going on that no step can tell: processes that are not there, or are all busy.

    `queues` have steps of the run that wait for a worker.
    """
    if run.status.terminal or run.status is RunStatus.PAUSED:
        return []
    alive = [worker for worker in workers if worker["status"] == "alive"]
    told = [why for queue in sorted(queues) if (why := _held_up(queue, alive))]
    if not any(worker["kind"] == "beat" for worker in alive):
        told.append("no coordinator is alive, so retries, deadlines and lost work wait: orchestrator beat")
    return told


def _held_up(queue: str, alive: Sequence[Mapping[str, Any]]) -> str | None:
    """Why nobody takes a step from the queue now."""
    workers = [worker for worker in alive if worker["kind"] == "worker"]
    serving = [w for w in workers if queue == STEPS or not {queue, ALL_QUEUES}.isdisjoint(w["queues"])]
    if not serving and queue == STEPS:
        return "no worker is alive: orchestrator worker"
    if not serving:
        how = f"orchestrator worker {shell_option('--queues', queue)}"
        return f"no worker is alive that serves queue '{clean(queue)}': {how}"
    slots, busy = (sum(worker[key] for worker in serving) for key in ("concurrency", "running"))
    return f"every slot that serves queue '{clean(queue)}' is busy ({busy} of {slots})" if busy >= slots else None
