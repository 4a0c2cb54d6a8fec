"""What the runs of one rehearsal share: the clock, the functions and workflows there are, and the runs themselves."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.codes import WorkflowSpec
from orchestrator.domain.near import did_you_mean
from orchestrator.errors import AttemptTimeout, OrchestratorError
from orchestrator.functions import FunctionSpec, Registry, Workflows
from orchestrator.replay.rehearsal.agenda import Agenda

Fake = Callable[..., Any]


class Stuck(OrchestratorError):
    """The run is open and nothing will ever move it: what it waits for was not given."""


@dataclass(slots=True)
class Stage:
    """`fakes` are the functions that the test gave, by name; `children` what stands for child workflows, by name.

    `documents` runs a declarative child at once: its result, or None where no document has this name.
    """

    agenda: Agenda
    functions: Registry
    workflows: Workflows
    fakes: Mapping[str, Fake]
    children: Mapping[str, Fake]
    documents: Callable[[str, Any], Any | None]
    by_child_id: dict[tuple[str, str], Any] = field(default_factory=dict)
    _deadline: float | None = None

    def function(self, name: str) -> FunctionSpec:
        """Raises `UnknownFunction` naming near ones."""
        return self.functions.find(name)

    def workflow(self, name: str) -> WorkflowSpec:
        """Raises `OrchestratorError` naming near ones."""
        spec = self.workflows.get(name)
        if spec is None:
            near = did_you_mean(name, [known.name for known in self.workflows])
            given = "give it in `workflows` or, to stand for it, in `children`"
            raise OrchestratorError(f"workflow '{name}' is not known here{near} ({given})")
        return spec

    def fake_for(self, step: str, call: Fake) -> tuple[str, Fake]:
        """The name of what the step calls, and what is called: a fake goes by the step's name or the function's."""
        name = next((spec.name for spec in self.functions if spec.call is call), getattr(call, "__name__", repr(call)))
        return name, self.fakes.get(step) or self.fakes.get(name) or call

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """`sleep` in the block takes no longer."""
        before = self._deadline
        self._deadline = None if seconds is None else self.agenda.now + seconds
        reset = current.set(self)
        try:
            yield
        finally:
            current.reset(reset)
            self._deadline = before

    def pass_time(self, seconds: float) -> None:
        """Let time pass inside a function; raises `AttemptTimeout`."""
        until = self.agenda.now + seconds
        if self._deadline is not None and until > self._deadline:
            over, self.agenda.now = until - self._deadline, self._deadline
            raise AttemptTimeout(f"the attempt used up its timeout ({over:g} s too long)")
        self.agenda.now = until


current: contextvars.ContextVar[Stage | None] = contextvars.ContextVar("orchestrator_stage", default=None)
