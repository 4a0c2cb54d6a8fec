"""Tasks with transitions, as Orquesta and Attune have them, before they are steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.convert.report import Place
from orchestrator.convert.scope import End
from orchestrator.convert.syntax import Binary, Call, Const, Name, Node
from orchestrator.convert.templates import absent

COMMANDS = ("noop", "continue", "fail", "retry")
_ENDS = {"succeeded": End.SUCCESS, "failed": End.FAILURE, "completed": End.COMPLETE}


@dataclass(frozen=True, slots=True)
class Transition:
    """What follows a task. `condition`: an expression of ours for an edge's `when`; `publish` as the source has it."""

    place: Place
    end: End = End.COMPLETE
    condition: str | None = None
    publish: tuple[tuple[str, Any], ...] = ()
    do: tuple[str, ...] = ()


@dataclass(slots=True)
class Task:
    """`body`: what the step does, in our words; `join`: all, how many sources, or None: any one of them."""

    name: str
    place: Place
    body: dict[str, Any]
    transitions: list[Transition] = field(default_factory=list)
    join: str | int | None = None
    delay: Any = None

    def targets(self) -> set[str]:
        return {target for transition in self.transitions for target in transition.do if target not in COMMANDS}


def split_condition(node: Node) -> tuple[End, Node | None]:
    """Which end a condition asks for, and what else it asks."""
    end, others = End.COMPLETE, []
    for part in _conjuncts(node):
        asked = _end_of(part)
        if asked is None:
            others.append(part)
        elif asked is not End.COMPLETE:
            end = asked
    if not others:
        return end, None
    rest = others[0]
    for part in others[1:]:
        rest = Binary("and", rest, part)
    return (End.FAILURE if Call(Name("timed_out"), ()) in others else end), rest


def _conjuncts(node: Node) -> list[Node]:
    if isinstance(node, Binary) and node.sign == "and":
        return [*_conjuncts(node.left), *_conjuncts(node.right)]
    return [node]


def _end_of(node: Node) -> End | None:
    if node == Const(True):
        return End.COMPLETE
    if isinstance(node, Call) and isinstance(node.function, Name) and not node.args:
        return _ENDS.get(node.function.name)
    return None


def without_cycles(tasks: Mapping[str, Task]) -> list[tuple[Task, str]]:
    """Take the transitions that lead back out of the tasks; each with the task it led to."""
    found: list[tuple[Task, str]] = []
    state: dict[str, bool] = {}  # True while its ways are being walked
    for root in _roots_first(tasks):
        if root in state:
            continue
        state[root] = True
        ways = [(root, iter(_known(tasks, root)))]
        while ways:
            name, rest = ways[-1]
            target = next(rest, None)
            if target is None:
                state[name] = False
                ways.pop()
            elif target not in state:
                state[target] = True
                ways.append((target, iter(_known(tasks, target))))
            elif state[target]:
                found.append((tasks[name], target))
    for task, target in found:
        task.transitions = [_without(transition, target) for transition in task.transitions]
    return found


def _roots_first(tasks: Mapping[str, Task]) -> list[str]:
    reached = {target for task in tasks.values() for target in task.targets() if target != task.name}
    return sorted(tasks, key=lambda name: name in reached)


def _known(tasks: Mapping[str, Task], name: str) -> list[str]:
    """Targets in the order in which they are written."""
    ordered = [target for transition in tasks[name].transitions for target in transition.do]
    return [target for target in dict.fromkeys(ordered) if target in tasks]


def _without(transition: Transition, target: str) -> Transition:
    if target not in transition.do:
        return transition
    left = tuple(name for name in transition.do if name != target)
    return replace(transition, do=left or ("continue",))


def fails_on_purpose(task: str) -> str:
    """A template that makes a step fail, as the engine's command `fail` does."""
    return "{{ " + absent(f"{task} asks the run to fail").replace("not carried over: ", "") + " }}"
