"""Shapes of runs, and of what belongs to one."""

from __future__ import annotations

from marshmallow import fields

from orchestrator.domain.states import RunStatus, StepStatus
from web.api.shapes.base import (
    Shape,
    a_or_null,
    at,
    at_or_null,
    counts,
    flag,
    hidden_json,
    id_of,
    id_or_null,
    json_value,
    many,
    number,
    number_or_null,
    page_of,
    text,
    text_or_null,
    texts,
    word,
)


class RunErrorShape(Shape):
    type = text()
    message = text()
    step = text_or_null("The step that failed.")


class FiredByShape(Shape):
    id = id_of()
    name = text()
    fire_at = at("The fire time, whenever the run was started.")


class RunShape(Shape):
    id = id_of()
    workflow = text()
    revision = number()
    app = text()
    status = word(RunStatus)
    input = hidden_json()
    output = hidden_json("What it gave; null until it has succeeded.")
    error = a_or_null(RunErrorShape)
    tags = texts()
    created_at = at()
    started_at = at_or_null()
    finished_at = at_or_null()
    paused = flag()
    pause_reason = text_or_null()
    root_id = id_of("The run at the top of its family; its own id if no step started it.")
    parent_run_id = id_or_null()
    depth = number("How deep below its root.")
    counts = counts("How many of its steps are in each status that occurs.")
    parent_step = text_or_null("The step that started it.")
    parent_item = number_or_null("The index of the item of that step that did.")
    rerun_of = id_or_null("The run it repeats.")
    schedule = a_or_null(FiredByShape, "The schedule that has started it.")


class StepErrorShape(Shape):
    type = text()
    message = text()
    traceback = fields.String(metadata={"description": "Where a function raised it; may be left out."})


class HeldShape(Shape):
    at = at()
    by = text()
    reason = text_or_null()


class AttemptedShape(Shape):
    """What steps and items have in common."""

    status = word(StepStatus)
    reason = text_or_null("Why it has this status, as one word: docs/operations.md.")
    attempt = number("The number of its latest attempt, lost ones included.")
    max_attempts = number_or_null()
    input = hidden_json()
    output = hidden_json()
    error = a_or_null(StepErrorShape)
    queue = text_or_null()
    worker = text_or_null()
    ready_at = at_or_null()
    started_at = at_or_null()
    finished_at = at_or_null()
    next_attempt_at = at_or_null()


class StepShape(AttemptedShape):
    id = id_or_null("Null of a step that a code-first workflow's function did in its own process.")
    name = text()
    child_run_id = id_or_null("The run it started last.")
    items = json_value("How many of its items are in each status; null without `with_items`.")
    held = a_or_null(HeldShape)
    reused = flag("Whether a rerun has kept it.")


class ItemShape(AttemptedShape):
    id = id_of()
    index = number()
    child_run_id = id_or_null("The run it started last.")
    item = hidden_json("The element, or a list of some with `batch_size`.")


class AttemptShape(Shape):
    number = number()
    outcome = text()
    error = a_or_null(StepErrorShape)
    worker = text_or_null()
    started_at = at_or_null()
    finished_at = at()
    retry_at = at_or_null()


class AttemptsShape(Shape):
    items = many(AttemptShape)


class WhyShape(Shape):
    run_id = id_of()
    step = text()
    why = texts("Sentences, the nearest cause first.")


class EventShape(Shape):
    id = number()
    kind = text("`run.started`, `step.failed`, ...")
    at = at()
    step = text_or_null()
    data = json_value()


class EntryShape(Shape):
    position = number("Counted from 1, in the order of the program.")
    verb = text("`step`, `call`, `child`, `sleep`, `event`, `cancel`, `now` or `patch`.")
    name = text()
    key = text("The name, with an ordinal where it is repeated: the name of its step.")
    line = text_or_null("Where in the file of the function it was asked for: `orders.py:12`.")
    status = text_or_null("How it ended; null while it has not.")
    output = hidden_json()
    error = a_or_null(StepErrorShape)
    tries = number("How many tries of a step in the function's own process have failed.")
    next_try_at = at_or_null()
    at = at("When it was written down: of a step, when it had ended.")
    ended_at = at_or_null()


class LogShape(Shape):
    id = number()
    step = text()
    item = number_or_null()
    attempt = number()
    at = at()
    stream = text()
    level = text_or_null()
    message = text()


class RelativeShape(Shape):
    id = id_of()
    workflow = text()
    status = word(RunStatus)
    depth = number()
    parent_run_id = id_or_null()
    step = text_or_null("The step that started it.")
    item = number_or_null("The index of the item of that step that did.")
    started_at = at_or_null()
    finished_at = at_or_null()
    level = number("How deep below the run that was asked for, which has 0.")


class FamilyShape(Shape):
    items = many(RelativeShape, "The run itself, then each run behind its parent.")
    more = flag("Whether there are more than are shown.")


class GraphShape(Shape):
    workflow = text()
    format = word(("dot", "mermaid", "svg"))
    graph = text()


RunPage = page_of(RunShape)
StepPage = page_of(StepShape)
ItemPage = page_of(ItemShape)
EventPage = page_of(EventShape)
LogPage = page_of(LogShape)
JournalPage = page_of(EntryShape)
