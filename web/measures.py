"""The metrics by name: what each tells, and of what it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from orchestrator.domain.alerts import Severity
from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL
from orchestrator.store.measured import Measure
from orchestrator.store.reads.metrics import Gauges
from web.measured import of_processes

Counts = Sequence[Any]  # rows of store/counts.py
_OF_RUN = ("app", "workflow")


def measures(
    version: str, spent: float, gauges: Gauges | None, counts: Counts, measured: Sequence[Measure] = ()
) -> Iterator[Metric]:
    """All that the database tells; `gauges` None: it could not be read."""
    yield _gauge("orchestrator_info", "The version of the web process, as a label.", ("version",), [((version,), 1)])
    yield _gauge("orchestrator_database_up", "Whether Postgres could be read.", (), [((), int(gauges is not None))])
    yield _gauge("orchestrator_read_seconds", "How long reading it took.", (), [((), spent)])
    if gauges is not None:
        yield from _runs(gauges, counts)
        yield from _steps(gauges, counts)
        yield from _queues(gauges)
        yield from _pools(gauges)
        yield from _schedules(gauges, counts)
        yield from _alerts(gauges)
        yield from _processes(gauges)
        yield from of_processes(measured)


def _runs(gauges: Gauges, counts: Counts) -> Iterator[Metric]:
    opened = [((status,), gauges.open_runs.get(status, 0)) for status in sorted(RUN_OPEN)]
    yield _gauge("orchestrator_runs_open", "Runs that have not ended, by status.", ("status",), opened)
    yield _counter("orchestrator_runs_started", "Runs that were started.", _OF_RUN, _of("run.started", counts))
    finished = [
        ((*labels, str(status)), count)
        for status in sorted(RUN_TERMINAL)
        for labels, count in _of(f"run.{status}", counts)
    ]
    yield _counter("orchestrator_runs_finished", "Runs that have ended, by how.", (*_OF_RUN, "status"), finished)


def _steps(gauges: Gauges, counts: Counts) -> Iterator[Metric]:
    for name, kind, told in (
        ("failures", "step.failed", "Steps that have failed for good."),
        ("retries", "step.retry", "Attempts of steps that failed and are made again."),
        (
            "losses",
            "step.lost",
            "Attempts of steps that were taken back from a worker that fell silent, and made again.",
        ),
    ):
        yield _counter(f"orchestrator_step_{name}", told, _OF_RUN, _of(kind, counts))
    yield _gauge("orchestrator_steps_retrying", "Steps that wait for their next attempt.", (), [((), gauges.retrying)])
    told = "Steps that wait without a worker: for a child run, an event, a person, a time."
    yield _gauge("orchestrator_steps_waiting", told, (), [((), gauges.waiting)])


def _queues(gauges: Gauges) -> Iterator[Metric]:
    live = [((q["name"], status), q[status]) for q in gauges.queues for status in ("ready", "queued", "running")]
    yield _gauge("orchestrator_queue_steps", "Steps of a queue, by status.", ("queue", "status"), live)
    ages = [((q["name"],), _age(q["oldest"], gauges.now)) for q in gauges.queues]
    told = "How long the first of the ready steps of a queue waits; 0 when none does."
    yield _gauge("orchestrator_queue_oldest_ready_seconds", told, ("queue",), ages)
    for name, told in (
        ("workers", "Workers that take from a queue."),
        ("slots", "How many steps the workers of a queue run side by side."),
    ):
        yield _gauge(f"orchestrator_queue_{name}", told, ("queue",), [((q["name"],), q[name]) for q in gauges.queues])


def _pools(gauges: Gauges) -> Iterator[Metric]:
    for name, key, told in (
        ("slots", "slots", "Slots of a pool."),
        ("slots_taken", "taken", "Slots of a pool that steps hold."),
        ("steps_waiting", "waiting", "Steps that wait for slots of a pool."),
    ):
        yield _gauge(f"orchestrator_pool_{name}", told, ("pool",), [((p["name"],), p[key]) for p in gauges.pools])


def _schedules(gauges: Gauges, counts: Counts) -> Iterator[Metric]:
    standing = [((name,), gauges.schedules.get(name, 0)) for name in ("active", "failing", "late", "paused")]
    told = "Schedules that are so; late: due more than a minute ago; failing: whose last run failed or could not start."
    yield _gauge("orchestrator_schedules", told, ("standing",), standing)
    fires: dict[tuple[str, ...], float] = {}
    for row in (*counts, *gauges.fires):  # those of schedules that were deleted, and of those there are
        kind, _, result = row.name.partition(".")
        if kind == "schedule":
            labels = (row.app, row.workflow, result)
            fires[labels] = fires.get(labels, 0.0) + row.counted
    told = "Fire times of schedules, by what came of them: started, skipped, missed, failed to start."
    yield _counter("orchestrator_schedule_fires", told, (*_OF_RUN, "result"), sorted(fires.items()))


def _alerts(gauges: Gauges) -> Iterator[Metric]:
    open_ones = [((str(severity),), gauges.alerts.get(severity, 0)) for severity in Severity]
    yield _gauge("orchestrator_alerts_open", "Alerts that last, by severity.", ("severity",), open_ones)
    waiting = [((name,), gauges.deliveries.get(name, 0)) for name in ("failing", "waiting")]
    told = "Messages of alerts on their way (waiting), and those of them whose last attempt failed (failing)."
    yield _gauge("orchestrator_alert_messages", told, ("state",), waiting)


def _processes(gauges: Gauges) -> Iterator[Metric]:
    alive = [((kind,), gauges.alive.get(kind, 0)) for kind in ("beat", "worker")]
    yield _gauge("orchestrator_processes", "Processes seen within 30 seconds, by kind.", ("kind",), alive)
    told = "Coordinators that hear at once of what is ready without a broker; the others hear at their next tick."
    yield _gauge("orchestrator_coordinators_listening", told, (), [((), gauges.listening)])
    known = [] if gauges.coordinator_age is None else [((), gauges.coordinator_age)]
    told = "How long ago a coordinator said, after a tick, that it lives, which each does every few seconds."
    yield _gauge("orchestrator_coordinator_age_seconds", told, (), known)


def _of(kind: str, counts: Counts) -> list[tuple[tuple[str, ...], float]]:
    return [((row.app, row.workflow), float(row.counted)) for row in counts if row.name == kind]


def _age(oldest: str | None, now: datetime) -> float:
    return 0.0 if oldest is None else max(0.0, (now - datetime.fromisoformat(oldest)).total_seconds())


Samples = Sequence[tuple[tuple[str, ...], float]]


def _gauge(name: str, told: str, labels: Sequence[str], samples: Samples) -> Metric:
    return _family(GaugeMetricFamily, name, told, labels, samples)


def _counter(name: str, told: str, labels: Sequence[str], samples: Samples) -> Metric:
    return _family(CounterMetricFamily, name, told, labels, samples)


def _family(kind: Callable[..., Any], name: str, told: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = kind(name, told, labels=labels)
    for values, value in samples:
        family.add_metric(list(values), value)
    made: Metric = family
    return made
