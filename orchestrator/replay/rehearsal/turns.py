"""Turns of a rehearsed function: as on a worker, but fakes stand for steps, and time is the agenda's."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from orchestrator.context import AttemptLink
from orchestrator.domain.definition import Retry
from orchestrator.replay.context import WorkflowContext
from orchestrator.replay.here import Here
from orchestrator.replay.journal import End, Entry, History, Journal
from orchestrator.replay.play import Turn, play
from orchestrator.replay.rehearsal.results import Call
from orchestrator.replay.rehearsal.stage import Stage

Note = Callable[[Call], None]


class StagedHere(Here):
    """Steps of the function's own process; `note` is told of each that has ended."""

    def __init__(self, ctx: WorkflowContext, link: AttemptLink, max_bytes: int, stage: Stage, note: Note) -> None:
        super().__init__(ctx._program, link, ctx.log, max_bytes, lambda: 0.5)
        self._stage, self._note_call = stage, note

    def seconds(self) -> float:
        return self._stage.agenda.now

    def _try(
        self,
        entry: Entry,
        number: int,
        call: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        retry: Retry,
    ) -> tuple[End, float | None]:
        agenda = self._stage.agenda
        name, instead = self._stage.fake_for(entry.name, call)
        at, began = agenda.moment, agenda.now
        end, delay = super()._try(entry, number, instead, args, kwargs, retry)
        if delay is None:
            took = timedelta(seconds=agenda.now - began)
            given = named(call, args, kwargs)
            self._note_call(
                Call("step", entry.key, name, given, end.status, end.value, plain(end.error), number, at, took)
            )
        return end, delay


def turn(
    stage: Stage,
    call: Callable[..., Any],
    history: History,
    journal: Journal,
    link: AttemptLink,
    log: logging.Logger,
    note: Note,
    *,
    workflow: str,
    attempt: int,
    max_bytes: int = 1 << 20,
) -> Turn:
    """Play the function for a turn."""

    def played(ctx: WorkflowContext, input: Any) -> Any:
        ctx._here = StagedHere(ctx, link, max_bytes, stage, note)
        return call(ctx, input)

    with stage.limited(None):
        return play(played, history, journal, link, log, workflow=workflow, attempt=attempt, max_bytes=max_bytes)


def named(call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name."""
    try:
        return dict(inspect.signature(call).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # a builtin, or arguments that do not fit
        return {"args": list(args), **kwargs} if args else dict(kwargs)


def plain(error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """`type` and `message` of an error."""
    return None if error is None else {"type": error["type"], "message": error["message"]}
