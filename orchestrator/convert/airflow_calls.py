"""What calls in a DAG file make: DAGs, tasks, groups of tasks, and the edges between them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.convert.airflow_graph import (
    DagFunction,
    Ends,
    Group,
    GroupFunction,
    Partial,
    TaskFunction,
    flat,
    line_of,
    tasks_of,
)
from orchestrator.convert.airflow_model import AirDag, AirTask, Code, Moment, Output, outputs
from orchestrator.convert.airflow_values import bounded, called_name, code, static
from orchestrator.convert.naming import Names


class Calls:
    """The DAGs of one file, and where in them statements stand."""

    def __init__(self, names: dict[str, Any], run: Callable[[list[ast.stmt]], Any]) -> None:
        self.names = names
        self.run = run
        self.functions: dict[str, ast.AST] = {}
        self.dags: list[AirDag] = []
        self.where: list[AirDag | Group] = []
        self.edges: list[tuple[AirDag, Ends, Ends]] = []
        self.groups = Names(first=1, between="__")
        self.told: set[int | None] = set()
        self.lost_before: list[tuple[str, str, int | None]] = []

    @property
    def dag(self) -> AirDag | None:
        found = next((place for place in reversed(self.where) if isinstance(place, AirDag)), None)
        return found or (self.dags[-1] if self.dags and not self.where else None)

    @contextmanager
    def inside(self, *places: AirDag | Group) -> Iterator[None]:
        self.where += places
        yield
        del self.where[len(self.where) - len(places) :]

    def lost(self, message: str, line: int | None) -> None:
        dag = self.dag
        (self.lost_before if dag is None else dag.losses).append(("", message, line))

    def new_dag(self, args: dict[str, Any], name: str | None, doc: str | None = None) -> AirDag:
        given = args.get("dag_id", name)
        dag = AirDag(given if isinstance(given, str) else (name or "dag"), args, doc=doc)
        if isinstance(given, Code):
            dag.losses.append(("dag_id", f"`{given.text}` is worked out when the program runs", given.line))
        start = args.get("start_date")
        dag.zone = start.zone if isinstance(start, Moment) and start.zone != "UTC" else None
        dag.losses += self.lost_before
        self.lost_before = []
        self.dags.append(dag)
        return dag

    def value(self, node: ast.expr) -> Any:
        """What an expression is; tasks and edges that it makes are made."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift | ast.LShift):
            return self._shift(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.List | ast.Tuple):
            return bounded([self.value(part) for part in node.elts], node)
        if isinstance(node, ast.ListComp):
            return self._comprehension(node)
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self._part(node)
        return static(node, self.names)

    def _part(self, node: ast.Subscript | ast.Attribute) -> Any:
        """`f()["key"]` and `operator(...).output` of calls that make tasks."""
        if not isinstance(node.value, ast.Call):
            return static(node, self.names)
        self.names["..."] = self._call(node.value)
        name = ast.Name("...", ast.Load())
        if isinstance(node, ast.Subscript):
            return static(ast.Subscript(name, node.slice, ast.Load(), lineno=node.lineno), self.names)
        return static(ast.Attribute(name, node.attr, ast.Load(), lineno=node.lineno), self.names)

    def _comprehension(self, node: ast.ListComp) -> Any:
        first = node.generators[0]
        values = self.value(first.iter)
        simple = len(node.generators) == 1 and not first.ifs and isinstance(first.target, ast.Name)
        if not isinstance(values, list) or len(values) > 200 or not simple:
            if self.makes_tasks(node):
                self.lost(f"`{ast.unparse(node)[:80]}` is worked out when the program runs", node.lineno)
            return code(node)
        found = []
        for value in values:
            self.names[first.target.id] = value  # type: ignore[attr-defined]
            found.append(self.value(node.elt))
        return found

    def _shift(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.RShift):
            self.edge(left, right, node)
        else:
            self.edge(right, left, node)
        # a Label between two tasks makes no difference
        return left if right == [] else right

    def edge(self, before: Any, after: Any, node: ast.AST) -> None:
        if self.dag is None:
            return
        for end in (before, after):
            for part in end if isinstance(end, list) else [end]:
                if not isinstance(part, AirTask | Group | Output | list):
                    self._unknown_end(node)
        self.edges.append((self.dag, flat(before), flat(after)))

    def _unknown_end(self, node: ast.AST) -> None:
        line = line_of(node)
        if line not in self.told:
            self.told.add(line)
            self.lost(f"`{ast.unparse(node)[:80]}`: an end of this edge is not known", line)

    def _call(self, node: ast.Call) -> Any:
        name = called_name(node)
        if name == "DAG":
            return self.new_dag(self._keywords(node, ("dag_id", "description")), None)
        if name == "TaskGroup":
            return self._group(node)
        if name in ("chain", "chain_linear", "cross_downstream"):
            return self._chain(name, node)
        if isinstance(node.func, ast.Attribute) and (made := self._method(node, node.func)) is not None:
            return made
        target = self.value(node.func) if isinstance(node.func, ast.Name | ast.Call) else None
        if isinstance(target, GroupFunction):
            return self._call_group(target, node)
        if isinstance(target, TaskFunction):
            return self._call_task(target, node)
        if isinstance(target, DagFunction):
            return None
        if name[:1].isupper() and (name.endswith(("Operator", "Sensor")) or _names_a_task(node)):
            return self.task(name, self._keywords(node, ("task_id",)), node)
        if name in self.functions and self.makes_tasks(self.functions[name]):
            self.lost(f"`{ast.unparse(node)[:80]}` makes tasks when the program runs", node.lineno)
        return static(node, self.names)

    def _method(self, node: ast.Call, function: ast.Attribute) -> Any:
        """`set_upstream`, `override`, `partial`, `expand`; None for any other."""
        name = function.attr
        if name in ("set_upstream", "set_downstream"):
            own, other = self.value(function.value), [self.value(arg) for arg in node.args]
            before, after = (other, own) if name == "set_upstream" else (own, other)
            self.edge(before, after, node)
            return own
        if name == "partial" and isinstance(function.value, ast.Name) and function.value.id.endswith("Operator"):
            return Partial(function.value.id, self._keywords(node, ()))
        whole = self.value(function.value) if isinstance(function.value, ast.Name | ast.Call | ast.Attribute) else None
        if isinstance(whole, TaskFunction) and name in ("override", "partial"):
            more = self._keywords(node, ())
            args = whole.args | more if name == "override" else whole.args
            given = whole.given | more if name == "partial" else whole.given
            return TaskFunction(whole.node, whole.kind, args, given)
        if name in ("as_setup", "as_teardown") and isinstance(whole, AirTask | Output):
            why = f"`{ast.unparse(node)[:80]}`: there are no set-ups and teardowns"
            self.lost(f"{why}; a step with 'trigger_rule: all_done' tidies up", node.lineno)
            return whole
        if name in ("expand", "expand_kwargs") and isinstance(whole, TaskFunction | Partial):
            return self._expand(whole, node, name)
        return None

    def _expand(self, whole: TaskFunction | Partial, node: ast.Call, name: str) -> Any:
        each = self._keywords(node, ()) if name == "expand" else {}
        if isinstance(whole, Partial):
            task = self.task(whole.operator, whole.args | dict.fromkeys(each, "{{ item }}"), node)
        else:
            task = self.task(whole.kind, dict(whole.args), node, whole.node.name)
            task.args |= whole.given | dict.fromkeys(each, "{{ item }}")
        task.each = each
        self._after(task, each)
        return task if isinstance(whole, Partial) else Output(task.id)

    def _call_task(self, function: TaskFunction, node: ast.Call) -> Any:
        parameters = [argument.arg for argument in function.node.args.args]
        task = self.task(function.kind, dict(function.args), node, function.node.name)
        given = self._keywords(node, parameters)
        task.args |= function.given | given
        self._after(task, task.args)
        return Output(task.id)

    def _keywords(self, node: ast.Call, positions: Sequence[str]) -> dict[str, Any]:
        """Arguments by name; what comes by `**` and is not written out is reported."""
        found = dict(zip(positions, (self.value(arg) for arg in node.args), strict=False))
        for i in range(len(positions), len(node.args)):
            self.lost(f"argument {i + 1} of `{ast.unparse(node.func)}` has no name", node.lineno)
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                found[word.arg] = value
            elif isinstance(value, dict):
                found |= value
            else:
                self.lost(f"`**{ast.unparse(word.value)[:60]}` is not written out", node.lineno)
        return found

    def task(self, operator: str, args: dict[str, Any], node: ast.Call, function: str | None = None) -> AirTask:
        """A new task of the DAG that the statement stands in."""
        given = args.pop("task_id", function)
        dag = args.pop("dag", None)
        dag = dag if isinstance(dag, AirDag) else self.dag or self.new_dag({}, "dag")
        if not isinstance(given, str):
            told = given.text if isinstance(given, Code) else "nothing"
            dag.losses.append(("", f"the task's id `{told}` is worked out when the program runs", node.lineno))
            given = f"task_in_line_{node.lineno}"
        group = self.where[-1] if self.where and isinstance(self.where[-1], Group) else None
        name = dag.names.free((group.prefix if group else "") + given)
        task = AirTask(name, operator, args, function, place=("tasks", name), line=node.lineno)
        dag.tasks[name] = task
        if group is not None:
            group.members.append(task)
        for key in ("python_callable",):
            if isinstance(args.get(key), TaskFunction):
                args[key] = args[key].node.name
        self._after(task, args)
        return task

    def _after(self, task: AirTask, args: dict[str, Any]) -> None:
        for output in outputs(args):
            if output.task != task.id:
                task.upstream[output.task] = None

    def _group(self, node: ast.Call) -> Group:
        args = self._keywords(node, ("group_id",))
        name = args.get("group_id")
        outer = self.where[-1] if self.where and isinstance(self.where[-1], Group) else None
        own = (outer.prefix if outer else "") + (name if isinstance(name, str) else f"group_in_line_{node.lineno}")
        group = Group(own, "" if args.get("prefix_group_id") is False else own + ".")
        if outer is not None:
            outer.members.append(group)
        for key in args.keys() - {"group_id", "prefix_group_id", "tooltip", "dag", "ui_color", "ui_fgcolor"}:
            self.lost(f"'{key}' of the group '{own}' is not carried over", node.lineno)
        return group

    def _call_group(self, function: GroupFunction, node: ast.Call) -> Any:
        """A group that a function makes: its body is gone through."""
        outer = self.where[-1] if self.where and isinstance(self.where[-1], Group) else None
        name = function.args.get("group_id", function.node.name)
        own = self.groups.free((outer.prefix if outer else "") + str(name))
        group = Group(own, own + ".")
        if outer is not None:
            outer.members.append(group)
        self.names.update(self._keywords(node, [argument.arg for argument in function.node.args.args]))
        with self.inside(group):
            self.run(function.node.body)
        return group

    def _chain(self, name: str, node: ast.Call) -> None:
        ends = []
        for arg in node.args:
            value = self.value(arg.value if isinstance(arg, ast.Starred) else arg)
            ends += value if isinstance(arg, ast.Starred) and isinstance(value, list) else [value]
        for before, after in zip(ends, ends[1:], strict=False):
            pairs = isinstance(before, list) and isinstance(after, list) and name == "chain"
            for one, other in zip(before, after, strict=False) if pairs else [(before, after)]:
                self.edge(one, other, node)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        """What a function is by its decorators."""
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            text = ast.unparse(call.func if call else decorator)
            args = self._keywords(call, ("dag_id",) if text == "dag" else ()) if call else {}
            if text == "dag" or text.endswith(".dag"):
                return DagFunction(node, node.name, args)
            if text == "task_group":
                return GroupFunction(node, args)
            if text.split(".")[0] == "task":
                kind = "@" + text
                return TaskFunction(node, "@task" if kind == "@task.python" else kind, args)
        self.functions[node.name] = node
        return node.name

    def named(self, name: str, value: Any) -> None:
        """`dag = DAG()` without an id of its own; nothing else is named by where it is kept."""
        if isinstance(value, AirDag) and value.id == "dag" and "dag_id" not in value.args:
            value.id = name

    def set_attribute(self, target: ast.Attribute, value: Any) -> None:
        whole = static(target.value, self.names)
        if isinstance(whole, AirDag | AirTask):
            if target.attr in ("doc_md", "doc") or isinstance(whole, AirTask):
                whole.args[target.attr] = value
            else:
                self.lost(f"`{ast.unparse(target)}` is set after the DAG is made", target.lineno)

    def makes_tasks(self, node: ast.AST) -> bool:
        """Whether tasks or edges are made within."""
        inner = list(ast.walk(node))
        calls = any(isinstance(part, ast.Call) and self._is_task(part) for part in inner)
        return calls or any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.RShift) for part in inner)

    def _is_task(self, node: ast.Call) -> bool:
        known = self.names.get(getattr(node.func, "id", ""))
        return called_name(node).endswith(("Operator", "Sensor", "DAG")) or isinstance(
            known, TaskFunction | DagFunction
        )

    def draw(self, dag: AirDag) -> None:
        """Give the tasks of a DAG their edges."""
        for owner, before, after in self.edges:
            if owner is not dag:
                continue
            for target in tasks_of(after, dag, last=False):
                for source in tasks_of(before, dag, last=True):
                    if source != target.id:
                        target.upstream[source] = None


def _names_a_task(node: ast.Call) -> bool:
    return any(word.arg == "task_id" for word in node.keywords)
