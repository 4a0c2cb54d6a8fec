"""A DAG of Airflow as a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.convert.airflow_keys import COMMON, Common, seconds_of
from orchestrator.convert.airflow_model import AirDag, AirTask, Code, Moment, Output, Seconds
from orchestrator.convert.airflow_operators import SHORT, body_of, is_branch, output_of, value_of
from orchestrator.convert.airflow_scope import AirflowScope
from orchestrator.convert.finish import NotImported, finish
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Imported, Place, Report
from orchestrator.convert.schedules import add_schedule
from orchestrator.convert.schemas import one_schema
from orchestrator.convert.scope import STEPS
from orchestrator.convert.syntax import Binary, Choice, Const, Many, Node, Part, Test
from orchestrator.convert.templates import Templates
from orchestrator.domain.limits import Limits
from orchestrator.errors import Problem

_CRONS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LOST = {
    "on_failure_callback": "write the workflow's 'on_failure'",
    "on_success_callback": "write the workflow's 'on_success'",
    "sla_miss_callback": "'timeout' ends what takes too long",
    "deadline": "'timeout' ends what takes too long",
    "user_defined_macros": "templates have no functions of your own: let a step work it out",
    "user_defined_filters": "templates have no filters of your own: let a step work it out",
    "template_searchpath": "write the text into the document",
    "max_active_tasks": "give the steps a pool",
    "concurrency": "give the steps a pool",
    "end_date": "pause or delete the schedule then",
    "timetable": "make a schedule with a cron expression",
}
_MEANINGLESS = frozenset(
    [
        "dag_id",
        "access_control",
        "default_view",
        "orientation",
        "render_template_as_native_obj",
        "jinja_environment_kwargs",
        "owner_links",
        "auto_register",
        "is_paused_upon_creation",
        "start_date",
        "fileloc",
        "edge_info",
        "timezone",
        "max_consecutive_failed_dag_runs",
        "full_filepath",
        "template_undefined",
        "task_groups",
        "relative_fileloc",
        "dag_dependencies",
        "_processor_dags_folder",
    ]
)
_KNOWN = frozenset(
    [
        "description",
        "tags",
        "schedule",
        "schedule_interval",
        "catchup",
        "max_active_runs",
        "dagrun_timeout",
        "default_args",
        "params",
        "doc_md",
        "dag_display_name",
        "fail_fast",
        "fail_stop",
    ]
)
_TOLERANT = ("all_done", "all_done_min_one_success", "one_success", "one_done", "one_failed", "all_failed", "always")


def import_dag(dag: AirDag, told: str, limits: Limits) -> Imported:
    """The workflow of a DAG. Raises `NotImported`."""
    report = Report()
    for where, message, line in dag.losses:
        report.lost((where,) if where else (), message, "write it in the workflow", line=line)
    for where, message, line in dag.notes:
        report.note((where,) if where else (), message, line=line)
    if not dag.tasks:
        told_of = [Problem(f.path, f.message, f"line {f.line}" if f.line else None) for f in report.findings]
        raise NotImported([Problem("tasks", "no task of this DAG is written out"), *told_of])
    document = {"name": dag.id, **_about(dag, report)}
    default = dag.args.get("default_args")
    defaults = Common(default, ("default_args",), report, None, None).keys() if isinstance(default, Mapping) else {}
    _tell_of_defaults(default, report)
    rule = defaults.pop("trigger_rule", None)
    if defaults := {key: value for key, value in defaults.items() if key not in ("description", "label")}:
        document["defaults"] = defaults
    templates = Templates(report, AirflowScope(tasks=frozenset(dag.tasks)))
    document["steps"] = [_step(task, dag, templates, rule) for task in dag.tasks.values()]
    if "retry" not in defaults:
        document["steps"] = [{k: v for k, v in s.items() if (k, v) != ("retry", None)} for s in document["steps"]]
    _tell_of_leaves(document["steps"], report)
    return finish(document, report, source=told, limits=limits)


def _about(dag: AirDag, report: Report) -> dict[str, Any]:
    args = dag.args
    for key in args.keys() - _KNOWN - _MEANINGLESS - _LOST.keys():
        report.lost((key,), "is not an argument that is known here", "see what it is for")
    for key in args.keys() & _MEANINGLESS - {"dag_id"}:
        report.ignored((key,))
    for key, hint in _LOST.items():
        if args.get(key) not in (None, [], {}):
            report.lost((key,), "there is nothing like it here", hint)
    about: dict[str, Any] = {}
    if isinstance(label := args.get("dag_display_name"), str):
        about["label"] = label
    if isinstance(text := args.get("description") or dag.doc or args.get("doc_md"), str):
        about["description"] = text.strip()
    if isinstance(tags := args.get("tags"), list):
        about["tags"] = [str(tag) for tag in tags if isinstance(tag, str)]
    return about | _params(args.get("params"), report) | _limits(dag, report)


def _limits(dag: AirDag, report: Report) -> dict[str, Any]:
    args = dag.args
    made: dict[str, Any] = {}
    if (timeout := seconds_of(args.get("dagrun_timeout"))) is not None:
        made["timeout"] = timeout
    if isinstance(most := args.get("max_active_runs"), int) and most > 0:
        made["max_active_runs"] = most
    if args.get("fail_fast") is True or args.get("fail_stop") is True:
        made["failure_mode"] = "cancel"
    _schedule(dag, report)
    return made


def _params(value: Any, report: Report) -> dict[str, Any]:
    if not value:
        return {}
    if not isinstance(value, Mapping):
        report.lost(("params",), "are worked out when the program runs", "write 'input_schema'")
        return {}
    properties = {str(name): _param(given, ("params", str(name)), report) for name, given in value.items()}
    required = [name for name, schema in properties.items() if schema.get("default", ...) is None and _not_null(schema)]
    for name in required:
        del properties[name]["default"]
    schema = {"type": "object", **({"required": required} if required else {}), "properties": properties}
    return {"input_schema": schema}


def _not_null(schema: Mapping[str, Any]) -> bool:
    """Whether null would be refused: such a parameter has to be given."""
    kind = schema.get("type")
    return kind is not None and "null" not in (kind if isinstance(kind, list) else [kind])


def _param(given: Any, place: Place, report: Report) -> dict[str, Any]:
    if isinstance(given, Code):
        report.lost(
            place, f"`{given.text[:60]}` is worked out when the program runs", "write its default", line=given.line
        )
        return {}
    if isinstance(given, Mapping) and "__class" in given:
        given = {"default": given.get("default"), **(given.get("schema") or {})}
        return one_schema(given, place, report)
    return {"default": given.text if isinstance(given, Moment) else given}


def _schedule(dag: AirDag, report: Report) -> None:
    """The DAG's schedule as a command; what no command makes is reported."""
    given = dag.args.get("schedule", dag.args.get("schedule_interval"))
    if isinstance(given, Mapping) and "__type" in given and given["__type"] != "timedelta":
        given = given.get("value", given)
    every = seconds_of(given) if isinstance(given, Seconds | Mapping) else None
    cron = _CRONS.get(given, given) if isinstance(given, str) else None
    if given in (None, "None", "null", ""):
        return
    if every is not None:
        add_schedule(report, ("schedule",), dag.id, every=every)
    elif cron is not None and len(cron.split()) == 5:
        add_schedule(report, ("schedule",), dag.id, cron=cron, zone=dag.zone)
    elif given == "@once":
        report.note(("schedule",), "is once: start it once")
        return
    else:
        shown_as = given.text if isinstance(given, Code) else str(given)
        why = f"`{' '.join(shown_as.split())[:60]}` is neither a cron expression nor an interval"
        report.lost(("schedule",), why, "make a schedule, or let what it waits for start it")
        return
    if dag.args.get("catchup") is True:
        report.note(("catchup",), "the schedule makes up for what it missed within its catch-up window", "--catchup")


