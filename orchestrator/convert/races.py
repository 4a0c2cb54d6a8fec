"""Variables that tasks side by side set: there each branch has its own, here the last to commit wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from orchestrator.convert.guards import Facts, exclude
from orchestrator.convert.report import Report
from orchestrator.convert.tasks import Task

_MOST = 30  # tasks that set one variable; of more only the first are compared


def tell_of_races(order: Sequence[str], tasks: Mapping[str, Task], facts: Mapping[str, Facts], report: Report) -> None:
    """Note variables that two tasks set of which neither comes before the other. `order`: sources first."""
    writers: dict[str, list[str]] = {}
    for name in order:
        for variable in {variable for transition in tasks[name].transitions for variable, _ in transition.publish}:
            writers.setdefault(variable, []).append(name)
    shared = {variable: names[:_MOST] for variable, names in writers.items() if len(names) > 1}
    behind = {name: _behind(name, tasks) for name in {name for names in shared.values() for name in names}}
    for variable, names in shared.items():
        for one, other in combinations(names, 2):
            if other not in behind[one] and not exclude(facts[one], facts[other]):
                why = f"'{one}' and '{other}' set it side by side: here the last to end wins, and all see it"
                report.note(("vars", variable), why, "give each a variable of its own")
                break


def _behind(name: str, tasks: Mapping[str, Task]) -> set[str]:
    """All tasks that follow a task, at any distance."""
    found: set[str] = set()
    left = [name]
    while left:
        for target in tasks[left.pop()].targets():
            if target in tasks and target not in found:
                found.add(target)
                left.append(target)
    return found
