"""Names of Airflow's templates: `params.x`, `dag_run.conf['x']`, `ti.xcom_pull(task_ids='a')`."""

from __future__ import annotations

from orchestrator.convert.scope import INPUT, STEPS, Scope
from orchestrator.convert.syntax import Call, Const, Many, Name, Node, Part, Untranslatable

_DATES = ("ds", "ds_nodash", "ts", "ts_nodash", "logical_date", "execution_date", "data_interval_start")
_DATES_TOO = ("data_interval_end", "yesterday_ds", "tomorrow_ds", "next_ds", "prev_ds", "macros")
_CONF = Part(Name("dag_run"), Const("conf"))
_PULLERS = (Name("ti"), Name("task_instance"))


class AirflowScope(Scope):
    """`tasks` are those of the DAG."""

    __slots__ = ()

    def _named(self, node: Node) -> Node | None:
        if isinstance(node, Part):
            return self._place(node)
        if isinstance(node, Call) and isinstance(node.function, Part):
            whole, key = node.function.whole, node.function.key
            if whole in _PULLERS and key == Const("xcom_pull"):
                return self._pulled(node)
            if whole == _CONF:
                return Call(Part(INPUT, key), tuple(map(self.rewrite, node.args)))
        return None

    def _place(self, node: Part) -> Node | None:
        if node == Part(Name("dag"), Const("dag_id")):
            return Part(Name("run"), Const("workflow"))
        if node.whole == Name("params") or node.whole == _CONF:
            return Part(INPUT, node.key)
        if node == _CONF:
            return INPUT
        if node.whole in (Part(Name("var"), Const("value")), Part(Name("var"), Const("json"))):
            return Part(Name("config"), node.key)
        return None

    def _pulled(self, node: Call) -> Node:
        given = dict(node.named)
        task = given.get("task_ids", node.args[0] if node.args else None)
        if isinstance(task, Many) and len(task.parts) == 1:
            task = task.parts[0]
        if not isinstance(task, Const) or str(task.value) not in self.tasks:
            raise Untranslatable("it does not name a task of this DAG")
        key = given.get("key", Const("return_value"))
        output: Node = Part(Part(STEPS, task), Const("output"))
        return output if key == Const("return_value") else Part(output, key)

    def _name(self, name: str) -> Node:
        if name == "run_id":
            return Part(Name("run"), Const("id"))
        if name == "params":
            return INPUT
        if name == "item":  # of `expand`
            return Name(name)
        if name in (*_DATES, *_DATES_TOO):
            raise Untranslatable(f"a run has no '{name}': let its schedule give it as input, from 'fire_at'")
        raise Untranslatable(f"'{name}' has no equal here")
