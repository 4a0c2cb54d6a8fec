"""Tables of results as plain text cells, for the terminal and for docs/performance.md alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.bench.goals import goals
from orchestrator.bench.summary import Group, own_groups, peer_groups, ratio
from orchestrator.bench.workloads import LISTED, OURS

_PROCESSES = ("worker", "beat", "postgres", "valkey", "client")
_VERDICTS = {True: "met", False: "not met", None: "-"}
_SHOWN_STATEMENT = 110


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its title, heads of columns, and rows."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def sheets(results: Mapping[str, Any]) -> dict[str, Sheet]:
    """The tables that have rows, by name."""
    made = {
        "speed": _speed(results),
        "cost": _cost(results),
        "others": _others(results),
        "goals": _goals(results),
        "statements": _statements(results),
        **{f"peers {workload} {size}": sheet for (workload, size), sheet in _peers(results)},
    }
    return {name: sheet for name, sheet in made.items() if sheet.rows}


def _speed(results: Mapping[str, Any]) -> Sheet:
    head = ("workload", "size", "slots", "steps/s", "seconds", "gap p50 ms", "gap p95 ms", "n")
    rows = []
    for (workload, size, slots), group in own_groups(results).items():
        if group.median("p50_gap_ms") is not None:
            gaps = [shown(group.median(key), 2) for key in ("p50_gap_ms", "p95_gap_ms")]
            speed = ("~" if group.noisy else "") + shown(group.median("steps_per_s"))
            seconds, rounds = shown(group.median("seconds"), 2), str(len(group.lines))
            rows.append((workload, size, str(slots), speed, seconds, *gaps, rounds))
    return Sheet("Speed (~: others used the machine)", head, rows)


def _cost(results: Mapping[str, Any]) -> Sheet:
    counters, memories = ("statements", "commits", "WAL bytes"), ("worker MB", "beat MB")
    head = ("workload", "size", "slots", *counters, *(f"{name} ms" for name in _PROCESSES), *memories)
    rows = []
    for (workload, size, slots), group in own_groups(results).items():
        steps = group.median("steps")
        if steps:
            counted = [
                shown(group.median("statements_per_step"), 1),
                shown(group.median("commits_per_step"), 2),
                shown(group.median("wal_bytes_per_step")),
            ]
            cpu = [shown(1000 * (group.median("cpu_s", name) or 0.0) / steps, 2) for name in _PROCESSES]
            memory = [shown(group.median("peak_mb", name)) for name in ("worker", "beat")]
            rows.append((workload, size, str(slots), *counted, *cpu, *memory))
    return Sheet("Cost of a step: what Postgres did, CPU of each process; peak memory", head, rows)


def _others(results: Mapping[str, Any]) -> Sheet:
    figures = (
        *(("W6", f"memory that the first run adds to {name}, MB", "grown_mb", name) for name in ("worker", "beat")),
        *(("W6", f"memory that the second adds to {name}, MB", "again_grown_mb", name) for name in ("worker", "beat")),
        ("W7", "steps/s without these rows", "empty_steps_per_s", None),
        ("W8", "starts/s by the client, one thread", "starts_per_s", None),
        ("W8", "the same of runs that nobody runs meanwhile", "unattended_starts_per_s", None),
        ("W8", "for scale: one-row updates/s by one client, each committed", "bare_commits_per_s", None),
        ("W8", "for scale: additions/s by one Python process, millions", "additions_m_per_s", None),
        ("W8", "starts/s in the caller's transactions", "transactional_starts_per_s", None),
        ("W8", "starts/s by REST, four connections", "rest_starts_per_s", None),
        *(("W9", f"CPU of {name}, % of a core", "cpu_percent", name) for name in ("worker", "beat", "web", "postgres")),
        ("W9", "statements/s", "statements_per_s", None),
        ("W9", "WAL bytes/s", "wal_bytes_per_s", None),
        ("W10", "slots' time spent in steps, %", "use_percent", None),
        ("W10", "p99 wait of 100 short steps beside 8 slow ones, ms", "p99_queue_ms", None),
    )
    rows = []
    for (workload, size, _), group in own_groups(results).items():
        for name, says, key, part in figures:
            if name == workload and (value := group.median(key, part)) is not None:
                rows.append((workload, size, says, ("~" if group.noisy else "") + shown(value, 2)))
    return Sheet("Memory, growth, starts, idling, slots", ("workload", "size", "figure", "value"), rows)


def _goals(results: Mapping[str, Any]) -> Sheet:
    found = goals(results)
    rows = [(g.workload, g.says, ("~" if g.noisy else "") + g.measured, _VERDICTS[g.met]) for g in found]
    return Sheet("Goals", ("workload", "goal", "measured", ""), rows)


def _statements(results: Mapping[str, Any]) -> Sheet:
    listed = next((line for line in results["lines"] if line["workload"] == LISTED and line["ok"]), None)
    rows = [(shown(calls, 2), _cut(query)) for query, calls in listed["statements"]] if listed else []
    return Sheet(f"Statements of a step of {LISTED}", ("calls", "statement"), rows)


def _peers(results: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Sheet]]:
    head = ("engine", "version", "durable", "steps/s", "gap p50 ms", "gap p95 ms", "MB", "n", f"{OURS} is")
    for (workload, size), labels in peer_groups(results).items():
        speed = labels[OURS].by_round("steps_per_s") if OURS in labels else {}
        ordered = sorted(labels.items(), key=lambda item: -(item[1].median("steps_per_s") or 0.0))
        rows = [_peer_row(label, group, speed, size) for label, group in ordered]
        yield (workload, size), Sheet(f"{workload} {size} beside other engines", head, rows)


def _peer_row(label: str, group: Group, ours: Mapping[int, float], size: str) -> tuple[str, ...]:
    line, times = group.lines[0], ratio(ours, group.by_round("steps_per_s"))
    return (
        label + ("" if line["size"] == size else f" ({line['size']})"),
        str(line["version"]),
        "yes" if line["durable"] else "no",
        ("~" if group.noisy else "") + shown(group.median("steps_per_s")),
        shown(group.median("p50_step_gap_ms"), 2),
        shown(group.median("p95_step_gap_ms"), 2),
        shown(group.median("peak_rss_mb")),
        str(len(group.lines)),
        "" if label == OURS or times is None else f"{times:.2f} x",
    )


def shown(value: float | None, digits: int = 0) -> str:
    """A figure for people; small ones keep a digit more."""
    if value is None:
        return "-"
    return f"{value:,.{1 if not digits and value < 10 else digits}f}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_STATEMENT else text[: _SHOWN_STATEMENT - 1] + "…"
