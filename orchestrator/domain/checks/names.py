"""The names that one expression uses: whether each is there, and means something in that place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.definition import HANDLER_NAMES
from orchestrator.domain.expressions import References

_STEP_PARTS = ("status", "output", "error", "attempt", "items")
_ERROR_PARTS = ("type", "message")
_RUN_PARTS = (
    "id",
    "root_id",
    "workflow",
    "revision",
    "app",
    "created_at",
    "started_at",
    "depth",
    "parent_id",
    "tags",
    "status",
    "error",
)
# Where the names can be used that are not there everywhere.
_ELSEWHERE = {
    "secrets": "the input of a step that calls a function",
    "result": "'publish' and the 'when' of a dependency",
    "error": "'publish_on_failure', 'retry.while' and the 'when' of a dependency",
    "attempt": "'retry.while'",
    "steps": "steps, handlers and 'output'",
    "vars": "steps, handlers and 'output'",
    "item": "what is done for each item of a step with 'with_items'",
    "index": "what is done for each item of a step with 'with_items'",
}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who evaluates an expression: the names there are, and the step that must have ended after all it reads.

    Without a step any step may be read; `reads_itself`: the step has ended by then, too. `handlers` are the lifecycle
    handlers that have ended by then.
    """

    roots: frozenset[str]
    step: str | None = None
    reads_itself: bool = False
    handlers: frozenset[str] = frozenset()


def check_names(path: str, used: References, reader: Reader, draft: Draft, findings: Findings) -> Iterator[str]:
    """Report names that are not there; gives the steps that must be upstream of the reader."""
    for root in sorted(used.roots - reader.roots):
        _add_root(path, root, reader, draft, findings)
    for parts in sorted(used.paths):
        _check_parts(path, parts, reader, draft, findings)
    for name in sorted(used.steps):
        if _is_step(path, name, reader, draft, findings):
            yield name


def _add_root(path: str, root: str, reader: Reader, draft: Draft, findings: Findings) -> None:
    there = ", ".join(sorted(reader.roots))
    if root in _ELSEWHERE:
        findings.add(path, f"'{root}' is not there in this place, but in {_ELSEWHERE[root]}", f"there are {there}")
    elif root in draft.names and "steps" in reader.roots:
        findings.add(path, f"'{root}' is not defined", f"did you mean 'steps.{root}'?")
    else:
        hint = findings.near(root, sorted(reader.roots))
        findings.add(path, f"'{root:.80}' is not defined; there are {there}", hint)


def _check_parts(path: str, parts: tuple[str, ...], reader: Reader, draft: Draft, findings: Findings) -> None:
    if parts[0] not in reader.roots:
        return
    if parts[0] == "steps" and len(parts) > 2:
        _check_part(path, f"steps.{parts[1]}", parts[2], _STEP_PARTS, findings)
        step = draft.names.get(parts[1])
        if parts[2] == "items" and step is not None and step.with_items is None:
            findings.add(path, f"'steps.{parts[1]}.items' is for steps with 'with_items', and '{parts[1]}' has none")
        if parts[2] == "error" and len(parts) > 3:
            _check_part(path, f"steps.{parts[1]}.error", parts[3], _ERROR_PARTS, findings)
    elif parts[0] == "run" and len(parts) > 1:
        _check_part(path, "run", parts[1], _RUN_PARTS, findings)
    elif parts[0] == "error" and len(parts) > 1:
        _check_part(path, "error", parts[1], _ERROR_PARTS, findings)


def _check_part(path: str, owner: str, part: str, known: tuple[str, ...], findings: Findings) -> None:
    if part in known:
        return
    findings.add(path, f"'{owner:.120}' has no '{part:.80}', but {', '.join(known)}", findings.near(part, known))


def _is_step(path: str, name: str, reader: Reader, draft: Draft, findings: Findings) -> bool:
    if name in draft.names:
        if name == reader.step:
            if not reader.reads_itself:
                findings.add(path, f"step '{name}' reads itself: it has not ended when this is read")
            return False
        return True
    if name not in HANDLER_NAMES:
        findings.add(path, f"unknown step '{name:.255}'", findings.near(name, draft.names))
    elif name not in reader.handlers:
        findings.add(path, f"'{name}' runs after this, or not at all")
    return False
