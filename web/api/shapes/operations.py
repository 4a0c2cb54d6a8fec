"""Shapes of what runs need: functions, workers, pools, queues, packs, apps."""

from __future__ import annotations

from marshmallow import fields

from orchestrator.domain.states import StepStatus
from web.api.shapes.base import (
    ProblemItem,
    Shape,
    a,
    at,
    at_or_null,
    flag,
    flag_or_null,
    id_of,
    json_value,
    many,
    number,
    number_or_null,
    page_of,
    text,
    text_or_null,
    texts,
    told,
    word,
)
from web.api.shapes.workflows import OwnerShape


class FunctionShape(Shape):
    name = text()
    module = text()
    queue = text_or_null("Where steps go that call it and name none.")
    description = text_or_null()
    input_schema = json_value("What it takes; null if it does not say.")
    seen_at = at("When a worker last announced it.")


class FunctionUserShape(Shape):
    workflow = text()
    owner = a(OwnerShape)
    revision = number("The latest one, which is looked at.")
    steps = texts("Those that call the function.")


class FunctionDetailShape(FunctionShape):
    used_by = many(FunctionUserShape, "The first 100 workflows that call it.")


class WorkerShape(Shape):
    id = text()
    kind = word(("worker", "beat"))
    status = word(("alive", "silent", "stopped"), "`silent`: not seen for 30 seconds.")
    host = text()
    pid = number()
    queues = texts("Beginning with `*` if it serves all in use.")
    concurrency = number("How many steps it runs side by side.")
    pool = text_or_null("Celery's kind of pool.")
    running = number("How many steps it runs now.")
    version = text()
    listening = flag_or_null("Whether a beat hears at once of what is ready (NOTIFY); null for workers.")
    started_at = at()
    seen_at = at()
    stopped_at = at_or_null()


class RunningShape(Shape):
    run_id = id_of()
    step = text()
    item = number_or_null("The index of the item, if it is one.")
    workflow = text()
    app = text()
    queue = text()
    attempt = number()
    started_at = at()
    lease_expires_at = at("The attempt is lost if the worker says nothing until then.")


class PoolUseShape(Shape):
    run_id = id_of()
    step = text()
    status = word(StepStatus)
    slots = number()
    worker = text_or_null()
    since = at_or_null()


class PoolShape(Shape):
    name = text()
    slots = number()
    taken = number("Slots that are held, by steps of all apps.")
    waiting = number("Steps that wait for slots, counted to 10,000.")
    oldest = at_or_null("Since when the first of them waits.")
    description = text_or_null()
    changed_at = at()


class QueueShape(Shape):
    name = text()
    ready = number("Steps that wait to be sent, counted to 100,000.")
    queued = number("Steps that were sent and that no worker has taken.")
    running = number()
    oldest = at_or_null("Since when the first of the ready ones waits.")
    workers = number("Workers seen within a minute that take from it.")
    slots = number("How many steps these run side by side.")


class PackWorkflowShape(Shape):
    name = text()
    revision = number()


class PackShape(Shape):
    name = text()
    owner = a(OwnerShape)
    version = text_or_null()
    label = text_or_null()
    description = text_or_null()
    workflows = many(PackWorkflowShape)
    installed_at = at()
    upgraded_at = at_or_null()


class PackChangeShape(Shape):
    workflow = text()
    change = word(("added", "changed", "unchanged", "removed"))
    revision = number()


class PackChangedShape(Shape):
    pack = text()
    owner = a(OwnerShape)
    version = text_or_null()
    before = text_or_null("The version that was there.")
    dry_run = flag("Whether it was only tried.")
    workflows = many(PackChangeShape)
    warnings = many(ProblemItem)


class PacksShape(Shape):
    items = many(PackShape, "One for each app or group that has it.")


class AppShape(Shape):
    name = text()
    group = text_or_null()
    config = fields.Dict(
        required=True,
        **told(
            "What its templates see as `config`; `***` stands under keys that say secret, password, token and the like."
        ),
    )


class GroupShape(Shape):
    name = text()
    apps = texts()


FunctionPage = page_of(FunctionShape)
FunctionUserPage = page_of(FunctionUserShape)
WorkerPage = page_of(WorkerShape)
RunningPage = page_of(RunningShape)
PoolPage = page_of(PoolShape)
PoolUsePage = page_of(PoolUseShape)
QueuePage = page_of(QueueShape)
PackPage = page_of(PackShape)
AppPage = page_of(AppShape)
GroupPage = page_of(GroupShape)
