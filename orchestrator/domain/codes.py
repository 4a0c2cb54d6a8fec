"""Code-first workflows as data: their document, and what their function's verbs leave to steps of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.domain.definition import Retry
from orchestrator.domain.near import did_you_mean
from orchestrator.errors import OrchestratorError

DEFAULT_QUEUE = "default"
DRIVER = "driver"  # the name of the step that runs the function


@dataclass(frozen=True, slots=True)
class WorkflowSpec:
    """A workflow that is a Python function. `turn_timeout`: for how many seconds it may run until it waits or ends."""

    name: str
    call: Callable[..., Any]
    module: str
    document: Mapping[str, Any]
    turn_timeout: float | None = None


def retry_body(retry: Retry | None) -> dict[str, Any] | None:
    """The policy as a document would say it."""
    if retry is None:
        return None
    given = asdict(retry)
    return {key.rstrip("_"): list(v) if isinstance(v, tuple) else v for key, v in given.items() if v is not None}


_OF_RUN = frozenset(
    {
        *("input_schema", "output_schema", "timeout", "max_active_runs", "concurrency_key", "on_limit"),
        *("tags", "label", "description"),
    }
)
_OPTIONS = ("queue", "priority", *sorted(_OF_RUN), "name", "version", "retry", "turn_timeout")


def code_document(call: Callable[..., Any], name: str, *, version: str | None = None, **options: Any) -> dict[str, Any]:
    """The document of a workflow that is a function: one step, which runs it and whose output is the run's.

    Raises `OrchestratorError` for an option that is none.
    """
    queue, priority, retry = options.pop("queue", None), options.pop("priority", 0), options.pop("retry", None)
    unknown = [option for option in options if option not in _OF_RUN]
    if unknown:
        raise OrchestratorError(
            f"workflow '{name}': there is no option '{unknown[0]}'{did_you_mean(unknown[0], _OPTIONS)}"
        )
    code = f"{getattr(call, '__module__', '?')}:{getattr(call, '__qualname__', '?')}"
    step = {"name": DRIVER, "code": code, "queue": queue or DEFAULT_QUEUE, "priority": priority or None}
    step |= {"retry": retry_body(retry)}
    described = {"description": options.get("description") or _first_line(call)}
    whole = {"name": name, "version": version, **options, **described, "steps": [_without_none(step)]}
    return _without_none(whole) | {"output": f"{{{{ steps.{DRIVER}.output }}}}"}


def code_of(document: Mapping[str, Any]) -> str | None:
    """Where the function of a stored document is (`orders:order`); None of one that was written as a document."""
    first = document["steps"][0]
    code: str | None = first.get("code")
    return code


def _without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _first_line(call: Callable[..., Any]) -> str | None:
    described = inspect.getdoc(call)
    return described.splitlines()[0] if described else None
