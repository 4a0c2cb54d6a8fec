"""The transitions of an Attune task, also in its older form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FLAT = {
    "on_success": "{{ succeeded() }}",
    "on_failure": "{{ failed() }}",
    "on_complete": None,
    "on_timeout": "{{ timed_out() }}",
}


def next_of(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As `when`, `publish`, `do`. `lost` names a key of which an entry was not understood."""
    entries = task.get("next")
    if entries:
        return [dict(entry) if isinstance(entry, Mapping) else {"lost": "next"} for entry in _listed(entries)]
    found = [entry for key, when in _FLAT.items() for entry in _flat(task.get(key), key, when)]
    found += [_decided(branch) for branch in _listed(task.get("decision"))]
    if publish := task.get("publish"):
        first = next((entry for entry in found if "succeeded()" in str(entry.get("when"))), None)
        if first is not None and "publish" not in first and str(first["when"]) == "{{ succeeded() }}":
            first["publish"] = publish
        else:
            found.insert(0, {"when": "{{ succeeded() }}", "publish": publish})
    return found


def _flat(value: Any, key: str, when: str | None) -> list[dict[str, Any]]:
    """A name, names, or a list of names with conditions of their own."""
    if isinstance(value, str):
        return [{"do": [value]} | ({"when": when} if when else {})]
    return [_branch(part, key, when) for part in _listed(value)]


def _branch(part: Any, key: str, when: str | None) -> dict[str, Any]:
    if isinstance(part, str):
        return {"do": [part]} | ({"when": when} if when else {})
    if not isinstance(part, Mapping) or not isinstance(part.get("do"), str):
        return {"lost": key}
    return {"do": [part["do"]], "when": _both(when, part.get("when"))}


def _both(when: str | None, more: Any) -> Any:
    """One condition of two."""
    if not isinstance(more, str) or when is None:
        return more or when
    return (
        when.removesuffix("}}").rstrip()
        + " and ("
        + more.strip().removeprefix("{{").removesuffix("}}").strip()
        + ") }}"
    )


def _decided(branch: Any) -> dict[str, Any]:
    if not isinstance(branch, Mapping) or not isinstance(branch.get("next"), str):
        return {"lost": "decision"}
    return {"do": [branch["next"]], "when": _both("{{ succeeded() }}", branch.get("when"))}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
