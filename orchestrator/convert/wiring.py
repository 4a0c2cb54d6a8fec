"""Tasks with transitions to steps with edges.

There a task says what follows it, here a step says what it follows. A failure that a transition deals with is dealt
with here too; what is published on a condition gets a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from orchestrator.convert.guards import certain, exclude, facts_of, ways_to
from orchestrator.convert.naming import Names
from orchestrator.convert.publishing import Publishing
from orchestrator.convert.races import tell_of_races
from orchestrator.convert.report import Report
from orchestrator.convert.scope import End
from orchestrator.convert.tasks import COMMANDS, Task, Transition, fails_on_purpose, without_cycles

_MOST_WAYS = 100  # to one task; more are not compared with each other
_LOOP = "let a step retry, sleep, or run a workflow that runs itself again"


@dataclass(slots=True)
class _Edges:
    """What leads to one step: edges, each with the task it comes from."""

    edges: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    known: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, origin: str, *edges: dict[str, Any]) -> None:
        for edge in edges:
            key = (origin, *edge.values(), *edge)
            if key not in self.known:
                self.known.add(key)
                self.edges.append((origin, edge))


class Wiring:
    """One workflow's steps. `steps` are in the order of the source, helpers behind the task they belong to."""

    def __init__(self, tasks: Mapping[str, Task], publishing: Publishing, report: Report) -> None:
        self.tasks = tasks
        self.publishing = publishing
        self.report = report
        self.names = Names(tasks)
        self.into: dict[str, _Edges] = {name: _Edges() for name in tasks}
        self.helpers: dict[str, list[dict[str, Any]]] = {name: [] for name in tasks}

    def steps(self) -> list[dict[str, Any]]:
        """The steps of all tasks; what was lost on the way is in the report."""
        self._check_targets()
        for task in self.tasks.values():
            if "pass" in task.body:  # it cannot fail
                task.transitions = [_of_success(transition) for transition in task.transitions]
        for task, target in without_cycles(self.tasks):
            why = f"leads back to '{target}': a workflow here has no loops"
            self.report.lost((*task.place, "next"), why, _LOOP, step=task.name)
        self._tell_of_paths()
        for task in self.tasks.values():
            for transition in task.transitions:
                self._wire(task, transition)
        return [step for task in self.tasks.values() for step in self._built(task)]

    def _check_targets(self) -> None:
        for task in self.tasks.values():
            for unknown in sorted(target for target in task.targets() if target not in self.tasks):
                why = f"leads to '{unknown}', and there is no such task"
                self.report.lost((*task.place, "next"), why, step=task.name)

    def _wire(self, task: Task, transition: Transition) -> None:
        commands = [target for target in transition.do if target in COMMANDS]
        targets = [target for target in transition.do if target in self.into]
        if "retry" in commands:
            self._retry(task, transition)
        if transition.condition is None:
            self.publishing.publish(task, transition)
        if _deals_with_failure(transition, targets):
            task.body["on_error"] = "ignore"
        gate = self._gate(task, transition, targets)
        edges = [{"step": gate["name"]}] if gate else _edges(task.name, transition, bool(targets))
        for target in targets:
            self.into[target].add(task.name, *edges)
        if "fail" in commands and not self._fails_anyway(task, transition, targets):
            self._fail(task, edges if gate or targets else _edges(task.name, transition, False))

    def _gate(self, task: Task, transition: Transition, targets: list[str]) -> dict[str, Any] | None:
        """A step in place of a transition that publishes on a condition, or deals with a failure on one."""
        handles = "noop" in transition.do and transition.end is not End.SUCCESS
        if transition.condition is None or not (transition.publish or (handles and not targets)):
            return None
        edges = _edges(task.name, transition, bool(targets) or handles)
        step: dict[str, Any] = {"name": self.names.free(f"{task.name}_next"), "pass": True}
        step |= {"depends_on": edges, "publish": self.publishing.later(task, transition, step["name"])}
        self.helpers[task.name].append(step)
        return step

    def _fail(self, task: Task, edges: list[dict[str, Any]]) -> None:
        name = self.names.free(f"{task.name}_fail")
        self.helpers[task.name].append(
            {"name": name, "pass": True, "depends_on": edges, "input": fails_on_purpose(task.name)}
        )

    def _fails_anyway(self, task: Task, transition: Transition, targets: list[str]) -> bool:
        """Whether the task's failure fails the run without a step for it."""
        others = [one for one in task.transitions if one is not transition and one.end is not End.SUCCESS]
        plain = transition.end is End.FAILURE and transition.condition is None
        return plain and not targets and not any(set(one.do) - {"fail", "continue"} for one in others)

    def _retry(self, task: Task, transition: Transition) -> None:
        if transition.end is End.SUCCESS:
            why = "a step that has succeeded is not tried again"
            self.report.lost((*transition.place, "do"), why, "let its function raise RetryLater", step=task.name)
            return
        if transition.end is End.COMPLETE:
            why = "only what fails is tried again here"
            self.report.note((*transition.place, "do"), why, step=task.name)
        more = {} if transition.condition is None else {"while": transition.condition}
        task.body.setdefault("retry", {"max_attempts": 4, **more})

    def _built(self, task: Task) -> Iterable[dict[str, Any]]:
        """The task's step, its delay before it, its helpers behind it."""
        step = {"name": task.name, **task.body}
        following = self._following(task)
        if task.delay is not None:
            delay = {"name": self.names.free(f"{task.name}_delay"), "sleep": task.delay, **following}
            yield delay
            following = {"depends_on": [{"step": delay["name"]}]}
        yield step | following
        yield from self.helpers[task.name]

    def _following(self, task: Task) -> dict[str, Any]:
        """`depends_on` and `join` of a task."""
        edges = self._merged(task)
        sources = len({edge["step"] for edge in edges})
        if not edges:
            return {}
        if task.join is None:
            return {"depends_on": edges} | ({"join": "any"} if sources > 1 else {})
        if sources == 1:
            return {"depends_on": edges}
        needed = task.join if isinstance(task.join, int) and task.join < sources else "all"
        return {"depends_on": edges, "join": needed, "on_unreachable": "fail"}

    def _merged(self, task: Task) -> list[dict[str, Any]]:
        """Its edges; where a join counts tasks, those of one task lead to it through one step."""
        found = self.into[task.name].edges
        by_origin: dict[str, list[dict[str, Any]]] = {}
        for origin, edge in found:
            by_origin.setdefault(origin, []).append(edge)
        merged: list[dict[str, Any]] = []
        for origin, edges in by_origin.items():
            if task.join is not None and len({edge["step"] for edge in edges}) > 1:
                name = self.names.free(f"{origin}_to_{task.name}")
                self.helpers[origin].append({"name": name, "pass": True, "depends_on": edges, "join": "any"})
                edges = [{"step": name}]
            merged += edges
        return merged

    def _tell_of_paths(self) -> None:
        """Tasks without a join run once for each way that leads to them; a step runs once."""
        ways = ways_to(self.tasks)
        order = _in_order(self.tasks)
        facts = certain(order, self.tasks, ways)
        tell_of_races(order, self.tasks, facts, self.report)
        for task in self.tasks.values():
            if task.join is not None or len(ways[task.name]) < 2:
                continue
            each = [facts_of(way, facts) for way in ways[task.name]]
            if len(each) > _MOST_WAYS or not all(exclude(one, other) for one, other in combinations(each, 2)):
                why = "there it runs once for each way that leads to it; here once, when the first of them is gone"
                hint = "give it 'join: all' if it is to wait for them, or a copy of the step for each way"
                self.report.lost(task.place, why, hint, step=task.name)


