"""Look at a run: how it stands, and those of its steps that matter now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from orchestrator.domain.states import StepStatus
from orchestrator.store.reads import RunNow, RunSecrets, StepBrief, list_briefs, run_now, step_counts

_S = StepStatus
# What matters most in a run too big to be shown whole, and the share of the room each gets at most.
_MATTERS: tuple[tuple[tuple[StepStatus, ...], float], ...] = (
    ((_S.FAILED,), 0.35),
    ((_S.RUNNING, _S.WAITING), 0.65),
    ((_S.READY, _S.QUEUED), 0.8),
    ((_S.CANCELED, _S.UPSTREAM_FAILED), 1.0),
)


@dataclass(frozen=True, slots=True)
class Look:
    """A run at one moment, secrets masked. `steps` in graph order: all of them, or those that matter now."""

    run: RunNow
    counts: Mapping[str, int]
    steps: Sequence[StepBrief]

    @property
    def total(self) -> int:
        """How many steps the run has, handlers that were started included."""
        return sum(self.counts.values())


def look(
    conn: Connection,
    run_id: str,
    secrets: RunSecrets,
    *,
    most: int | None = None,
    statuses: Sequence[StepStatus] = (),
) -> Look:
    """Look at the run; raises `NotFound`. `secrets` from `load_secrets`.

    `statuses` chooses steps; else a run of more than `most` steps shows that many of what matters now.
    """
    run = run_now(conn, run_id)
    counts = step_counts(conn, run_id)
    if statuses or most is None or sum(counts.values()) <= most:
        steps = list_briefs(conn, run_id, statuses)
    else:
        steps = _that_matter(conn, run_id, counts, most)
    shown = replace(run, error=secrets.show(run.error))
    return Look(shown, counts, [_masked(step, secrets) for step in steps])


def _that_matter(conn: Connection, run_id: str, counts: Mapping[str, int], most: int) -> list[StepBrief]:
    steps: list[StepBrief] = []
    for statuses, share in _MATTERS:
        room = int(most * share) - len(steps)
        if room > 0 and any(counts.get(status) for status in statuses):
            steps += list_briefs(conn, run_id, statuses, room)
    return sorted(steps, key=lambda step: step.position)


def _masked(step: StepBrief, secrets: RunSecrets) -> StepBrief:
    if not secrets.masker:
        return step
    return replace(step, error_message=secrets.show(step.error_message), progress=secrets.show(step.progress))
