"""Arguments that every operator of Airflow has, as keys of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.convert.airflow_model import Code, Seconds
from orchestrator.convert.report import Place, Report
from orchestrator.domain.definition import TriggerRule

RETRY_DELAY = 300  # seconds: Airflow's default
_RULES = {rule.value for rule in TriggerRule}
_OLD_RULES = {"dummy": "always", "none_failed_or_skipped": "none_failed_min_one_success"}
_HIGHEST = 9
_LOST = {
    "depends_on_past": "runs do not wait for each other's steps; 'max_active_runs: 1' lets whole runs wait",
    "wait_for_downstream": "runs do not wait for each other's steps; 'max_active_runs: 1' lets whole runs wait",
    "max_active_tis_per_dag": "give the step a pool",
    "max_active_tis_per_dagrun": "'with_items' has 'concurrency'",
    "on_failure_callback": "let a step follow it with 'on: failure', or use the workflow's 'on_failure'",
    "on_success_callback": "let a step follow it, or use the workflow's 'on_success'",
    "on_retry_callback": "let the function do it when ctx.attempt is more than 1",
    "on_execute_callback": "let a step come before it",
    "on_skipped_callback": "let a step follow it with 'on: skipped'",
    "sla": "'timeout' ends what takes too long",
    "start_date": "say it where the schedule is made",
    "end_date": "pause or delete the schedule then",
    "executor_config": "give the step a 'queue' that such workers serve",
    "executor": "give the step a 'queue' that such workers serve",
    "run_as_user": "give the step a 'queue' whose workers run as this user",
    "inlets": "there are no assets",
    "outlets": "there are no assets; let a last step start what waits for it",
    "params": "put them into 'input_schema'",
    "pre_execute": "let a step come before it",
    "post_execute": "let a step follow it",
    "retry_policy": "'retry' has 'retry_on', 'abort_on' and 'while'",
    "email": "let 'on_failure' call email.send",
}
_MEANINGLESS = frozenset(
    [
        "task_id",
        "dag",
        "owner",
        "email_on_failure",
        "email_on_retry",
        "weight_rule",
        "do_xcom_push",
        "multiple_outputs",
        "resources",
        "show_return_value_in_log",
        "ignore_first_depends_on_past",
        "map_index_template",
        "task_group",
        "run_as_user_doc",
        "trigger_on",
        "wait_for_past_depends_before_skipping",
        "allow_nested_operators",
        "ui_color",
        "label",
        "_task_type",
        "_operator_name",
        "template_fields",
        "template_ext",
        "template_fields_renderers",
        "ui_fgcolor",
        "is_setup",
        "is_teardown",
        "_is_mapped",
    ]
)
_DOCS = ("doc_md", "doc", "doc_rst", "doc_json", "doc_yaml")
_SIMPLE = frozenset(
    [
        "retries",
        "retry_delay",
        "retry_exponential_backoff",
        "max_retry_delay",
        "execution_timeout",
        "pool",
        "pool_slots",
        "priority_weight",
        "queue",
        "trigger_rule",
        "task_display_name",
    ]
)
COMMON = _SIMPLE | _MEANINGLESS | frozenset(_DOCS) | frozenset(_LOST)


def seconds_of(value: Any) -> float | None:
    """A timedelta in any of its written forms."""
    if isinstance(value, Seconds):
        value = value.value
    if isinstance(value, Mapping):
        value = _spelled(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if value == int(value) else value


def _spelled(value: Mapping[str, Any]) -> Any:
    inner = value.get("__var", value)
    if not isinstance(inner, Mapping):
        return inner
    units = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "microseconds": 1e-6}
    found = {unit: inner[unit] for unit in units if isinstance(inner.get(unit), int | float)}
    return sum(units[unit] * amount for unit, amount in found.items()) if found else None


class Common:
    """Reads the common arguments of one task, or of `default_args`."""

    def __init__(
        self, args: Mapping[str, Any], place: Place, report: Report, step: str | None, line: int | None
    ) -> None:
        self.args, self.place, self.report, self.step, self.line = args, place, report, step, line

    def keys(self) -> dict[str, Any]:
        """The keys of a step; what has none is in the report."""
        made: dict[str, Any] = {}
        for key, value in self.args.items():
            if key in _LOST and value not in (None, False, [], {}):
                self.lost(key, "there is nothing like it here", _LOST[key])
            elif key in _MEANINGLESS:
                self.report.ignored((*self.place, key), step=self.step, line=self.line)
            elif key in _DOCS and isinstance(value, str) and value.strip():
                made["description"] = value.strip()
        if isinstance(label := self.args.get("task_display_name"), str):
            made["label"] = label
        return made | self._retry() | self._limits() | self._rule()

    def lost(self, key: str, message: str, hint: str | None = None) -> None:
        self.report.lost((*self.place, key), message, hint, step=self.step, line=self.line)

    def _number(self, key: str) -> float | None:
        value = self.args.get(key)
        if value is None:
            return None
        number = seconds_of(value)
        if number is None:
            self.lost(key, f"`{_told(value)}` is not written as a number", "write it out")
        return number

    def _retry(self) -> dict[str, Any]:
        retries = self._number("retries")
        if not retries:
            return {"retry": None} if retries == 0 and self.step else {}
        delay = self._number("retry_delay")
        retry: dict[str, Any] = {"max_attempts": int(retries) + 1, "delay": RETRY_DELAY if delay is None else delay}
        if self.args.get("retry_exponential_backoff"):
            retry["backoff"] = "exponential"
        longest = self._number("max_retry_delay")
        if longest is not None:
            retry["max_delay"] = max(longest, retry["delay"])
        return {"retry": retry}

    def _limits(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, name in (("execution_timeout", "timeout"), ("pool_slots", "slots")):
            if (value := self._number(key)) is not None and (name, value) != ("slots", 1):
                made[name] = value
        if (weight := self._number("priority_weight")) is not None:
            made["priority"] = self._priority(int(weight))
        for key in ("pool", "queue"):
            value = self.args.get(key)
            if isinstance(value, str) and value not in ("default_pool", "default"):
                made[key] = value
            elif isinstance(value, Code):
                self.lost(key, f"`{value.text}` is known at run time only", "write it out")
        if "pool" in made:
            self.report.note(
                (*self.place, "pool"), f"make the pool '{made['pool']}': orchestrator pools", step=self.step
            )
        return made

    def _priority(self, weight: int) -> int:
        if not 0 <= weight <= _HIGHEST:
            why = f"{weight} is {min(max(weight, 0), _HIGHEST)} here: priorities are 0 to 9"
            self.report.note((*self.place, "priority_weight"), why, step=self.step, line=self.line)
        return min(max(weight, 0), _HIGHEST)

    def _rule(self) -> dict[str, Any]:
        rule = self.args.get("trigger_rule")
        if rule is None:
            return {}
        rule = _told(rule)
        rule = _OLD_RULES.get(str(rule), rule)
        if rule not in _RULES:
            self.lost("trigger_rule", f"there is no rule '{_told(rule)}'", "see 'trigger_rule' in docs/definition.md")
            return {}
        return {} if rule == "all_success" else {"trigger_rule": rule}


def _told(value: Any) -> str:
    return value.text if isinstance(value, Code) else str(value)
