"""What the names of an expression of Orquesta or Attune stand for here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.convert.calls import FILTERED, known_filter, known_test, translated_call
from orchestrator.convert.syntax import (
    Binary,
    Call,
    Choice,
    Const,
    Filter,
    Many,
    Name,
    Node,
    Pairs,
    Part,
    Test,
    Unary,
    Untranslatable,
    inner,
)

VARS, INPUT, RESULT, ERROR, ITEM, STEPS = (Name(n) for n in ("vars", "input", "result", "error", "item", "steps"))
_CONTEXTS = ("workflow", "$")
_NO_RESULT = "a step that failed has an error's type and message, and no result"


class End(StrEnum):
    """Which end of its task an expression looks back on; SEEN ones are looked at by another step, later."""

    SUCCESS = "success"
    FAILURE = "failure"
    COMPLETE = "complete"
    SEEN = "seen"
    SEEN_FAILURE = "seen_failure"

    @property
    def later(self) -> bool:
        return self in (End.SEEN, End.SEEN_FAILURE)


@dataclass(frozen=True, slots=True)
class Scope:
    """`variables`: what each name of the context is here. `task`: whose transition this is, `end` how it has ended;
    `items`: what `item(name)` is. `questions`: tasks that ask people,
    `many`: those with items."""

    variables: Mapping[str, Node] = field(default_factory=dict)
    tasks: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    many: frozenset[str] = frozenset()
    task: str | None = None
    end: End | None = None
    items: Mapping[str, Node] = field(default_factory=dict)

    def rewrite(self, node: Node) -> Node:
        """The same in our words; raises `Untranslatable`."""
        named = self._named(node)
        if named is not None:
            return named
        if isinstance(node, Part):
            return Part(self.rewrite(node.whole), node.key if isinstance(node.key, Const) else self.rewrite(node.key))
        if isinstance(node, Call):
            return translated_call(node, self.rewrite)
        if isinstance(node, Name):
            return self._name(node.name)
        return self._inner(node)

    def _inner(self, node: Node) -> Node:
        again = self.rewrite
        if isinstance(node, Binary):
            return Binary(node.sign, again(node.left), again(node.right))
        if isinstance(node, Unary):
            return Unary(node.sign, again(node.value))
        if isinstance(node, Choice):
            return Choice(again(node.yes), again(node.condition), None if node.no is None else again(node.no))
        if isinstance(node, Many):
            return Many(tuple(map(again, node.parts)))
        if isinstance(node, Pairs):
            return Pairs(tuple((again(key), again(value)) for key, value in node.parts))
        if isinstance(node, Test):
            return Test(again(node.value), known_test(node.name), node.negated, tuple(map(again, node.args)))
        if isinstance(node, Filter):
            if node.name in FILTERED:
                return translated_call(Call(Name(node.name), (node.value, *node.args)), again)
            return Filter(again(node.value), known_filter(node.name), tuple(map(again, node.args)))
        return node

    def _named(self, node: Node) -> Node | None:
        """What reaches into the engine's own names: `ctx().a`, `result().b`, `task(c).result`."""
        if isinstance(node, Part):
            return self._part(node)
        if not isinstance(node, Call):
            return None
        if isinstance(node.function, Part) and node.function.key == Const("select") and len(node.args) == 1:
            return self._selected(node.function.whole, node.args[0])
        if not isinstance(node.function, Name):
            return None
        name, argument = node.function.name, _argument(node)
        if name == "ctx" and argument is not None:
            return self._variable(argument)
        if name == "result" and not node.args:
            return self._result()
        if name == "list":  # YAQL's words that name nothing are texts
            return Many(tuple(Const(arg.name) if isinstance(arg, Name) else self.rewrite(arg) for arg in node.args))
        if name == "item":
            return ITEM if argument is None else self._item(argument)
        return self._status(name) if not node.args else None

    def _part(self, node: Part) -> Node | None:
        key = node.key.value if isinstance(node.key, Const) else None
        if _is_context(node.whole) and isinstance(key, str):
            return self._variable(key)
        if node.whole == Name("config"):
            return node
        if node.whole == Name("parameters"):
            return Part(INPUT, node.key)
        if node.whole in (Name("keystore"), Name("secrets")):
            return Part(Name("secrets"), node.key)
        task = self._task(node.whole)
        if task is not None and isinstance(key, str):
            return self._of_task(task, key)
        if key in ("response", "items"):
            return self._inside(node.whole, str(key))
        return None

    def _inside(self, whole: Node, key: str) -> Node | None:
        """What a person has filled in, and the list of what items gave."""
        inner = self.rewrite(whole)
        task = self.task if inner == RESULT else _step_of(inner)
        if key == "response":
            return Part(inner, Const("fields")) if task in self.questions else None
        return inner if task in self.many else None

    def _selected(self, whole: Node, chosen: Node) -> Node | None:
        """`list.select($.a.b)`: that part of each element. What items gave has no `result` around it here."""
        keys = _keys_of(chosen)
        if not keys:
            return None
        listed = self.rewrite(whole)
        task = self.task if listed == RESULT else _step_of(listed)
        keys = keys[1:] if task in self.many and keys[0] == "result" else keys
        path = "".join(f'."{key}"' if not key.isidentifier() else f".{key}" for key in keys)
        return Call(Name("jmespath"), (listed, Const(f"[*]{path}"))) if keys else listed

    def _variable(self, name: str) -> Node:
        if name not in self.variables:
            raise Untranslatable(f"nothing here sets '{name}'")
        return self.variables[name]

    def _item(self, name: str) -> Node:
        return self.items.get(name, Part(ITEM, Const(name)))

    def _name(self, name: str) -> Node:
        if name in ("item", "index", "config"):
            return Name(name)
        if name in self.variables:
            return self.variables[name]
        raise Untranslatable(f"'{name}' has no equal here")

    @property
    def _later(self) -> bool:
        return self.end is not None and self.end.later

    def _result(self) -> Node:
        if self.end is End.FAILURE:
            return ERROR
        if self.end is None:
            raise Untranslatable("there is no result in this place")
        if self.end.later:
            return Part(Part(STEPS, Const(self.task)), Const("output" if self.end is End.SEEN else "error"))
        return RESULT

    def _status(self, name: str) -> Node | None:
        error = ERROR if not self._later else Part(Part(STEPS, Const(self.task)), Const("error"))
        if name == "succeeded":
            return Unary("not", error)
        if name == "failed":
            return error
        if name == "completed":
            return Const(True)
        if name == "timed_out":
            timeout = Binary("==", Part(error, Const("type")), Const("Timeout"))
            return timeout if self.end is End.FAILURE else Binary("and", error, timeout)
        return None

    def _task(self, node: Node) -> str | None:
        """The task that `task(name)`, `task()` or `task.name` is about."""
        if isinstance(node, Call) and node.function == Name("task"):
            return _argument(node) or self.task
        if isinstance(node, Part) and node.whole == Name("task") and isinstance(node.key, Const):
            return str(node.key.value)
        return None

    def _of_task(self, task: str, key: str) -> Node:
        if task not in self.tasks:
            raise Untranslatable(f"there is no task '{task}'")
        step: Node = Part(STEPS, Const(task))
        own = task == self.task and self.end is not None and not self.end.later
        if key in ("result", "data", "output"):
            return self._result() if own else Part(step, Const("output"))
        if key in ("task_name", "name"):
            return Const(task)
        if key == "error":
            return ERROR if own else Part(step, Const("error"))
        if key == "status":
            return Part(step, Const("status"))
        if key in ("task_id", "task_execution_id", "route"):
            raise Untranslatable(f"a step has no {key}")
        inner = "fields" if key == "response" and task in self.questions else key
        return Part(self._result() if own else Part(step, Const("output")), Const(inner))


