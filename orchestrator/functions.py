"""The functions steps may call: a registry filled by the `@function` decorator. No name in a row is ever imported."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from orchestrator.domain.definition import Retry
from orchestrator.errors import InvalidConfig, OrchestratorError, Problem

Callee = TypeVar("Callee", bound=Callable[..., Any])
ENTRY_POINTS = "orchestrator.functions"


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A registered function. `wants_context`: it has a parameter named `ctx`, which receives the attempt's context.

    `queue`, `retry` and `timeout` (seconds) hold for steps that do not set their own.
    """

    name: str
    call: Callable[..., Any]
    module: str
    wants_context: bool
    queue: str | None = None
    retry: Retry | None = None
    timeout: float | None = None
    input_schema: Mapping[str, Any] | None = None
    description: str | None = None


class UnknownFunction(OrchestratorError):
    """A step names a function this process has not registered."""


class Registry:
    """Functions by name."""

    def __init__(self) -> None:
        self._specs: dict[str, FunctionSpec] = {}

    def add(self, call: Callable[..., Any], name: str | None = None, **options: Any) -> FunctionSpec:
        """Register `call`; the same name from another place is an error."""
        spec = make_spec(call, name, **options)
        known = self._specs.get(spec.name)
        if known is not None and (known.module, known.call.__qualname__) != (spec.module, spec.call.__qualname__):
            raise OrchestratorError(
                f"function '{spec.name}' is registered twice: by {known.module} and by {spec.module}"
            )
        self.put(spec)
        return spec

    def put(self, spec: FunctionSpec) -> None:
        """Register a spec, in the place of one of the same name."""
        self._specs[spec.name] = spec

    def find(self, name: str) -> FunctionSpec:
        """The function of this name; raises `UnknownFunction` naming near ones."""
        try:
            return self._specs[name]
        except KeyError:
            raise UnknownFunction(self._unknown(name)) from None

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._specs, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return (
            f"function '{name}' is not registered in this worker{hint}"
            " (modules come from ORCHESTRATOR_FUNCTIONS or the entry-point group orchestrator.functions)"
        )

    def get(self, name: str) -> FunctionSpec | None:
        return self._specs.get(name)

    def __iter__(self) -> Iterator[FunctionSpec]:
        return iter(sorted(self._specs.values(), key=lambda spec: spec.name))

    def __contains__(self, name: str) -> bool:
        return name in self._specs

    @property
    def names(self) -> Collection[str]:
        return self._specs.keys()


registry = Registry()


def make_spec(call: Callable[..., Any], name: str | None = None, **options: Any) -> FunctionSpec:
    """The spec of a callable; its name defaults to `module.qualname`."""
    module = getattr(call, "__module__", None) or "?"
    described = inspect.getdoc(call)
    return FunctionSpec(
        name=name or f"{module}.{getattr(call, '__qualname__', repr(call))}",
        call=call,
        module=module,
        wants_context=_wants_context(call),
        description=options.pop("description", None) or (described.splitlines()[0] if described else None),
        **options,
    )


def _wants_context(call: Callable[..., Any]) -> bool:
    try:
        return "ctx" in inspect.signature(call).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False


@overload
def function(call: Callee) -> Callee: ...
@overload
def function(
    *,
    name: str | None = ...,
    queue: str | None = ...,
    retry: Retry | None = ...,
    timeout: float | None = ...,
    input_schema: Mapping[str, Any] | None = ...,
) -> Callable[[Callee], Callee]: ...
def function(call: Callee | None = None, **options: Any) -> Callee | Callable[[Callee], Callee]:
    """Register a step function: `@function` or `@function(name="payments.charge", queue="io", timeout=30)`."""

    def decorate(decorated: Callee) -> Callee:
        registry.add(decorated, **options)
        return decorated

    return decorate if call is None else decorate(call)


def load_modules(modules: Sequence[str]) -> Registry:
    """Import the function modules and entry points, which register themselves; `InvalidConfig` names all that fail."""
    problems = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - a user's module may raise anything; it is reported by name
            problems.append(Problem("ORCHESTRATOR_FUNCTIONS", f"module '{module}': {type(error).__name__}: {error}"))
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001
            problems.append(Problem(ENTRY_POINTS, f"entry point '{point.name}': {type(error).__name__}: {error}"))
    if problems:
        raise InvalidConfig(problems, "step functions could not be loaded")
    return registry
