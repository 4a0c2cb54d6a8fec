"""What a workflow document says, as inert data. `parse.py` makes these from a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

HANDLER_NAMES = ("on_success", "on_failure", "on_cancel", "on_finish")


class StepKind(StrEnum):
    FUNCTION = "function"
    PASS = "pass"
    SLEEP = "sleep"
    WAIT_FOR = "wait_for"
    WORKFLOW = "workflow"
    CODE = "code"  # what runs a code-first workflow; no document says it


WRITTEN_KINDS = tuple(kind for kind in StepKind if kind is not StepKind.CODE)


class EdgeOn(StrEnum):
    """Which end of the source satisfies an edge."""

    SUCCESS = "success"
    FAILURE = "failure"
    COMPLETE = "complete"
    SKIPPED = "skipped"


class TriggerRule(StrEnum):
    """Airflow's twelve (airflow.task.trigger_rule, 3.1)."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALWAYS = "always"


class OnUnreachable(StrEnum):
    SKIP = "skip"
    FAIL = "fail"


class OnError(StrEnum):
    FAIL = "fail"
    IGNORE = "ignore"
    CONTINUE = "continue"
    ABORT = "abort"


class OnLost(StrEnum):
    RETRY = "retry"
    FAIL = "fail"


class FailureMode(StrEnum):
    RUN_ON = "run_on"
    DRAIN = "drain"
    CANCEL = "cancel"


class OnLimit(StrEnum):
    """What becomes of a start when `max_active_runs` are active."""

    QUEUE = "queue"
    REJECT = "reject"
    CANCEL_OLDEST = "cancel_oldest"


class Backoff(StrEnum):
    CONSTANT = "constant"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Edge:
    """One dependency: `step` names the source; `when` is a bare expression over `result` and `error`."""

    step: str
    on: EdgeOn = EdgeOn.SUCCESS
    when: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Whether and when a failed attempt is repeated.

    `delay` and `max_delay` in seconds; `jitter` a share, 0 to 1; `while_` a bare expression.
    """

    max_attempts: int = 1
    delay: float = 0.0
    backoff: Backoff = Backoff.CONSTANT
    factor: float = 2.0
    max_delay: float | None = None
    jitter: float = 0.0
    retry_on: tuple[str, ...] = ()
    abort_on: tuple[str, ...] = ()
    while_: str | None = None


class OnTimeout(StrEnum):
    """What it means that an event did not come in time."""

    FAIL = "fail"
    SKIP = "skip"
    CONTINUE = "continue"


class OnReject(StrEnum):
    """What a person's no means for the step that asked."""

    FAIL = "fail"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Approval:
    """A question to people. `fields` maps names to JSON Schemas; texts and `assignees` are templates."""

    title: str
    description: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    assignees: Any = ()
    on_reject: OnReject = OnReject.FAIL


@dataclass(frozen=True, slots=True)
class WaitFor:
    """An event by name (a template), or an approval; `timeout` in seconds, or a template of them."""

    event: str | None = None
    approval: Approval | None = None
    schema: Mapping[str, Any] | None = None
    timeout: float | str | None = None
    on_timeout: OnTimeout = OnTimeout.FAIL


@dataclass(frozen=True, slots=True)
class Cache:
    """Whose result may be used again: `key` is any JSON with templates (None: the step's input); `ttl` in seconds, or a
    template of them."""

    ttl: float | str
    key: Any = None


@dataclass(frozen=True, slots=True)
class WithItems:
    """What a step does is done for each item. `items`: a template, a list or a map.

    `concurrency` None: no limit. `max_failures`: a number of items, or a share of them such as "10%".
    """

    items: Any
    concurrency: int | None = None
    batch_size: int | None = None
    fail_fast: bool = False
    max_failures: int | str = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `depends_on` decides its start, with `join` or, where all edges are plain, with `trigger_rule`."""

    name: str
    kind: StepKind
    function: str | None = None
    sleep: float | str | None = None  # seconds, a time, or a template of either
    wait_for: WaitFor | None = None
    workflow: str | None = None  # a sub-workflow by name, or a template of it
    child_id: str | None = None  # of a code-first workflow: of all runs of that workflow one has it
    code: str | None = None  # where the function of a code-first workflow is: `module:name`
    with_items: WithItems | None = None
    input: Any = None
    depends_on: tuple[Edge, ...] = ()
    trigger_rule: TriggerRule | None = None
    join: str | int = "all"  # "all", "any" or how many sources
    on_unreachable: OnUnreachable = OnUnreachable.SKIP
    when: str | None = None
    retry: Retry | None = None  # None: the function's own, else one attempt
    timeout: float | str | None = None  # seconds, or a template of them; None: the function's own
    total_timeout: float | str | None = None
    on_error: OnError = OnError.FAIL
    on_lost: OnLost = OnLost.RETRY
    publish: Mapping[str, Any] = field(default_factory=dict)
    publish_on_failure: Mapping[str, Any] = field(default_factory=dict)
    queue: str | None = None  # may be a template; None: the function's own, else "default"
    priority: int = 0
    pool: str | None = None
    slots: int = 1
    cache: Cache | None = None
    compensate: Step | None = None  # what undoes it, should the run not succeed
    label: str | None = None
    description: str | None = None
    literal: bool = False  # nothing of it is a template


@dataclass(frozen=True, slots=True)
class Definition:
    """A whole document. `handlers` maps a name of `HANDLER_NAMES` to its step (named the same, no edges)."""

    name: str
    steps: tuple[Step, ...]
    version: str | None = None
    label: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)
    output: Any = None
    has_output: bool = False  # `output: null` is not the same as no output
    timeout: float | None = None
    failure_mode: FailureMode = FailureMode.RUN_ON
    max_active_runs: int | None = None
    concurrency_key: str | None = None  # a template; runs of each of its values are counted apart
    on_limit: OnLimit = OnLimit.QUEUE
    handlers: Mapping[str, Step] = field(default_factory=dict)
