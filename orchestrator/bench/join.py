"""Makes one results.json of several: what takes long, W7 say, is measured by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.errors import InvalidConfig, Problem

_OF_ONE_RUN = ("measured_at", "old_rows", "waiting_rows")  # what may differ


def join(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of them as one, on the facts of the first, with `parts`, how many they are.

    Raises `InvalidConfig` where figures would be mixed: for facts that differ, and for a workload measured twice.
    """
    first, *others = results
    if not others:
        return dict(first)
    for other in others:
        _check_alike(first["facts"], other["facts"])
    _check_apart([{_what(line) for line in one["lines"]} for one in results])
    facts = {name: value for one in reversed(results) for name, value in one["facts"].items()}
    days = sorted({one["facts"]["measured_at"] for one in results})
    return {
        "facts": {**facts, "measured_at": " and ".join(days), "parts": len(results)},
        "lines": [line for one in results for line in one["lines"]],
        "peers": [line for one in results for line in one["peers"]],
    }


def _check_alike(facts: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    for name in facts.keys() | others.keys():
        if name not in _OF_ONE_RUN and facts.get(name) != others.get(name):
            told = f"what is joined was measured alike; {name} differs: {facts.get(name)}, {others.get(name)}"
            raise InvalidConfig([Problem("--from", told)])


def _check_apart(measured: Sequence[set[str]]) -> None:
    seen: set[str] = set()
    for one in measured:
        if both := sorted(one & seen):
            raise InvalidConfig([Problem("--from", f"{', '.join(both)} stands in more than one")])
        seen |= one


def _what(line: Mapping[str, Any]) -> str:
    return f"{line['workload']} {line['size']} on {line['slots']} slots"
