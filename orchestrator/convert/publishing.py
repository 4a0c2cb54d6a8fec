"""Variables that transitions set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.convert.report import Place, Report
from orchestrator.convert.scope import End, Scope
from orchestrator.convert.syntax import Node, Untranslatable
from orchestrator.convert.tasks import Task, Transition
from orchestrator.convert.templates import Templates


@dataclass(frozen=True, slots=True)
class Publishing:
    """Translates what is published by the tasks of one workflow."""

    report: Report
    scope: Scope

    def publish(self, task: Task, transition: Transition) -> None:
        """Give the task's step what the transition publishes whenever the task ends so."""
        for key, end in (("publish", End.SUCCESS), ("publish_on_failure", End.FAILURE)):
            if transition.publish and transition.end in (end, End.COMPLETE):
                scope = replace(self.scope, task=task.name, end=end)
                values = self.values(transition.publish, (*transition.place, "publish"), scope, task.name)
                task.body[key] = {**task.body.get(key, {}), **values}

    def later(self, task: Task, transition: Transition, step: str) -> dict[str, Any]:
        """The same for a step that follows the task."""
        end = End.SEEN_FAILURE if transition.end is End.FAILURE else End.SEEN
        scope = replace(self.scope, task=task.name, end=end)
        return self.values(transition.publish, (*transition.place, "publish"), scope, step)

    def values(self, pairs: Iterable[tuple[str, Any]], place: Place, scope: Scope, step: str | None) -> dict[str, Any]:
        """Values in our words. Each sees those before it, which here are set at the same moment: they stand in its
        place."""
        done: dict[str, Any] = {}
        for name, value in pairs:
            templates = Templates(self.report, scope, step)
            done[name] = templates.value(value, (*place, name))
            scope = replace(scope, variables=_with(templates, name, value))
        return done


def _with(templates: Templates, name: str, value: Any) -> dict[str, Node]:
    """The variables, with what stands for this one in values behind it; without it where nothing can."""
    others = {key: node for key, node in templates.scope.variables.items() if key != name}
    try:
        return others | {name: templates.inline(value)}
    except Untranslatable:
        return others
