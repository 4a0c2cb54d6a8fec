"""DAG files of Airflow, read as syntax trees and never run.

Statements are gone through in order, with the values of names as far as they are written out. A loop over a list that
is written out is gone through; whatever else only running the file would tell is reported with its line.
"""

from __future__ import annotations

import ast
from typing import Any

from orchestrator.convert.airflow_calls import Calls
from orchestrator.convert.airflow_graph import DagFunction, Group
from orchestrator.convert.airflow_model import AirDag, Code
from orchestrator.convert.airflow_values import code, static
from orchestrator.convert.finish import NotImported
from orchestrator.errors import Problem

_MOST_TURNS = 200
_MOST_STATEMENTS = 20_000
_QUIET = (ast.Import, ast.ImportFrom, ast.Pass, ast.Assert, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Delete)


def read_dags(text: str) -> list[AirDag]:
    """The DAGs of a file. Raises `NotImported` for what is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise NotImported(
            [Problem("", f"it is not valid Python: {getattr(error, 'msg', error)}", _at(line))]
        ) from error
    reader = _Reader()
    try:
        reader.run(tree.body)
        return reader.finished()
    except RecursionError as error:
        raise NotImported([Problem("", "it is nested too deep")]) from error


def _at(line: int | None) -> str | None:
    return f"line {line}" if line else None


class _Reader:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.calls = Calls(self.names, self.run)
        self.left = _MOST_STATEMENTS

    def finished(self) -> list[AirDag]:
        """All DAGs, their edges drawn; functions that make DAGs are gone into."""
        for function in [name for name in self.names.values() if isinstance(name, DagFunction)]:
            self._within(function)
        for dag in self.calls.dags:
            self.calls.draw(dag)
        return self.calls.dags

    def _within(self, function: DagFunction) -> None:
        dag = self.calls.new_dag(function.args, function.name, ast.get_docstring(function.node))
        self._parameters(dag, function.node)
        with self.calls.inside(dag):
            self.run(function.node.body)

    def _parameters(self, dag: AirDag, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The function's parameters are those of the DAG."""
        arguments = [*node.args.posonlyargs, *node.args.args]
        defaults = [None] * (len(arguments) - len(node.args.defaults)) + list(node.args.defaults)
        both = [*zip(arguments, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
        given = dag.args.get("params")
        params = given if isinstance(given, dict) else {}
        for argument, default in both:
            params.setdefault(argument.arg, static(default, self.names))
            self.names[argument.arg] = f"{{{{ params.{argument.arg} }}}}"
        if params:
            dag.args["params"] = params

    def run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.left -= 1
            if self.left < 0:
                raise NotImported([Problem("", f"it has more than {_MOST_STATEMENTS} statements to go through")])
            self._one(statement)

    def _one(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            self._assign(statement)
        elif isinstance(statement, ast.Expr):
            self._done(statement)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            self._with(statement)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._define(statement)
        elif isinstance(statement, ast.For):
            self._loop(statement)
        elif isinstance(statement, ast.If):
            self._if(statement)
        elif isinstance(statement, ast.Try):
            self.run(statement.body)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self.calls.value(statement.value)
        elif not isinstance(statement, _QUIET):
            self._dynamic(statement, "is done when the program runs")

    def _done(self, statement: ast.Expr) -> None:
        """A call for what it does: one that is not understood is told of where a DAG is made."""
        dag = self.calls.dag
        before = None if dag is None else len(dag.losses)
        value = self.calls.value(statement.value)
        if dag is not None and isinstance(value, Code) and len(dag.losses) == before and self.calls.where:
            self._dynamic(statement, "is done when the program runs")

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement.value is None:
            return
        value = self.calls.value(statement.value)
        if isinstance(value, Code) and isinstance(statement.value, ast.Call) and self.calls.where and self.calls.dag:
            told = f"`{ast.unparse(statement)[:80]}` is worked out when the program runs"
            self.calls.dag.notes.append(("", told, statement.lineno))
        for target in targets:
            self._bind(target, value, statement)

    def _bind(self, target: ast.expr, value: Any, statement: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            self.calls.named(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value if isinstance(value, list) and len(value) == len(target.elts) else None
            for i, part in enumerate(target.elts):
                self._bind(part, values[i] if values is not None else code(statement), statement)
        elif isinstance(target, ast.Attribute):
            self.calls.set_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            whole, key = static(target.value, self.names), static(target.slice, self.names)
            if isinstance(whole, dict) and isinstance(key, str | int):
                whole[str(key)] = value

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        entered = []
        for item in statement.items:
            value = self.calls.value(item.context_expr)
            if isinstance(item.optional_vars, ast.Name):
                self.names[item.optional_vars.id] = value
            entered.append(value)
        places = [value for value in entered if isinstance(value, AirDag | Group)]
        if not places and self.calls.dag is not None:
            self._dynamic(statement, "is not a DAG or a group of tasks that is known")
        with self.calls.inside(*places):
            self.run(statement.body)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.names[node.name] = self.calls.function(node)

    def _loop(self, statement: ast.For) -> None:
        value = self.calls.value(statement.iter)
        if isinstance(value, dict):
            value = list(value)
        if not isinstance(value, list) or len(value) > _MOST_TURNS:
            if self.calls.makes_tasks(statement):
                self._dynamic(statement, "is a loop over what only running it would tell")
            return
        for part in value:
            self._bind(statement.target, part, statement)
            self.run(statement.body)

    def _if(self, statement: ast.If) -> None:
        told = static(statement.test, self.names)
        if "__name__" in ast.unparse(statement.test) or "TYPE_CHECKING" in ast.unparse(statement.test):
            return
        if isinstance(told, bool):
            self.run(statement.body if told else statement.orelse)
        elif self.calls.makes_tasks(statement):
            self._dynamic(statement, "is a condition that only running it would decide")

    def _dynamic(self, statement: ast.stmt, why: str) -> None:
        first = ast.unparse(statement).splitlines()[0][:80]
        self.calls.lost(f"`{first}` {why}", statement.lineno)
