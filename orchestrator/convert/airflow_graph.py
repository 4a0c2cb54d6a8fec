"""Parts of a DAG file that are neither DAGs nor tasks: groups, functions that make them, and ends of edges."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from orchestrator.convert.airflow_model import AirDag, AirTask, Output

Ends = list[Any]  # tasks, groups, outputs


@dataclass(slots=True, eq=False)
class Group:
    """A TaskGroup: `id` with the groups around it; what is within."""

    id: str
    prefix: str
    members: list[AirTask | Group] = field(default_factory=list)

    def tasks(self) -> list[AirTask]:
        """All tasks within, at any depth."""
        found: list[AirTask] = []
        for member in self.members:
            found += member.tasks() if isinstance(member, Group) else [member]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class TaskFunction:
    """A function under `@task`, with what `override` and `partial` have said. `kind`: `@task`, `@task.branch`, ..."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    kind: str
    args: dict[str, Any]
    given: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """`Operator.partial(...)`, before its `expand`."""

    operator: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class DagFunction:
    """A function under `@dag`."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class GroupFunction:
    """A function under `@task_group`."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    args: dict[str, Any]


def tasks_of(ends: Ends, dag: AirDag, *, last: bool) -> Any:
    """Names of the tasks an edge goes out from; or the tasks it comes to."""
    found: list[AirTask] = []
    for end in ends:
        if isinstance(end, Group):
            found += _edge_of_group(end, last=last)
        elif isinstance(end, Output):
            found += [dag.tasks[end.task]] if end.task in dag.tasks else []
        elif isinstance(end, AirTask):
            found.append(end)
    return [task.id for task in found] if last else found


def _edge_of_group(group: Group, *, last: bool) -> list[AirTask]:
    """Those of a group with nothing of it behind them, or before them."""
    inner = group.tasks()
    names = {task.id for task in inner}
    if last:
        followed = {name for task in inner for name in task.upstream}
        return [task for task in inner if task.id not in followed]
    return [task for task in inner if not names & task.upstream.keys()]


def flat(value: Any) -> Ends:
    if isinstance(value, list):
        return [end for part in value for end in flat(part)]
    return [value]


def line_of(node: ast.AST) -> int | None:
    return getattr(node, "lineno", None)
