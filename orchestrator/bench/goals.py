"""What the engine is meant to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.bench.summary import Group, best, own_groups, peer_groups, ratio
from orchestrator.bench.workloads import OURS, SIZES

# How many times the best peer's steps/s: at the usual sizes, and at others, which are larger.
_TIMES_BEST = {"W1": (2.0, 1.4), "W2": (2.0, 2.5), "W3": (2.0, 2.5)}
_CELERY = "celery-"
_MOST_GROWTH = 0.1


@dataclass(frozen=True, slots=True)
class Goal:
    """`measured` in words; `met` is None where it was not measured. `noisy`: others used the machine all the time."""

    workload: str
    says: str
    measured: str
    met: bool | None
    noisy: bool = False


def goals(results: Mapping[str, Any]) -> list[Goal]:
    """All that can be said about the goals."""
    return [*_beside_peers(results), *_alone(results)]


def _beside_peers(results: Mapping[str, Any]) -> Iterator[Goal]:
    for (workload, size), labels in peer_groups(results).items():
        ours = labels.get(OURS)
        peers = {label: group for label, group in labels.items() if not label.startswith(OURS)}
        if ours is None or not peers:
            continue
        if workload in _TIMES_BEST:
            yield from _by(_throughput(workload, size, ours, peers), ours, *peers.values())
        elif workload == "W4":
            yield from _by(_gap(size, ours, peers), ours, *peers.values())


def _throughput(workload: str, size: str, ours: Group, peers: Mapping[str, Group]) -> Iterator[Goal]:
    at_usual, at_larger = _TIMES_BEST[workload]
    times, speed = at_usual if size == SIZES[workload] else at_larger, ours.by_round("steps_per_s")
    reached = ratio(speed, best(peers.values(), "steps_per_s", max))
    yield _at_least(f"{workload} {size}", f">= {times:g} times the best peer", reached, times, "times")
    celery = [group for label, group in peers.items() if label.startswith(_CELERY)]
    if workload == "W1" and celery:
        reached = ratio(speed, best(celery, "steps_per_s", max))
        yield _at_least(f"{workload} {size}", ">= 8 times Celery's canvas", reached, 8, "times")


def _gap(size: str, ours: Group, peers: Mapping[str, Group]) -> Iterator[Goal]:
    own = ours.by_round("p50_step_gap_ms")
    reached = ratio(own, best(peers.values(), "p50_step_gap_ms", min))
    yield _at_most(f"W4 {size}", "median gap <= 0.6 times the best peer's", reached, 0.6, "times")
    reached = ratio(ours.by_round("p95_step_gap_ms"), own)
    yield _at_most(f"W4 {size}", "p95 of the gaps <= 3 times their median", reached, 3, "times")


def _alone(results: Mapping[str, Any]) -> Iterator[Goal]:
    groups = own_groups(results)
    first = {name: group for (name, _, _), group in reversed(groups.items())}
    for name, judge in _JUDGES.items():
        if name in first:
            yield from _by(judge(first[name], first), first[name])


def _by(found: Iterable[Goal], *groups: Group) -> Iterator[Goal]:
    """The goals, marked where one of the groups that they were judged by is noisy."""
    noisy = any(group.noisy for group in groups)
    return (replace(goal, noisy=noisy) for goal in found)


def _items(items: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    if "W2" in first:
        reached = ratio(first["W2"].by_round("steps_per_s"), items.by_round("steps_per_s"))
        yield _at_most("W5", "cost of an item <= 1.2 times that of W2's steps", reached, 1.2, "times")
    yield from _flat("W5", items, "", "grows by")


def _large(large: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    if "W2" in first:
        reached = ratio(first["W2"].by_round("steps_per_s"), large.by_round("steps_per_s"))
        yield _at_most("W6", "cost of a step <= 1.2 times W2's", reached, 1.2, "times")
    yield from _flat("W6", large, "again_", "a second run adds")


def _flat(workload: str, group: Group, of: str, what: str) -> Iterator[Goal]:
    """That memory does not grow; `of`: the beginning of the figures' names."""
    for name in ("worker", "beat"):
        peak, grown = group.median(f"{of}peak_mb", name), group.median(f"{of}grown_mb", name)
        share = None if peak is None or grown is None else 100 * grown / max(peak - grown, 1)
        says = f"memory of {name} flat ({what} <= 10 %)"
        yield _at_most(workload, says, share, 100 * _MOST_GROWTH, "%")


def _beside_rows(filled: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    reached = ratio(filled.by_round("steps_per_s"), filled.by_round("empty_steps_per_s"))
    yield _at_least("W7", ">= 0.9 times its steps/s without these rows", reached, 0.9, "times")


def _starts(starts: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    yield _at_least("W8", ">= 800 starts/s by the client", starts.median("starts_per_s"), 800, "starts/s")
    yield _at_least("W8", ">= 300 starts/s by REST", starts.median("rest_starts_per_s"), 300, "starts/s")


def _idle(idle: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    parts = [idle.median("cpu_percent", name) or 0.0 for name in ("worker", "beat", "web")]
    yield _at_most("W9", "worker, beat and web together <= 1 % of a core", sum(parts), 1, "%")
    yield _at_most("W9", "< 30 statements/s", idle.median("statements_per_s"), 30, "statements/s")


def _slots(slots: Group, first: Mapping[str, Group]) -> Iterator[Goal]:
    wait = slots.median("p99_queue_ms")
    yield _at_least("W10", ">= 95 % of the slots' time in steps", slots.median("use_percent"), 95, "%")
    yield _at_most("W10", "p99 wait of short steps beside slow ones < 200 ms", wait, 200, "ms")


_JUDGES = {"W5": _items, "W6": _large, "W7": _beside_rows, "W8": _starts, "W9": _idle, "W10": _slots}


def _at_least(workload: str, says: str, reached: float | None, bound: float, unit: str) -> Goal:
    return Goal(workload, says, _words(reached, unit), None if reached is None else reached >= bound)


def _at_most(workload: str, says: str, reached: float | None, bound: float, unit: str) -> Goal:
    return Goal(workload, says, _words(reached, unit), None if reached is None else reached <= bound)


def _words(value: float | None, unit: str) -> str:
    return "not measured" if value is None else f"{value:,.2f} {unit}" if value < 100 else f"{value:,.0f} {unit}"
