"""Writes docs/scaling.md from what was measured (docs/performance/results.json): `make docs`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

_DATA = Path(__file__).with_name("performance") / "results.json"
_RATES = (1_000, 10_000, 100_000)
_KINDS = {
    "W1": "short steps, one after the other in many runs",
    "W10": "steps of 20 to 200 ms, each with a message of its own",
    "W8": "starts of runs of one step, with that step",
}
_SLOT_SECONDS = 0.11  # the mean of W10's steps
_CORES, _SHARE = 32, 0.6  # of a large Postgres machine, and how much of it may be busy

PAGE = """\
# Scaling

What one installation takes, what 100,000 steps a second would take, and where to cut. Made from [what was
measured](performance/results.json) by `make docs`; [performance](performance.md) says how.

**Read with care**: measured on {cores} cores with worker, Postgres and broker on one machine ({date}, PostgreSQL
{postgres}). All beyond that is arithmetic: it takes the cost of a step as the same at any rate, which nobody has
measured at 100,000 a second.

## What a step costs

| | statements | commits | WAL bytes | CPU of Postgres, ms | CPU of workers, ms | CPU of the broker, ms |
|---|---|---|---|---|---|---|
{costs}

Under load, steps that take no time share statements and commits; steps with a duration of their own cannot, and
cost several times as much. Most real steps are of the second kind. Idling costs {idle_statements} statements a
second for the whole installation, whatever waits.

## What a rate takes

For short steps, as in the first line:

| steps/s | cores of Postgres | commits/s | WAL | cores of workers, without your functions |
|---|---|---|---|---|
{short}

For steps of 0.1 seconds, as in the second:

| steps/s | cores of Postgres | commits/s | WAL | cores of workers, without your functions | slots | connections |
|---|---|---|---|---|---|---|
{long}

