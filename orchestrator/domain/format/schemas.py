"""Every key of a workflow document (docs/definition.md), with what it means."""

from __future__ import annotations

from orchestrator.domain.definition import (
    Backoff,
    EdgeOn,
    FailureMode,
    OnError,
    OnLimit,
    OnLost,
    OnReject,
    OnTimeout,
    OnUnreachable,
    TriggerRule,
)
from orchestrator.domain.format.fields import (
    AnyJson,
    Choice,
    Condition,
    FunctionName,
    Join,
    Name,
    Number,
    Pass,
    Schema,
    Seconds,
    StepName,
    Text,
    Texts,
    Variables,
)
from orchestrator.domain.format.items import ItemsSchema, WithItems
from orchestrator.domain.format.nested import Edges, Map, Steps, Strict
from orchestrator.domain.format.waits import EventName, FormFields, Sleep, WorkflowName

MAX_ATTEMPTS = 1000
MAX_SLOTS = 100_000


class RetrySchema(Strict):
    about = "retry"

    max_attempts = Number(
        "How often the step is tried, the first time included.", least=1, most=MAX_ATTEMPTS, whole=True
    )
    delay = Seconds("Seconds to wait before the second attempt.")
    backoff = Choice("How the wait grows: constant, linear (delay * n) or exponential (delay * factor^(n-1)).", Backoff)
    factor = Number("What an exponential wait is multiplied by each time; 2 by default.", least=1, most=1000)
    max_delay = Seconds("The longest wait, in seconds; at least `delay`.")
    jitter = Number("Spreads each wait evenly over plus and minus this share of it.", most=1)
    retry_on = Texts(
        "Names of the exception classes, base classes included, that are tried again; all by default.", single=True
    )
    abort_on = Texts("Names of exception classes that are never tried again.", single=True)
    while_ = Condition("Tried again only while this expression over `error` and `attempt` is true.", key="while")


class CacheSchema(Strict):
    about = "cache"

    key = AnyJson("What makes two calls the same: any JSON with templates; the step's input by default.")
    ttl = Seconds("Seconds a result may be used again, or a template.", above=True, template=True, required=True)


class EdgeSchema(Strict):
    about = "a dependency"

    step = Name("The step depended on.", required=True)
    on = Choice("Which end of that step satisfies the dependency; success by default.", EdgeOn)
    when = Condition("Looked at once, as that step ends; it sees `result` and `error`. False: not satisfied.")


class ApprovalSchema(Strict):
    about = "an approval"

    title = Text("What is asked, in one line; a template.", least=1, required=True)
    description = Text("What people need to know to decide; a template.")
    fields_ = FormFields(
        "What people fill in: names, each with the JSON Schema of its value. Required without a default.", key="fields"
    )
    assignees = Texts("Who is asked, for people and search; templates.", single=True)
    on_reject = Choice("What a no means: the step fails (the default), or succeeds and shows it.", OnReject)
    timeout = Seconds("The same as `timeout` of `wait_for`.", above=True, template=True)
    on_timeout = Choice("The same as `on_timeout` of `wait_for`.", OnTimeout)


class WaitForSchema(Strict):
    about = "wait_for"

    event = EventName("The event's name, or a template of it.")
    approval = Map(ApprovalSchema, "A question to people, in place of an event.")
    schema = Schema("JSON Schema of the event's payload; one that does not fit is refused.")
    timeout = Seconds("Seconds to wait at most, or a template of them.", above=True, template=True)
    on_timeout = Choice(
        "What it means that nothing came in time: fail (the default), skip, or continue with null as output.", OnTimeout
    )


class _Body(Strict):
    """What steps, handlers and defaults have in common."""

    function = FunctionName("The registered function that the step calls.", nullable=False)
    input = AnyJson("Templates; for a function its keyword arguments, for a sub-workflow its input.")
    when = Condition("An expression; false: the step is skipped.")
    retry = Map(RetrySchema, "Whether and when a failed attempt is repeated. Taken as a whole from `defaults`.")
    timeout = Seconds("Seconds that one attempt may take, or a template of them.", above=True, template=True)
    total_timeout = Seconds("Seconds for all attempts with their waits, or a template.", above=True, template=True)
    on_error = Choice(
        "What a failure means: fail the run, ignore it, continue as if it had succeeded, or abort the run at once.",
        OnError,
    )
    on_lost = Choice("What follows when the worker died: run again, or fail.", OnLost)
    publish = Variables("Run variables to set when the step succeeds: templates that see `result`.")
    publish_on_failure = Variables("Run variables to set when the step fails: templates that see `error`.")
    queue = Text("The Celery queue, or a template of it.", least=1, most=255)
    priority = Number("0 to 9; 9 goes first.", most=9, whole=True)
    cache = Map(CacheSchema, "Take the result of an earlier call of the function with the same key, if there is one.")
    pool = Name("The pool whose slots an attempt takes: `orchestrator pools`.")
    slots = Number("How many of the pool's slots an attempt takes; 1 by default.", least=1, most=MAX_SLOTS, whole=True)


