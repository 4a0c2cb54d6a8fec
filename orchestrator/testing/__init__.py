"""Run workflows in this process: no broker, no worker, and a clock that skips waits.

    from orchestrator import testing

    def test_refund():
        result = testing.run(DOCUMENT, {"amount": 5}, functions={"charge": lambda amount: {"id": 1}})
        assert result.status == "succeeded"
        assert result.steps["charge"].output == {"id": 1}

A document is run by the real SQL and the real engine: everything happens in one transaction that is rolled back, so
that nothing stays in the database, and within it the database clock stands still but for what the run waits. The
function of a code-first workflow needs no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, overload

from orchestrator.replay.rehearsal.check import HistoryDiffers, Replayed
from orchestrator.replay.rehearsal.check import check as check_history
from orchestrator.replay.rehearsal.exported import read_histories
from orchestrator.replay.rehearsal.results import Call, Cancel, CodeResult, Signal, seconds_of
from orchestrator.replay.rehearsal.stage import Stuck
from orchestrator.services.engine import Settings
from orchestrator.testing.code import run_code
from orchestrator.testing.document import run_document
from orchestrator.testing.results import RunResult, StepResult
from orchestrator.testing.sandboxed import Document, Pick, Sandbox, load_document, sandbox, sleep

__all__ = [
    "Call",
    "CodeResult",
    "Document",
    "HistoryDiffers",
    "Pick",
    "Replayed",
    "RunResult",
    "Sandbox",
    "StepResult",
    "Stuck",
    "cancel",
    "load_document",
    "histories",
    "replay",
    "run",
    "sandbox",
    "signal",
    "sleep",
]

Code = Callable[..., Any]


@overload
def run(
    definition: Document,
    input: Any = ...,
    functions: Mapping[str, Code] | None = ...,
    *,
    at: datetime | None = ...,
    pick: Pick = ...,
    settings: Settings | None = ...,
    database_url: str | None = ...,
    check: Callable[[Sandbox], None] | None = ...,
    signals: Mapping[str, Any] | None = ...,
    approvals: Mapping[str, Any] | None = ...,
    workflows: Sequence[Document] = ...,
) -> RunResult: ...
@overload
def run(
    definition: Code,
    input: Any = ...,
    functions: Mapping[str, Code] | None = ...,
    *,
    at: datetime | None = ...,
    signals: Mapping[str, Any] | None = ...,
    during: Sequence[Signal | Cancel] = ...,
    children: Mapping[str, Code] | None = ...,
    workflows: Sequence[Code | Document] = ...,
) -> CodeResult: ...
def run(
    definition: Document | Code, input: Any = None, functions: Mapping[str, Code] | None = None, **options: Any
) -> RunResult | CodeResult:
    """Run a workflow to its end: a document (a map, YAML or JSON text, or a path), or a code-first workflow's function.

    `functions` are added to those registered with `@function`, and take the place of one of the same name; for a
    code-first workflow also that of a `ctx.step`, by its name. `workflows` are those it starts runs of. `at` is the
    time it starts. Waits (sleeps, retry delays, timeouts) are skipped. `signals` maps events that come at its start to
    their payloads; `during` are what `signal` and `cancel` make, for later. `children` stand for child workflows, by
    name: each is called with the child's input.

    `approvals` maps the steps of a document that ask people to True, False, or the fields of a yes, or to a list of
    these where each item asks. `check` is called after every step of a document. Raises `InvalidDefinition`,
    `InvalidInput`, and `Stuck` when the run cannot end.
    """
    if callable(definition):
        return run_code(definition, input, functions, **options)
    return run_document(definition, input, functions, **options)


def signal(name: str, payload: Any = None, *, after: float | timedelta = 0.0, to: str | None = None) -> Signal:
    """An event that comes `after` so many seconds of the run's clock; for `during` of `run`.

    `to`: the child it is for, by its child id or the name of its workflow.
    """
    return Signal(name, payload, seconds_of(after), to)


def cancel(*, after: float | timedelta = 0.0) -> Cancel:
    """Somebody cancels the run `after` so many seconds; for `during` of `run`."""
    return Cancel(seconds_of(after))


def replay(history: Mapping[str, Any] | str | Path, workflow: Code) -> Replayed:
    """Check code against a recorded history: the `history` of a `CodeResult`, or a file that `orchestrator journal RUN
    --json` has made. Nothing is called: where the history ends, the check does.

    Raises `HistoryDiffers`, which names the first entry that the code does not ask for, and where each of them is.
    """
    return check_history(history, workflow)


def histories(path: str | Path) -> Iterator[Mapping[str, Any]]:
    """The histories of the code-first runs in a file of `orchestrator runs export`, as `replay` takes them."""
    return read_histories(Path(path))
