"""Medians of what the rounds gave, and ratios within a round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.bench.meter import QUIET_PERCENT

Line = Mapping[str, Any]
_COARSE_SECONDS = 0.3  # CPU is counted in ticks of 10 ms: of less than this, the share of others means nothing


@dataclass(frozen=True, slots=True)
class Group:
    """The lines of one thing in all rounds: those that count, and of these the quiet ones where there are any."""

    lines: Sequence[Line]
    noisy: bool

    def median(self, key: str, part: str | None = None) -> float | None:
        """The median of a figure, or of a part of it; None where no line has it."""
        found = [line[key] if part is None else line[key].get(part) for line in self.lines if key in line]
        known = [value for value in found if value is not None]
        return statistics.median(known) if known else None

    def by_round(self, key: str) -> dict[int, float]:
        """The figure of each round; the median where a round has several."""
        rounds: dict[int, list[float]] = {}
        for line in self.lines:
            if line.get(key) is not None:
                rounds.setdefault(line["round"], []).append(line[key])
        return {number: statistics.median(values) for number, values in rounds.items()}


def grouped(lines: Iterable[Line], key: Callable[[Line], Hashable]) -> dict[Any, Group]:
    """The groups by key, in the order in which they come. Lines whose checks failed count for nothing."""
    found: dict[Hashable, list[Line]] = {}
    for line in lines:
        if line.get("ok"):
            found.setdefault(key(line), []).append(line)
    return {name: _group(members) for name, members in found.items()}


def _group(lines: list[Line]) -> Group:
    quiet = [line for line in lines if _is_quiet(line)]
    return Group(quiet or lines, not quiet)


def _is_quiet(line: Line) -> bool:
    foreign = line.get("foreign_cpu_percent", line.get("foreign_cpu_pct", 0.0))
    return bool(line["seconds"] < _COARSE_SECONDS or foreign <= QUIET_PERCENT)


def own_groups(results: Mapping[str, Any]) -> dict[tuple[str, str, int], Group]:
    """Our own measurements by workload, size and slots."""
    return grouped(results["lines"], lambda line: (line["workload"], line["size"], line["slots"]))


def peer_groups(results: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Group]]:
    """What the suite measured by workload and the size it was asked for, then by label."""
    found: dict[tuple[str, str], dict[str, Group]] = {}
    for (workload, asked, label), group in grouped(results["peers"], _peer_key).items():
        found.setdefault((workload, asked), {})[label] = group
    return found


def _peer_key(line: Line) -> tuple[str, str, str]:
    return line["workload"], line["asked"], line["label"]


def ratio(above: Mapping[int, float], below: Mapping[int, float]) -> float | None:
    """The median of the ratios of the rounds that have both; None where none has."""
    ratios = [above[number] / below[number] for number in above.keys() & below.keys() if below[number]]
    return statistics.median(ratios) if ratios else None


def best(groups: Iterable[Group], key: str, choose: Callable[[Iterable[float]], float]) -> dict[int, float]:
    """The best figure of each round, whoever's it is."""
    rounds: dict[int, list[float]] = {}
    for group in groups:
        for number, value in group.by_round(key).items():
            rounds.setdefault(number, []).append(value)
    return {number: choose(values) for number, values in rounds.items()}