class _Doing(Strict):
    """What a step does, where it does not call a function."""

    pass_ = Pass("The step does nothing; its output is its input.", key="pass")
    sleep = Sleep("Wait for so many seconds, or until a time (ISO 8601), or a template of either.", nullable=False)
    wait_for = Map(WaitForSchema, "Wait for an event, or for a person's decision.", nullable=False)
    workflow = WorkflowName("Run this workflow of the app, by name or a template of it, and wait for its end.")


class _Edged(Strict):
    """How dependencies decide the start."""

    trigger_rule = Choice("When the step starts, by the ends of all it depends on (Airflow's rules).", TriggerRule)
    join = Join("How many of the steps it depends on must be satisfied: all (the default), any or a number.")
    on_unreachable = Choice(
        "What becomes of the step when some but not enough of its dependencies were satisfied.", OnUnreachable
    )


class DefaultsSchema(_Body, _Edged):
    about = "defaults"


class HandlerSchema(_Body, _Doing):
    about = "a lifecycle handler"

    label = Text("What people see instead of the name.")
    description = Text("For people.")


class StepSchema(_Body, _Doing, _Edged):
    about = "a step"

    name = StepName("The step's name, unique in the workflow.", required=True)
    compensate = Map(HandlerSchema, "What undoes the step: runs if it succeeded and the run fails or is canceled.")
    with_items = WithItems(
        ItemsSchema, "Do this for each item: a template that gives a list or a map, or a map that says more."
    )
    depends_on = Edges(EdgeSchema, "The steps that must end before this one: names, or maps of step, on and when.")
    label = Text("What people see instead of the name.")
    description = Text("For people.")


class DocumentSchema(Strict):
    about = "a workflow document"

    name = Name("The workflow's name, unique for its owner whatever the case of its letters.", required=True)
    version = Text("The author's own label of this version.", most=50)
    label = Text("What people see instead of the name.")
    description = Text("For people.")
    tags = Texts("Words to find the workflow and its runs by.")
    input_schema = Schema("JSON Schema (2020-12) of a run's input; defaults in it are filled in.")
    output_schema = Schema("JSON Schema (2020-12) that a run's output must meet.")
    vars = Variables("First values of the run's variables: templates over `input`, `run` and `config`.")
    steps = Steps(StepSchema, "The steps.")
    output = AnyJson("The run's output: any JSON with templates. By default the output of each last step by name.")
    timeout = Seconds("Seconds that a run may take in all.", above=True)
    failure_mode = Choice(
        "After a failure that nothing handles: go on with what does not depend on it, start nothing new, or cancel.",
        FailureMode,
    )
    defaults = Map(DefaultsSchema, "Keys for every step that does not have them.")
    on_success = Map(HandlerSchema, "Runs after the last step of a run that succeeded.")
    on_failure = Map(HandlerSchema, "Runs after the last step of a run that failed.")
    on_cancel = Map(HandlerSchema, "Runs after the last step of a run that was canceled.")
    on_finish = Map(HandlerSchema, "Runs after the last step of every run, after the other handler.")
    max_active_runs = Number("How many of its runs may be active at once.", least=1, most=MAX_SLOTS, whole=True)
    concurrency_key = Text("Runs of each value of this template, over the run's input, are counted apart.", least=1)
    on_limit = Choice("What becomes of a start past the limit: queue (the default), reject or cancel_oldest.", OnLimit)


class PackSchema(Strict):
    about = "pack.yaml"

    name = Name("The pack's name, unique for its owner whatever the case of its letters.", required=True)
    version = Text("The author's own label of this version.", least=1, most=50)
    label = Text("What people see instead of the name.")
    description = Text("For people.")