def _tell_of_defaults(default: Any, report: Report) -> None:
    if isinstance(default, Code):
        report.lost(("default_args",), f"`{default.text[:60]}` is worked out when the program runs", line=default.line)
    for key in default if isinstance(default, Mapping) else ():
        if key not in COMMON:
            report.ignored(("default_args", key), "is an argument of operators that have it")


def _step(task: AirTask, dag: AirDag, templates: Templates, rule: Any) -> dict[str, Any]:
    report, templates = templates.report, replace(templates, step=task.id)
    step: dict[str, Any] = {"name": task.id}
    step |= Common(task.args, task.place, report, task.id, task.line).keys()
    step |= body_of(task, templates) | _items(task, templates)
    known = [name for name in task.upstream if name in dag.tasks]
    for name in task.upstream.keys() - set(known):
        report.lost(task.place, f"follows '{name}', and there is no such task", step=task.id, line=task.line)
    if known:
        step["depends_on"] = [{"step": name} for name in known]
        if rule is not None:
            step.setdefault("trigger_rule", rule)
    else:
        step.pop("trigger_rule", None)
    return step | _conditions(task, known, dag, tolerant="trigger_rule" in step)


def _items(task: AirTask, templates: Templates) -> dict[str, Any]:
    """`expand(x=[...])`: for each of the items; with several arguments for each pair is not carried."""
    if task.each is None:
        return {}
    place = (*task.place, "expand")
    if len(task.each) != 1:
        names = ", ".join(task.each)
        why = f"is expanded over {names}" if task.each else "is expanded over what is known at run time only"
        templates.report.lost(place, why, "make one list of maps in a step before it", step=task.id, line=task.line)
        return {}
    name, given = next(iter(task.each.items()))
    return {"with_items": value_of(given, (*place, name), templates, task.line)}


def _conditions(task: AirTask, known: list[str], dag: AirDag, *, tolerant: bool) -> dict[str, Any]:
    """What a branch or a short circuit before it says."""
    found: list[Node] = []
    for name in known:
        operator = dag.tasks[name].operator
        output = output_of(Output(name))
        condition = _chosen(output, task.id) if is_branch(operator) else output if operator in SHORT else None
        if condition is not None and tolerant:
            status = Part(Part(STEPS, Const(name)), Const("status"))
            condition = Binary("or", Binary("!=", status, Const("succeeded")), condition)
        found += [] if condition is None else [condition]
    if not found:
        return {}
    when = found[0]
    for other in found[1:]:
        when = Binary("and", when, other)
    return {"when": shown(when)}


def _chosen(output: Node, task: str) -> Node:
    """Whether a branch names the task: it gives a name, a list of names, or nothing."""
    many = Choice(Many((output,)), Test(output, "string"), Binary("or", output, Many(())))
    return Binary("in", Const(task), many)


def _tell_of_leaves(steps: list[dict[str, Any]], report: Report) -> None:
    """There only the last tasks decide how a run ends, here every failure that nothing deals with."""
    sources = {edge["step"] for step in steps for edge in step.get("depends_on", ())}
    for step in steps:
        if step.get("trigger_rule") in _TOLERANT and step["name"] not in sources:
            why = "there a run succeeds when its last tasks do; here a failure before it still fails the run"
            hint = "'on_error: ignore' on a step whose failure is nothing to the run"
            report.note(("tasks", step["name"]), why, hint, step=step["name"])