def _is_context(node: Node) -> bool:
    if isinstance(node, Call):
        return node.function == Name("ctx") and not node.args
    return isinstance(node, Name) and node.name in _CONTEXTS


def _argument(node: Call) -> str | None:
    """The one argument of a call, a word or a text."""
    if len(node.args) != 1:
        return None
    argument = node.args[0]
    if isinstance(argument, Name):
        return argument.name
    return argument.value if isinstance(argument, Const) and isinstance(argument.value, str) else None


def _keys_of(node: Node) -> list[str]:
    """The keys of `$.a.b`; none for anything else."""
    keys: list[str] = []
    while isinstance(node, Part) and isinstance(node.key, Const) and isinstance(node.key.value, str):
        keys.insert(0, node.key.value)
        node = node.whole
    return keys if node == Name("$") else []


def _step_of(node: Node) -> str | None:
    inner = node.whole if isinstance(node, Part) else None
    found = isinstance(inner, Part) and inner.whole == STEPS and isinstance(inner.key, Const)
    return str(inner.key.value) if isinstance(inner, Part) and isinstance(inner.key, Const) and found else None


def no_result_of_a_failure(node: Node) -> None:
    """Refuse to look for parts of a failure's result; raises `Untranslatable`."""
    if isinstance(node, Part) and node.whole == ERROR and node.key not in (Const("type"), Const("message")):
        raise Untranslatable(_NO_RESULT)
    for part in inner(node):
        no_result_of_a_failure(part)
