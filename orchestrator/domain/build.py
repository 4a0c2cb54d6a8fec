"""A document that `parse` accepts, or accepted when it was stored, to a `Definition`; nothing is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.domain.definition import (
    HANDLER_NAMES,
    Approval,
    Backoff,
    Cache,
    Definition,
    Edge,
    EdgeOn,
    FailureMode,
    OnError,
    OnLimit,
    OnLost,
    OnReject,
    OnTimeout,
    OnUnreachable,
    Retry,
    Step,
    StepKind,
    TriggerRule,
    WaitFor,
    WithItems,
)

Raw = Mapping[str, Any]

# Keys of `defaults` that say how dependencies decide the start. A step's own way of saying it leaves out the other.
_JOIN_KEYS = frozenset({"join", "on_unreachable"})
_RULE_KEYS = frozenset({"trigger_rule"})
# Keys of what a step does; one without any of them is a pass step.
_KINDS = tuple(kind for kind in StepKind if kind is not StepKind.PASS)
_OTHER_KINDS = frozenset(kind.value for kind in StepKind) - {"function"}
# Keys of `defaults` that hold for lifecycle handlers too: how they are carried out, not what they do.
_HANDLER_DEFAULTS = frozenset({"retry", "timeout", "total_timeout", "on_lost", "queue", "priority", "pool", "slots"})


def build(document: Raw) -> Definition:
    """The definition of a document of the right shape. A null is as good as a missing key."""
    defaults = {key: value for key, value in (document.get("defaults") or {}).items() if value is not None}
    retries: dict[int, Retry] = {}
    return Definition(
        name=document["name"],
        steps=tuple([_undoable(with_defaults(raw, defaults), defaults, retries) for raw in document["steps"]]),
        version=document.get("version"),
        label=document.get("label"),
        description=document.get("description"),
        tags=tuple(document.get("tags") or ()),
        input_schema=document.get("input_schema"),
        output_schema=document.get("output_schema"),
        vars=document.get("vars") or {},
        output=document.get("output"),
        has_output="output" in document,
        timeout=_seconds(document.get("timeout")),
        failure_mode=FailureMode(document.get("failure_mode") or FailureMode.RUN_ON),
        max_active_runs=_optional_int(document.get("max_active_runs")),
        concurrency_key=document.get("concurrency_key"),
        on_limit=OnLimit(document.get("on_limit") or OnLimit.QUEUE),
        handlers=_handlers(document, defaults, retries),
    )


def with_defaults(step: Raw, defaults: Raw) -> Raw:
    """The step with the defaults that hold for it.

    A key of the step wins, null too, and is taken whole. `function` is not for steps that say what they do; the keys
    that decide the start are for steps with dependencies, and not for those that say it another way.
    """
    if not defaults:
        return step
    left_out: set[str] = set()
    if step.keys() & _OTHER_KINDS:
        left_out.add("function")
    if not step.get("depends_on"):
        left_out |= _JOIN_KEYS | _RULE_KEYS
    if step.keys() & _JOIN_KEYS:
        left_out |= _RULE_KEYS
    if step.keys() & _RULE_KEYS:
        left_out |= _JOIN_KEYS
    if left_out:
        kept = {key: value for key, value in defaults.items() if key not in left_out}
        return {**kept, **step}
    return {**defaults, **step}


def _handlers(document: Raw, defaults: Raw, retries: dict[int, Retry]) -> dict[str, Step]:
    given = {name: document[name] for name in HANDLER_NAMES if document.get(name) is not None}
    return {name: _afterwards(raw, name, defaults, retries) for name, raw in given.items()}


def _afterwards(raw: Raw, name: str, defaults: Raw, retries: dict[int, Retry]) -> Step:
    """A step that runs after the others: a handler or a compensation."""
    shared = {key: value for key, value in defaults.items() if key in _HANDLER_DEFAULTS}
    return _step({**shared, **raw, "name": name}, retries)


def _undoable(raw: Raw, defaults: Raw, retries: dict[int, Retry]) -> Step:
    step, undo = _step(raw, retries), raw.get("compensate")
    if undo is None:
        return step
    return replace(step, compensate=_afterwards(undo, compensation_name(step.name), defaults, retries))


def compensation_name(step: str) -> str:
    """What the step that undoes another is called."""
    return f"compensate {step}"


def step_of(raw: Raw) -> Step:
    """The step of a document's part that stands alone."""
    return _step(raw, {})


