"""Whether two ways to a task can both be gone in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.convert.scope import End
from orchestrator.convert.tasks import Task

Fact = tuple[str, str]  # a task, and how it ended or what held then
Facts = frozenset[Fact]
_MOST = 200  # facts of one way; more are not looked at


@dataclass(frozen=True, slots=True)
class Way:
    """One transition into a task."""

    source: str
    end: End
    condition: str | None = None


def ways_to(tasks: Mapping[str, Task]) -> dict[str, list[Way]]:
    """For each task the transitions that lead to it."""
    found: dict[str, list[Way]] = {name: [] for name in tasks}
    for task in tasks.values():
        for transition in task.transitions:
            for target in transition.do:
                if target in found:
                    found[target].append(Way(task.name, transition.end, transition.condition))
    return found


def certain(order: Sequence[str], tasks: Mapping[str, Task], ways: Mapping[str, list[Way]]) -> dict[str, Facts]:
    """What is certain of a run in which the task is reached; `order`: sources before what depends on them."""
    facts: dict[str, Facts] = {}
    for name in order:
        each = [facts_of(way, facts) for way in ways[name]]
        if not each:
            facts[name] = frozenset()
        elif tasks[name].join == "all":
            facts[name] = frozenset().union(*each) if sum(map(len, each)) <= _MOST else frozenset()
        else:
            facts[name] = frozenset.intersection(*each)
    return facts


def facts_of(way: Way, facts: Mapping[str, Facts]) -> Facts:
    """What is certain when this way is gone."""
    own = {(way.source, way.end.value)} if way.end is not End.COMPLETE else set()
    if way.condition is not None:
        own.add((way.source, way.condition))
    known = facts.get(way.source, frozenset())
    return frozenset(own) | (known if len(known) <= _MOST else frozenset())


def exclude(one: Facts, other: Facts) -> bool:
    """Whether not both can be."""
    return any((task, against) in other for task, held in one for against in _against(held))


def _against(held: str) -> list[str]:
    ends = {"success": "failure", "failure": "success"}
    if held in ends:
        return [ends[held]]
    return [f"not {held}", f"not ({held})", held.removeprefix("not ")]
