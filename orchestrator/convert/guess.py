"""Which engine a document is for, where that is clear."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Engine(StrEnum):
    DIRECTOR = "celery-director"
    AIRFLOW = "airflow"
    ORQUESTA = "orquesta"
    ATTUNE = "attune"


_AIRFLOW_TASK = {"operator", "task_id", "task_type", "_task_type", "operator_name", "dependencies", "trigger_rule"}
_ORQUESTA_TASK = {"action", "next", "with", "join"}
_ATTUNE_TASK = {"action", "next", "on_success", "on_failure", "with_items", "type"}


def guess(file: str, data: Any) -> Engine | None:
    """The engine, or None; `data` is None for what is not YAML or JSON."""
    if file.endswith(".py"):
        return Engine.AIRFLOW
    if not isinstance(data, Mapping):
        return None
    if metadata_of(data) is not None:
        return Engine.ORQUESTA if "runner_type" in data else Engine.ATTUNE
    if "dag_id" in data or isinstance(data.get("dag"), Mapping):
        return Engine.AIRFLOW
    if "tasks" in data:
        return _by_tasks(data["tasks"])
    workflows = [value for value in data.values() if isinstance(value, Mapping)]
    return _by_workflows(workflows) if workflows and len(workflows) == len(data) else None


def metadata_of(data: Any) -> str | None:
    """The file that an action's metadata names as its workflow."""
    if not isinstance(data, Mapping) or "tasks" in data:
        return None
    named = data.get("workflow_file")
    if data.get("runner_type") == "orquesta":
        named = data.get("entry_point", "")
    return named if isinstance(named, str) else None


def _by_tasks(tasks: Any) -> Engine | None:
    values = list(tasks.values()) if isinstance(tasks, Mapping) else tasks if isinstance(tasks, list) else []
    keys = {key for value in values if isinstance(value, Mapping) for key in value}
    if keys & _AIRFLOW_TASK:
        return Engine.AIRFLOW
    if isinstance(tasks, Mapping):
        return Engine.ORQUESTA if keys & _ORQUESTA_TASK or all(value is None for value in values) else None
    return Engine.ATTUNE if "name" in keys and keys & _ATTUNE_TASK else None


def _by_workflows(workflows: list[Mapping[str, Any]]) -> Engine | None:
    """A file of several workflows."""
    lists = [value["tasks"] for value in workflows if isinstance(value.get("tasks"), list)]
    if lists and all(_is_chain(tasks) for tasks in lists):
        return Engine.DIRECTOR
    return Engine.AIRFLOW if any("tasks" in value for value in workflows) else None


def _is_chain(tasks: list[Any]) -> bool:
    return all(isinstance(task, str) or (isinstance(task, Mapping) and len(task) == 1) for task in tasks)
