"""Writes docs/metrics.md from web/measures.py: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import Histogram

from orchestrator.store.reads.metrics import Gauges
from web.measured import of_processes
from web.measures import measures
from web.metrics import new_histogram

PAGE = """\
# Metrics

`GET /metrics` of the web process is for Prometheus. The tables are made from the code by `make docs`.

A scrape sends a token of all apps, of any role. With `ORCHESTRATOR_METRICS_OPEN=true` anybody may read: names of
workflows, queues and pools are among what is told.

```yaml
scrape_configs:
  - job_name: orchestrator
    authorization: {{credentials_file: /etc/prometheus/orchestrator.token}}
    static_configs: [{{targets: ["orchestrator.example:8000"]}}]
```

`docs/grafana/orchestrator.json` is a dashboard over them, to be imported into Grafana, and
`docs/prometheus/alerts.yaml` has rules to alert by, whose limits are to be made one's own.

## All of the installation

{told}

## Of workers and coordinators

{processes}

## Of the web process

{own}

## What they cost, and how exact they are

- What Postgres tells is read at most once in five seconds by one process, whoever scrapes; every web process tells
  the same, so take the maximum over instances, not the sum.
- Gauges look at live rows only, by partial indexes, never at the history. Each count stops at 100,000 (steps that
  wait for a pool: 10,000), and a queue with more ready steps tells the oldest of those it has looked at. Pools and
  queues are the first 1,000 by name.
- Counters are counted from the history of runs, which is written anyway, at each scrape: each event exactly once, and
  what is counted is stored, so that a restart or the removal of old runs takes nothing away. They begin with the
  first scrape. If more than a million events come while nobody scrapes, they are left out. An event is counted once
  no transaction that began before it is open any more: one that stays open delays the counters of all.
- Fire times are counted on their schedules; what a deleted one has counted is kept. Where more than a thousand of a
  cron expression were passed over in a row, a thousand are counted.
- What only workers and coordinators know they count in their memory and add to the database every ten seconds and as
  they stop; one that is killed takes what it had since. No process needs a port of its own, a pool process that dies
  takes no series away, and every web process tells the same: take the maximum of the rates, not the sum. Of each name
  300 queues are told apart; what comes with others is under `(other)`.
- Items of steps with `with_items` are not among the counted attempts: their history is in their attempts.
- With several web processes on one address (`WEB_CONCURRENCY`) each tells its own requests; scrape them apart, or use
  one process with more threads.
"""
_NOTHING = Gauges({}, 0, 0, [], [], {}, None, datetime(2026, 1, 1, tzinfo=UTC))


def page() -> str:
    """The whole page."""
    told, processes = list(_told()), [_row(family) for family in of_processes(())]
    told = [row for row in told if row not in processes]
    return PAGE.format(told=_table(told), processes=_table(processes), own=_table([_of_histogram(new_histogram(None))]))


def _told() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    for family in measures("", 0.0, _NOTHING, ()):
        yield _row(family)


def _row(family: Any) -> tuple[str, str, tuple[str, ...], str]:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return name, family.type, tuple(family._labelnames), family.documentation


def _of_histogram(made: Histogram) -> tuple[str, str, tuple[str, ...], str]:
    return made._name, "histogram", tuple(made._labelnames), made._documentation


def _table(rows: Iterator[tuple[str, str, tuple[str, ...], str]] | list[tuple[str, str, tuple[str, ...], str]]) -> str:
    lines = ["| metric | kind | labels | tells |", "|---|---|---|---|"]
    for name, kind, labels, told in rows:
        lines.append(f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    Path(__file__).with_name("metrics.md").write_text(page())
