"""Rehearse a code-first workflow: from its start to its end, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from orchestrator.domain.codes import WorkflowSpec
from orchestrator.functions import Registry, make_workflow
from orchestrator.replay.rehearsal.agenda import Agenda
from orchestrator.replay.rehearsal.children import Child
from orchestrator.replay.rehearsal.results import Cancel, CodeResult, Signal
from orchestrator.replay.rehearsal.run import Run
from orchestrator.replay.rehearsal.stage import Fake, Stage, Stuck


def rehearse(
    workflow: Callable[..., Any] | WorkflowSpec,
    input: Any,
    functions: Registry,
    *,
    fakes: Mapping[str, Fake],
    children: Mapping[str, Fake],
    signals: Mapping[str, Any],
    during: Sequence[Signal | Cancel],
    documents: Callable[[str, Any], Any | None],
    at: datetime | None,
) -> CodeResult:
    """Raises `InvalidInput`, and `Stuck` when the run cannot end."""
    agenda = Agenda(at or datetime.now(UTC))
    stage = Stage(agenda, functions, functions.workflows, fakes, children, documents)
    run = Run(stage, spec_of(workflow, functions), input)
    for name, payload in signals.items():
        run.signal(name, payload)
    for act in during:
        agenda.later(act.after, _does(run, act))
    run.begin()
    while not run.over:
        if not agenda.go_on():
            told = f"the run of '{run.spec.name}' waits for {run.waits_for()}, and nothing will come"
            raise Stuck(f"{told}: give it in `signals`, or in `during` with testing.signal(...)")
    return run.result()


def spec_of(workflow: Callable[..., Any] | WorkflowSpec, functions: Registry) -> WorkflowSpec:
    """The workflow that the function is; one that is not registered is one of its own name."""
    if isinstance(workflow, WorkflowSpec):
        return workflow
    known = next((spec for spec in functions.workflows if spec.call is workflow), None)
    return known or make_workflow(workflow)


def _does(run: Run, act: Signal | Cancel) -> Callable[[], None]:
    if isinstance(act, Cancel):
        return run.cancel
    return lambda: _addressed(run, act.to).signal(act.name, act.payload)


def _addressed(run: Run, to: str | None) -> Run:
    """The run itself, or the last of those below it with this child id or workflow."""
    if to is None:
        return run
    found = [one for one in _below(run.children) if to in (one.child_id, one.spec.name)]
    if not found:
        raise Stuck(f"the run has no child '{to}' to send an event to at this moment")
    return found[-1]


def _below(children: Sequence[Child]) -> Iterator[Run]:
    for child in children:
        if isinstance(child.run, Run):
            yield child.run
            yield from _below(child.run.children)
