"""The functions steps may call: a registry filled by the `@function` decorator. No name in a row is ever imported."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from orchestrator.domain.codes import WorkflowSpec, code_document
from orchestrator.domain.definition import Backoff, Retry
from orchestrator.domain.near import did_you_mean, near_hint
from orchestrator.domain.rate import Rate, parse_rate
from orchestrator.errors import InvalidConfig, OrchestratorError, Problem, WorkflowMisuse

Callee = TypeVar("Callee", bound=Callable[..., Any])
ENTRY_POINTS = "orchestrator.functions"
_SOURCE = "a worker's functions come from ORCHESTRATOR_FUNCTIONS or the entry-point group orchestrator.functions"
BUILT_IN = "workers.functions"  # the package of those that every worker has


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A registered function. `wants_context`: it has a parameter named `ctx`, which receives the attempt's context.

    `queue`, `retry` and `timeout` (seconds) hold for steps that do not set their own; `rate` for all workers together.
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
    rate: Rate | None = None


class UnknownFunction(OrchestratorError):
    """A step names a function this process has not registered."""


class Workflows:
    """Workflows that are functions, by name; case does not count."""

    def __init__(self) -> None:
        self._specs: dict[str, WorkflowSpec] = {}

    def add(self, spec: WorkflowSpec) -> None:
        """Register a workflow; the same name from another place is an error."""
        known = self._specs.get(spec.name.casefold())
        if known is not None and _place(known) != _place(spec):
            raise OrchestratorError(
                f"workflow '{spec.name}' is registered twice: by {known.module} and by {spec.module}"
            )
        self.put(spec)

    def put(self, spec: WorkflowSpec) -> None:
        """The same in the place of one of this name."""
        self._specs[spec.name.casefold()] = spec

    def get(self, name: str) -> WorkflowSpec | None:
        return self._specs.get(name.casefold())

    def __iter__(self) -> Iterator[WorkflowSpec]:
        return iter(sorted(self._specs.values(), key=lambda spec: spec.name))


class Registry:
    """Functions by name. `source` says where they come from, to who looks for one that is not there."""

    def __init__(self, source: str = _SOURCE) -> None:
        self._source = source
        self._specs: dict[str, FunctionSpec] = {}
        self.workflows = Workflows()

    def add(self, call: Callable[..., Any], name: str | None = None, **options: Any) -> FunctionSpec:
        """Register `call`; the same name from another place is an error."""
        spec = make_spec(call, name, **options)
        known = self._specs.get(spec.name)
        if known is not None and _place(known) != _place(spec):
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
        return f"function '{name}' is not known here{did_you_mean(name, self._specs)} ({self._source})"

    def get(self, name: str) -> FunctionSpec | None:
        return self._specs.get(name)

    def __iter__(self) -> Iterator[FunctionSpec]:
        return iter(sorted(self._specs.values(), key=lambda spec: spec.name))

    @property
    def names(self) -> Collection[str]:
        return self._specs.keys()


registry = Registry()


def make_spec(call: Callable[..., Any], name: str | None = None, **options: Any) -> FunctionSpec:
    """The spec of a callable; its name defaults to `module.qualname`.

    Raises `ValueError` for a `rate` that is none, and `OrchestratorError` for another option that is none.
    """
    module = getattr(call, "__module__", None) or "?"
    _check(f"function '{name or getattr(call, '__qualname__', repr(call))}'", options)
    described = inspect.getdoc(call)
    return FunctionSpec(
        name=name or f"{module}.{getattr(call, '__qualname__', repr(call))}",
        call=call,
        module=module,
        wants_context=wants_context(call),
        description=options.pop("description", None) or (described.splitlines()[0] if described else None),
        rate=parse_rate(rate) if (rate := options.pop("rate", None)) is not None else None,
        **options,
    )


def _place(spec: FunctionSpec | WorkflowSpec) -> tuple[str, str]:
    return spec.module, getattr(spec.call, "__qualname__", "")


def _check(what: str, options: Mapping[str, Any]) -> None:
    if all(value is None for value in options.values()):
        return
    # Loaded where there is something to check: a module of step functions is quick to import, as commands are.
    asked = importlib.import_module("orchestrator.domain.asked")
    try:
        asked.check_options(options)
        asked.check_retry(options.get("retry"))
    except WorkflowMisuse as error:
        raise OrchestratorError(f"{what}: {error}") from None


def wants_context(call: Callable[..., Any]) -> bool:
    """Whether it has a parameter named `ctx`."""
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
    rate: str | None = ...,
) -> Callable[[Callee], Callee]: ...
def function(call: Callee | None = None, **options: Any) -> Callee | Callable[[Callee], Callee]:
    """Register a step function: `@function` or `@function(name="payments.charge", queue="io", timeout=30)`.

    `rate="10/s"`: all workers together call it at most so often.
    """

    def decorate(decorated: Callee) -> Callee:
        registry.add(decorated, **options)
        return decorated

    return _decorated(decorate, call, "function")


@overload
def workflow(call: Callee, /) -> Callee: ...
@overload
def workflow(
    *, name: str | None = ..., version: str | None = ..., turn_timeout: float | None = ..., **options: Any
) -> Callable[[Callee], Callee]: ...
def workflow(
    call: Callee | None = None,
    /,
    *,
    name: str | None = None,
    version: str | None = None,
    turn_timeout: float | None = None,
    **options: Any,
) -> Callee | Callable[[Callee], Callee]:
    """Register a code-first workflow: `@workflow(name="order", version="3")` on `def order(ctx, input)`.

    `options`: `queue`, `priority`, `retry` (of the function itself), and keys of a document that hold for a whole run,
    `input_schema`, `output_schema`, `timeout`, `max_active_runs`, `concurrency_key`, `on_limit`, `tags`, `label`,
    `description`. `turn_timeout`: for how many seconds the function may run until it waits or ends.
    """

    def decorate(decorated: Callee) -> Callee:
        registry.workflows.add(make_workflow(decorated, name, version=version, turn_timeout=turn_timeout, **options))
        return decorated

    return _decorated(decorate, call, "workflow")


def _decorated(
    decorate: Callable[[Callee], Callee], call: Callee | None, verb: str
) -> Callee | Callable[[Callee], Callee]:
    """With options, or without."""
    if isinstance(call, str):
        raise OrchestratorError(f'@{verb}("{call}"): write @{verb}(name="{call}")')
    return decorate if call is None else decorate(call)


def make_workflow(
    call: Callable[..., Any], name: str | None = None, *, turn_timeout: float | None = None, **options: Any
) -> WorkflowSpec:
    """The spec of a function, whose name is the default. Raises `OrchestratorError` for one that cannot be."""
    own = getattr(call, "__name__", repr(call))
    if inspect.iscoroutinefunction(call) or inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
        raise OrchestratorError(f"workflow '{name or own}' is async or a generator: its function must be a plain one")
    _check(f"workflow '{name or own}'", {**options, "turn_timeout": turn_timeout})
    _check_parameters(call, f"workflow '{name or own}'")
    document = code_document(call, name or own, **options)
    return WorkflowSpec(name or own, call, getattr(call, "__module__", None) or "?", document, turn_timeout)


def _check_parameters(call: Callable[..., Any], what: str) -> None:
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # a builtin without a signature
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise OrchestratorError(f"{what}: its function is called with (ctx, input), and takes {signature}") from None


def load_modules(modules: Sequence[str]) -> Registry:
    """Import the function modules and entry points, which register themselves; `InvalidConfig` names all that fail."""
    faults = [fault for module in modules if (fault := _fault_of_module(module))]
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001
            faults.append(Problem(ENTRY_POINTS, f"entry point '{point.name}': {_said(error)}"))
    if faults:
        raise InvalidConfig(faults, "step functions could not be loaded")
    return registry


def _fault_of_module(module: str) -> Problem | None:
    """Import the module; what is wrong with it."""
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's module may raise anything; it is told by name
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            told = f"there is no module '{missing}' in {Path.cwd()} or among the installed packages"
            return Problem("ORCHESTRATOR_FUNCTIONS", told, _near_module(missing))
        return Problem("ORCHESTRATOR_FUNCTIONS", f"module '{module}' cannot be imported: {_said(error)}")
    return None


def _near_module(name: str) -> str | None:
    package, _, last = name.rpartition(".")
    if last == "py":
        return f"did you mean '{package}'?"
    beside = Path.cwd().joinpath(*filter(None, package.split("."))).glob("*")
    return near_hint(name, sorted(f"{package}.{path.stem}".lstrip(".") for path in beside if _is_module(path)))


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and not path.name.startswith("."))


def _said(error: BaseException) -> str:
    """An error in one line."""
    kind = "" if isinstance(error, OrchestratorError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())}{_where(error)}"


def _where(error: BaseException) -> str:
    """The last line of this folder's code that led to it; a syntax error says its own."""
    if isinstance(error, SyntaxError):
        return ""
    here = Path.cwd()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(here) and "site-packages" not in path.parts and frame.filename != __file__:
            return f" ({path.relative_to(here)}, line {frame.lineno})"
    return ""


def announced(name: str, queue: str | None, retry: Mapping[str, Any] | None) -> FunctionSpec:
    """What a process that does not run functions knows of one: `retry` as `describe_retry` gives it."""
    return FunctionSpec(name, _elsewhere, "", wants_context=False, queue=queue, retry=_policy(retry) if retry else None)


def _policy(retry: Mapping[str, Any]) -> Retry:
    names = {key: tuple(retry[key]) for key in ("retry_on", "abort_on")}
    return Retry(**{**retry, **names, "backoff": Backoff(retry["backoff"])})


def describe_retry(spec: FunctionSpec) -> dict[str, Any] | None:
    """The function's own retry as JSON."""
    return None if spec.retry is None else asdict(spec.retry)


def _elsewhere(**_: Any) -> None:
    raise OrchestratorError("this function runs in workers only")


def workflow_of(call: Callable[..., Any]) -> WorkflowSpec:
    """The workflow that `@workflow` has made of a function; raises `OrchestratorError`."""
    found = next((spec for spec in registry.workflows if spec.call is call), None)
    if found is None:
        raise OrchestratorError(
            f"{getattr(call, '__qualname__', call)!r:.80} is no workflow: decorate it with @workflow"
        )
    return found
