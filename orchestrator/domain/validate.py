"""What must hold between the parts of a document, and what is merely odd (docs/definition.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from orchestrator.domain.celery_task import is_celery_task
from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.checks.graph import check_graph
from orchestrator.domain.checks.reachable import never_started
from orchestrator.domain.checks.schemas import check_schemas
from orchestrator.domain.checks.steps import check_steps
from orchestrator.domain.checks.templates import check_templates
from orchestrator.domain.definition import Definition
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.errors import Problem


def validate(
    definition: Definition, document: Mapping[str, Any], *, limits: Limits = LIMITS, edges_known: bool = True
) -> list[Problem]:
    """All problems of a definition of the right shape; the paths are those of `document`, from which it was built.

    `edges_known`: False when some dependencies could not be read, so that nothing is said about what is upstream.
    """
    draft, findings = Draft(document, definition), Findings()
    check_steps(draft, findings)
    check_graph(draft, findings)
    check_templates(draft, findings, limits, edges_known=edges_known)
    check_schemas(draft, findings)
    return findings.problems


def warnings(
    definition: Definition, *, functions: Collection[str] | None = None, workflows: Collection[str] | None = None
) -> list[Problem]:
    """What a valid definition can be registered with, but is likely a mistake.

    Functions that no worker knows, sub-workflows that are not registered (`functions`, `workflows` None: nothing is
    known of them), and steps that can never start. A Celery task may be known to workers that tell us nothing.
    """
    findings = Findings()
    places = {step.name: f"steps[{index}]" for index, step in enumerate(definition.steps)}
    if functions is not None:
        for path, name in _called(definition):
            if name not in functions and not is_celery_task(name):
                findings.add(path, f"no worker knows the function '{name}' yet", findings.near(name, functions))
    if workflows is not None:
        _check_workflows(definition, workflows, findings)
    for step in never_started(definition):
        message = f"step '{step.name}' can never start: no end of the steps it depends on asks for it"
        findings.add(places[step.name], message)
    return findings.problems


def _check_workflows(definition: Definition, workflows: Collection[str], findings: Findings) -> None:
    known = {name.casefold() for name in (*workflows, definition.name)}
    steps = [(f"steps[{index}]", step) for index, step in enumerate(definition.steps)]
    for place, step in [*steps, *definition.handlers.items()]:
        name = step.workflow
        if name is not None and "{{" not in name and name.casefold() not in known:
            message = f"there is no workflow '{name}' yet"
            findings.add(f"{place}.workflow", message, findings.near(name, workflows))


def _called(definition: Definition) -> list[tuple[str, str]]:
    """The functions called, each with its path."""
    steps = [(f"steps[{index}].function", step.function) for index, step in enumerate(definition.steps)]
    handlers = [(f"{name}.function", step.function) for name, step in definition.handlers.items()]
    undoing = [
        (f"steps[{index}].compensate.function", step.compensate.function)
        for index, step in enumerate(definition.steps)
        if step.compensate is not None
    ]
    return [(path, name) for path, name in steps + undoing + handlers if name is not None]