*Slots* are steps side by side: the rate times the mean duration. *Connections* are those that prefork workers may
hold at most, two for each slot. From some hundred on they belong behind
[PgBouncer](deployment.md#behind-pgbouncer), which needs a few dozen to Postgres: a step holds a transaction for
well under its {long_ms} ms of CPU, and none while its function runs.

## Where one Postgres ends

Say a machine with {cores_there} cores, of which {share} % may be busy: {busy} cores for steps. That is
{one_short} short steps a second, or {one_long} of the other kind, where CPU is what ends first. Other limits,
before or after:

- **Commits**: each waits for the disk once. {commits_short} commits a second of short steps are many for one
  disk, but Postgres writes those of many sessions together (`commit_delay` helps where the disk is slow).
- **WAL**: {wal_one} a second at that rate; replicas and the archive must keep up. Full-page writes come on top
  where checkpoints are close: `max_wal_size` of some tens of GB.
- **Vacuum**: each step's row is updated a few times. Retention that removes old runs is part of the load.
- **The coordinator** does only what is due: retries, timers, schedules, lost work. A beat more shares that.
- **The broker** holds at most `ORCHESTRATOR_WINDOW` messages a queue and costs {broker} ms a step at the most: it
  is never the first to end.

## Beyond one

A run lives in one database, with all below it. So cut along what has no runs in common:

1. **Reads off the primary.** Point readers' tools at a replica with the views for psql. The admin pages read what
   is live, and stay with the primary.
2. **By queue, on one database.** Machines for each queue; Postgres still sees all steps. This moves work, not the
   limit.
3. **By app, on several databases.** An installation for each app or group of apps: own `DATABASE_URL`, own
   workers and beat, own broker or another database number of the same. Nothing is shared, so the sum grows as the
   number does. Runs of one start those of another over [REST](api.md) or a [webhook](hooks.md), with an
   `idempotency_key`, in place of a `workflow` step.
4. **By key, on several databases.** Where one app is too large: `hash(customer) % n` chooses the installation, in
   the program that starts the runs. Search and totals then ask all of them.

100,000 steps a second are, by this arithmetic, {many_short} such databases for short steps and {many_long} for
those of 0.1 seconds, with {slots_all} slots. Before that, ask whether each step must be one: items in batches
(`batch_size`) make a hundred rows one attempt.

## What is not known

No figure here is from a machine with more than {cores} cores, from a network between the parts, or from a
database that was sharded. How soon work goes on after something broke was measured:
[reliability](reliability.md#how-long-it-takes).
"""


def page(results: Mapping[str, Any] | None = None) -> str:
    """The whole page."""
    results = results or json.loads(_DATA.read_text())
    cost = {kind: _cost(results, kind) for kind in _KINDS}
    short, long = cost["W1"], cost["W10"]
    busy = _CORES * _SHARE
    one_short, one_long = busy / short["postgres"] * 1000, busy / long["postgres"] * 1000
    return PAGE.format(
        cores=results["facts"]["cores"],
        date=results["facts"]["measured_at"],
        postgres=results["facts"]["postgres"],
        costs="\n".join(_line(_KINDS[kind], one) for kind, one in cost.items()),
        idle_statements=_figure(_values(results, "W9", "statements_per_s")),
        short="\n".join(_row(rate, short, slots=False) for rate in _RATES),
        long="\n".join(_row(rate, long, slots=True) for rate in _RATES),
        long_ms=_figure(long["postgres"]),
        cores_there=_CORES,
        share=f"{_SHARE:.0%}".rstrip("%"),
        busy=_figure(busy),
        one_short=_count(one_short),
        one_long=_count(one_long),
        commits_short=_count(one_short * short["commits"]),
        wal_one=_size(max(one_short * short["wal"], one_long * long["wal"])),
        broker=_figure(max(one["valkey"] for one in cost.values())),
        many_short=_parts(one_short),
        many_long=_parts(one_long),
        slots_all=_count(_RATES[-1] * _SLOT_SECONDS),
    )


def _lines(results: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Measurements of a workload that passed their check; of several sizes the first."""
    found = [line for line in results["lines"] if line["workload"] == kind and line["ok"]]
    return [line for line in found if line["size"] == found[0]["size"]]


def _values(results: Mapping[str, Any], kind: str, key: str) -> float:
    return median(line[key] for line in _lines(results, kind))


def _cost(results: Mapping[str, Any], kind: str) -> dict[str, float]:
    """Of one step; CPU in milliseconds."""
    made = {
        "statements": _values(results, kind, "statements_per_step"),
        "commits": _values(results, kind, "commits_per_step"),
        "wal": _values(results, kind, "wal_bytes_per_step"),
    }
    for part in ("postgres", "worker", "valkey"):
        made[part] = median(line["cpu_s"][part] / line["steps"] * 1000 for line in _lines(results, kind))
    return made


def _line(told: str, cost: Mapping[str, float]) -> str:
    figures = [_figure(cost[key]) for key in ("statements", "commits", "wal", "postgres", "worker", "valkey")]
    return f"| {told} | {' | '.join(figures)} |"


def _row(rate: int, cost: Mapping[str, float], *, slots: bool) -> str:
    cells = [
        f"{rate:,}",
        _figure(rate * cost["postgres"] / 1000),
        _count(rate * cost["commits"]),
        f"{_size(rate * cost['wal'])}/s, {_size(rate * cost['wal'] * 86400)} a day",
        _figure(rate * cost["worker"] / 1000),
    ]
    if slots:
        cells += [_count(rate * _SLOT_SECONDS), _count(2 * rate * _SLOT_SECONDS)]
    return f"| {' | '.join(cells)} |"


def _parts(of_one: float) -> str:
    return f"{-int(-_RATES[-1] // of_one):,}"


def _figure(value: float) -> str:
    """Two digits that mean something."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _count(value: float) -> str:
    """Two digits, and zeros."""
    digits = max(0, len(f"{value:.0f}") - 2)
    return f"{round(value / 10**digits) * 10**digits:,}"


def _size(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{_figure(count / size)} {unit}"
    return f"{_figure(count / 1e3)} kB"


if __name__ == "__main__":
    Path(__file__).with_name("scaling.md").write_text(page())
