"""Makes one results.json of several: what takes long, W7 say, is measured by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import InvalidConfig, Problem

_OF_ONE_RUN = ("measured_at", "parts")  # what may differ
_ROWS = ("old_rows", "waiting_rows")  # where there are none, they were not asked for


def join(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of them as one, on the facts of the first, with `parts`, how many they are.

    Raises `InvalidConfig` where figures would be mixed: for facts that differ, and for a workload measured twice.
    """
    if len(results) == 1:
        return dict(results[0])
    told = [one["facts"] for one in results]
    for other in told[1:]:
        _check_alike(told[0], other)
    _check_apart([{_what(line) for line in one["lines"]} for one in results])
    rows = {name: max(facts.get(name, 0) for facts in told) for name in _ROWS if any(name in facts for facts in told)}
    days = sorted({day for facts in told for day in facts["measured_at"].split(" and ")})
    parts = sum(map(_parts, told))
    return {
        "facts": {**told[0], **rows, "measured_at": " and ".join(days), "parts": parts},
        "lines": list(_numbered(results, "lines")),
        "peers": list(_numbered(results, "peers")),
    }


def _numbered(results: Sequence[Mapping[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """Their lines. Ratios are made within a round, so those of two runs of the bench have other numbers."""
    before = 0
    for one in results:
        yield from ({**line, "round": before + line["round"]} for line in one[kind])
        before += one["facts"]["rounds"] * _parts(one["facts"])


def _parts(facts: Mapping[str, Any]) -> int:
    parts: int = facts.get("parts", 1)
    return parts


def _check_alike(facts: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    for name in sorted((facts.keys() | others.keys()) - {*_OF_ONE_RUN}):
        one, other = facts.get(name), others.get(name)
        if one != other and (name not in _ROWS or (one and other)):
            told = f"what is joined was measured alike; {name} differs: {one}, {other}"
            raise InvalidConfig([Problem("--from", told)])


def _check_apart(measured: Sequence[set[str]]) -> None:
    seen: set[str] = set()
    for one in measured:
        if both := sorted(one & seen):
            raise InvalidConfig([Problem("--from", f"{', '.join(both)} stands in more than one")])
        seen |= one


def _what(line: Mapping[str, Any]) -> str:
    return f"{line['workload']} {line['size']} on {line['slots']} slots"