def _of_success(transition: Transition) -> Transition:
    return replace(transition, end=End.SUCCESS) if transition.end is End.COMPLETE else transition


def _deals_with_failure(transition: Transition, targets: list[str]) -> bool:
    if transition.condition is not None or transition.end is End.SUCCESS:
        return False
    return "noop" in transition.do or (transition.end is End.COMPLETE and bool(targets))


def _edges(source: str, transition: Transition, handles: bool) -> list[dict[str, Any]]:
    """The edges of a transition. One on failure deals with the failure once what it leads to has started."""
    when = {} if transition.condition is None else {"when": transition.condition}
    if transition.end is End.SUCCESS:
        return [{"step": source} | when]
    if transition.end is End.FAILURE:
        return [{"step": source, "on": "failure"} | when]
    if handles and when:
        return [{"step": source} | when, {"step": source, "on": "failure"} | when]
    return [{"step": source, "on": "complete"} | when]


def _in_order(tasks: Mapping[str, Task]) -> list[str]:
    """Sources before what depends on them; there are no cycles any more."""
    left = dict.fromkeys(tasks, 0)
    for task in tasks.values():
        for target in task.targets():
            if target in left:
                left[target] += 1
    ready = [name for name, count in left.items() if not count]
    for name in ready:
        for target in sorted(target for target in tasks[name].targets() if target in left):
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    return ready
