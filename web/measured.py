"""What workers and coordinators have counted, as metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

from orchestrator.services.tally import BOUNDS
from orchestrator.store.measured import Measure

_OF_QUEUE = ("queue",)
# Of a histogram: its name here and in the tally, what its label is called, and what it tells.
_HISTOGRAMS: Sequence[tuple[str, str, tuple[str, ...], str]] = (
    ("dispatch_send", "sent", (), "How long steps were ready before their message was sent."),
    ("dispatch_fetch", "fetched", (), "How long messages were on their way before a worker had their step."),
    (
        "dispatch",
        "begun",
        _OF_QUEUE,
        "How long steps were ready before a worker had them, by message or without one; those with which it goes on at"
        " once, as the step before them ends, are not among them.",
    ),
    ("settle", "settle", (), "How long storing the outcomes of attempts took, with what follows from them."),
    ("broker_send", "broker", (), "How long sending messages to the broker took workers and coordinators."),
    ("tick", "tick", (), "How long ticks of the coordinators took."),
    ("schedule_late", "fire", (), "How late schedules fired."),
)
_WAYS = ("message", "taken", "continued")


def of_processes(measured: Sequence[Measure]) -> Iterator[Metric]:
    """All of them, also those of which nothing was counted yet."""
    found: dict[str, list[Measure]] = {}
    for measure in measured:
        found.setdefault(measure.name, []).append(measure)
    for name, kept, labels, told in _HISTOGRAMS:
        yield _histogram(f"orchestrator_{name}_seconds", kept, labels, told, found)
    yield _histogram("orchestrator_settle_steps", "settled", (), "How many attempts were settled together.", found)
    claims = CounterMetricFamily("orchestrator_claims", _CLAIMS, labels=("queue", "way"))
    for way in _WAYS:
        for measure in found.get(f"claims.{way}", ()):
            claims.add_metric([measure.label, way], measure.total)
    yield claims
    yield _counter(
        "resends", "resent", _OF_QUEUE, "Messages that were sent again: lost, or not fetched for long.", found
    )
    yield _counter("reclaims", "reclaimed", ("why",), _RECLAIMS, found)
    yield _counter("turns", "turns", (), "Turns of code-first workflows: how often a function was replayed.", found)


_CLAIMS = (
    "Steps and items that workers have taken: by their message, with others of their kind, or as the step before them"
    " ended."
)
_RECLAIMS = (
    "Attempts of steps and items taken back: their lease ran out, their pool process died, or they outlived their"
    " timeout and its grace."
)


def _histogram(name: str, kept: str, labels: tuple[str, ...], told: str, found: dict[str, list[Measure]]) -> Metric:
    family = HistogramMetricFamily(name, told, labels=labels)
    bounds = [*(str(bound) for bound in BOUNDS[kept]), "+Inf"]
    for measure in found.get(kept, ()):
        if len(measure.counts) == len(bounds):  # else a release with other buckets has counted it
            buckets = list(zip(bounds, map(float, accumulate(measure.counts)), strict=True))
            family.add_metric([measure.label] if labels else [], buckets, measure.total)
    made: Metric = family
    return made


def _counter(name: str, kept: str, labels: tuple[str, ...], told: str, found: dict[str, list[Measure]]) -> Metric:
    family = CounterMetricFamily(f"orchestrator_{name}", told, labels=labels)
    for measure in found.get(kept, ()):
        family.add_metric([measure.label] if labels else [], measure.total)
    made: Metric = family
    return made
