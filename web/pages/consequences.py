"""What an act on a run will do, said before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.domain.states import StepStatus

_S = StepStatus
_NOT_STARTED = (_S.PENDING, _S.READY, _S.QUEUED)


def consequences(verb: str, counts: Mapping[str, int]) -> list[str]:
    """Sentences about the steps of the run, given how many are in each status."""
    tell = {"cancel": _cancel, "pause": _pause, "resume": _resume, "retry": _retry, "rerun": _rerun}.get(verb)
    return list(tell(counts)) if tell is not None else []


def _count(counts: Mapping[str, int], *statuses: StepStatus) -> int:
    return sum(counts.get(status, 0) for status in statuses)


def _steps(count: int, one: str, many: str) -> str:
    return f"1 step {one}" if count == 1 else f"{count:,} steps {many}"


def _cancel(counts: Mapping[str, int]) -> Iterator[str]:
    running, waiting = _count(counts, _S.RUNNING), _count(counts, _S.WAITING)
    if running:
        yield f"{_steps(running, 'that runs gets', 'that run get')} the chance to finish; with Force, cut off at once."
    if waiting:
        yield f"{_steps(waiting, 'stops', 'stop')} waiting; a run started below is canceled in the same way."
    yield f"{_steps(_count(counts, *_NOT_STARTED), 'does not start', 'will not start')}."
    yield "Handlers and compensations still run."


def _pause(counts: Mapping[str, int]) -> Iterator[str]:
    running = _count(counts, _S.RUNNING)
    if running:
        yield f"{_steps(running, 'that runs comes to its end', 'that run come to their end')}."
    yield f"{_steps(_count(counts, *_NOT_STARTED), 'does', 'do')} not start until somebody resumes the run."


def _resume(counts: Mapping[str, int]) -> Iterator[str]:
    ready = _count(counts, _S.READY, _S.QUEUED)
    yield f"{_steps(ready, 'is', 'are')} ready and may start at once."


def _retry(counts: Mapping[str, int]) -> Iterator[str]:
    again = _count(counts, _S.FAILED, _S.CANCELED, _S.UPSTREAM_FAILED)
    yield f"{_steps(again, 'runs', 'run')} again: what failed or was canceled, and what depended on it."
    yield f"{_steps(_count(counts, _S.SUCCEEDED), 'that succeeded is', 'that succeeded are')} kept."


def _rerun(counts: Mapping[str, int]) -> Iterator[str]:
    yield "A new run is started; this one stays as it is."
