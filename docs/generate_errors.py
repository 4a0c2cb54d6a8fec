"""Writes docs/errors.md from the errors of the product, the problems of the API and the exit codes: `make docs`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from orchestrator import errors
from orchestrator.cli.exits import Exit
from orchestrator.domain.words import REASONS
from orchestrator.errors import OrchestratorError
from web.problems import STATUSES, TITLES, slug_of

STEP_ERRORS = {
    "BlobGone": "a value that was put into the blob store is not there any more, or is another one",
    "BlobsAway": "the blob store could not be reached until the attempt's outcome had to be stored",
    "CeleryTaskFailed": "a plain Celery task failed, and its worker could not say why",
    "ChildCanceled": "the run that the step had started was canceled",
    "ChildDeleted": "the run that it waited for was deleted",
    "ChildLoop": "the run that it would wait for waits for this one",
    "CodeChanged": "the code of a code-first workflow asks for something else than its journal has",
    "DepthExceeded": "a sub-workflow would lie deeper than `ORCHESTRATOR_MAX_DEPTH`",
    "Error": "it ended without an error of its own; the message is the reason",
    "ExpressionError": "a template or condition could not be evaluated; the message names what is missing",
    "InternalError": "a fault of the engine while it worked on the step",
    "InvalidInput": "the input does not fit the schema of the function or of the sub-workflow",
    "InvalidSignal": "an event that came early does not fit the schema of the wait",
    "ItemsFailed": "more items failed than `max_failures` allows",
    "LimitReached": "`max_active_runs` of the sub-workflow, with `on_limit: reject`, refused it",
    "Poison": "its worker died `ORCHESTRATOR_MAX_LOST` times while running it",
    "Rejected": "a person said no to the approval",
    "Skip": "all of its items were skipped",
    "Timeout": "an attempt ran longer than its `timeout`",
    "TotalTimeout": "all attempts together took longer than `total_timeout`",
    "UnknownFunction": "no function of this name is registered on the worker that took it",
    "UnknownWorkflow": "there is no workflow of this name, or no function of it on this worker",
    "Unreachable": "its join can no longer be met, and it says `on_unreachable: fail`",
    "UnstorableValue": "what it gave cannot be JSON, or is too large; the message names the path",
    "WaitTimeout": "an event or a decision did not come in time",
    "WorkerLost": "its worker died or fell silent; the step is run again unless `on_lost: fail`",
}

PAGE = """\
# Errors

Made from the code by `make docs`.

## Of a step

`error.type` of a step is the class of the exception that its function raised, or one of these. They may be named
in `retry_on` and `abort_on`, and an edge's `when` may look at them.

| type | |
|---|---|
{steps}

`reason` says it in one word where the status does not: {reasons}. What each means is in
[operations](operations.md#why-a-step-ended-so).

## Of the API

`type` of a problem is `urn:orchestrator:problem:` and the name; what to do about each is on [the page of the
API](api.md#what-goes-wrong).

| status | name | title | raised as |
|---|---|---|---|
{problems}

## In Python

All are in `orchestrator.errors`; each descends from the one it stands under.

{tree}

## Exit codes

| code | |
|---|---|
{exits}

[When which](cli.md#exit-codes).
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(
        steps="\n".join(f"| `{name}` | {told} |" for name, told in STEP_ERRORS.items()),
        reasons=", ".join(f"`{reason.value}`" for reason in REASONS),
        problems="\n".join(_problem(status, title) for status, title in TITLES.items()),
        tree="\n".join(_tree(OrchestratorError, 0)),
        exits="\n".join(f"| {one.value} | {one.name.lower().replace('_', ' ')} |" for one in Exit),
    )


def _problem(status: int, title: str) -> str:
    raised = [f"`{kind.__name__}`" for kind, its in STATUSES if its == status]
    return f"| {status} | `{slug_of(status)}` | {title} | {', '.join(raised)} |"


def _tree(kind: type[OrchestratorError], depth: int) -> Iterator[str]:
    told = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    yield f"{'  ' * depth}- `{kind.__name__}`: {told}"
    own = [one for one in vars(errors).values() if isinstance(one, type) and kind in one.__bases__]
    for one in own:
        yield from _tree(one, depth + 1)


if __name__ == "__main__":
    Path(__file__).with_name("errors.md").write_text(page())
