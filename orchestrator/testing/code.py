"""Run the function of a code-first workflow to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from orchestrator.domain.limits import LIMITS
from orchestrator.functions import Registry, make_workflow, registry, wants_context
from orchestrator.replay.rehearsal.rehearse import rehearse
from orchestrator.replay.rehearsal.results import Cancel, CodeResult, Signal
from orchestrator.testing.document import run_document
from orchestrator.testing.results import RunResult
from orchestrator.testing.sandboxed import Document, load_document, registry_with

Code = Callable[..., Any]


def run_code(
    workflow: Code,
    input: Any = None,
    functions: Mapping[str, Code] | None = None,
    *,
    at: datetime | None = None,
    signals: Mapping[str, Any] | None = None,
    during: Sequence[Signal | Cancel] = (),
    children: Mapping[str, Code] | None = None,
    workflows: Sequence[Code | Document] = (),
) -> CodeResult:
    """See `orchestrator.testing.run`."""
    fakes, known = functions or {}, _known(functions or {})
    documents: dict[str, Mapping[str, Any]] = {}
    for other in workflows:
        if not callable(other):
            document = load_document(other, LIMITS)
            documents[str(document.get("name")).casefold()] = document
        elif not any(spec.call is other for spec in known.workflows):
            known.workflows.put(make_workflow(other))

    def run_child(name: str, given: Any) -> RunResult | None:
        document = documents.get(name.casefold())
        if document is None:
            return None
        others = [other for other in documents.values() if other is not document]
        return run_document(document, given, functions, workflows=others)

    return rehearse(
        workflow,
        input,
        known,
        fakes=fakes,
        children=children or {},
        signals=signals or {},
        during=during,
        documents=run_child,
        at=at,
    )


def _known(functions: Mapping[str, Code]) -> Registry:
    """What is registered, and these: what stands for a registered function keeps the policies of that."""
    known = registry_with(functions)
    for name, call in functions.items():
        spec = registry.get(name)
        if spec is not None:
            known.put(replace(spec, call=call, wants_context=wants_context(call)))
    return known