def _step(raw: Raw, retries: dict[int, Retry]) -> Step:
    get = raw.get
    return Step(
        name=raw["name"],
        kind=next((kind for kind in _KINDS if get(kind.value) is not None), StepKind.PASS),
        function=get("function"),
        sleep=get("sleep"),
        wait_for=_wait_for(get("wait_for")),
        workflow=get("workflow"),
        child_id=get("child_id"),
        code=get("code"),
        with_items=_with_items(get("with_items")),
        input=get("input"),
        depends_on=edges_of(get("depends_on")),
        trigger_rule=_optional(TriggerRule, get("trigger_rule")),
        join=_join(get("join")),
        on_unreachable=OnUnreachable(get("on_unreachable") or OnUnreachable.SKIP),
        when=condition(get("when")),
        retry=_shared_retry(get("retry"), retries),
        timeout=_seconds_or_template(get("timeout")),
        total_timeout=_seconds_or_template(get("total_timeout")),
        on_error=OnError(get("on_error") or OnError.FAIL),
        on_lost=OnLost(get("on_lost") or OnLost.RETRY),
        publish=get("publish") or {},
        publish_on_failure=get("publish_on_failure") or {},
        queue=get("queue"),
        priority=int(get("priority") or 0),
        pool=get("pool"),
        slots=int(get("slots") or 1),
        cache=_cache(get("cache")),
        label=get("label"),
        description=get("description"),
    )


def _cache(raw: Raw | None) -> Cache | None:
    return None if raw is None else Cache(_seconds_or_template(raw.get("ttl")) or 0.0, raw.get("key"))


def _with_items(raw: Any) -> WithItems | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        return WithItems(raw)
    concurrency, batch_size, failures = (raw.get(key) for key in ("concurrency", "batch_size", "max_failures"))
    return WithItems(
        items=raw.get("items"),
        concurrency=None if concurrency is None else int(concurrency),
        batch_size=None if batch_size is None else int(batch_size),
        fail_fast=bool(raw.get("fail_fast")),
        max_failures=failures if isinstance(failures, str) else int(failures or 0),
    )


def _wait_for(raw: Raw | None) -> WaitFor | None:
    if raw is None:
        return None
    asked = raw.get("approval") or {}
    return WaitFor(
        event=raw.get("event"),
        approval=_approval(asked) if raw.get("approval") is not None else None,
        schema=raw.get("schema"),
        timeout=_seconds_or_template(raw.get("timeout") or asked.get("timeout")),
        on_timeout=OnTimeout(raw.get("on_timeout") or asked.get("on_timeout") or OnTimeout.FAIL),
    )


def _approval(raw: Raw) -> Approval:
    assignees = raw.get("assignees") or ()
    return Approval(
        title=raw.get("title") or "",
        description=raw.get("description"),
        fields=raw.get("fields") or {},
        assignees=_texts(assignees),
        on_reject=OnReject(raw.get("on_reject") or OnReject.FAIL),
    )


def edges_of(depends_on: str | list[str | Raw] | None) -> tuple[Edge, ...]:
    """The edges that `depends_on` says: a name stands for an edge on success."""
    if not depends_on:
        return ()
    given = [depends_on] if isinstance(depends_on, str) else depends_on
    return tuple([Edge(edge) if isinstance(edge, str) else _edge(edge) for edge in given])


def _edge(raw: Raw) -> Edge:
    return Edge(raw["step"], EdgeOn(raw.get("on") or EdgeOn.SUCCESS), condition(raw.get("when")))


def condition(value: str | bool | None) -> str | None:
    """A condition as text; YAML gives `when: true` as a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _shared_retry(raw: Raw | None, retries: dict[int, Retry]) -> Retry | None:
    """The same retry of `defaults` for all steps is made once."""
    if raw is None:
        return None
    if id(raw) not in retries:
        retries[id(raw)] = _retry(raw)
    return retries[id(raw)]


def _retry(raw: Raw) -> Retry:
    given = {key: value for key, value in raw.items() if value is not None}
    plain = Retry()
    return Retry(
        max_attempts=int(given.get("max_attempts", plain.max_attempts)),
        delay=float(given.get("delay", plain.delay)),
        backoff=Backoff(given.get("backoff", plain.backoff)),
        factor=float(given.get("factor", plain.factor)),
        max_delay=_seconds(given.get("max_delay")),
        jitter=float(given.get("jitter", plain.jitter)),
        retry_on=_texts(given.get("retry_on", ())),
        abort_on=_texts(given.get("abort_on", ())),
        while_=condition(given.get("while")),
    )


def _texts(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _join(value: str | float | None) -> str | int:
    if value is None:
        return "all"
    return value if isinstance(value, str) else int(value)


def _optional(kind: type[TriggerRule], value: str | None) -> TriggerRule | None:
    return None if value is None else kind(value)


def _optional_int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _seconds(value: float | None) -> float | None:
    return None if value is None else float(value)


def _seconds_or_template(value: float | str | None) -> float | str | None:
    return value if isinstance(value, str) else _seconds(value)
