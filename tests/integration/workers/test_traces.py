"""Traces of runs, as a collector gets them from real workers and coordinators."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from orchestrator.domain.tracing import attempt_span, run_span, trace_of
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.start import start
from tests.integration.workers.collector import Collector, Told, collecting
from tests.integration.workers.fleet import Fleet
from tests.processes import unused_port
from tests.support import wait_for

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def collector(fleet: Fleet) -> Iterator[Collector]:
    with collecting() as found:
        fleet.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{found.port}"
        fleet.environment["OTEL_BSP_SCHEDULE_DELAY"] = "200"
        fleet.environment["ORCHESTRATOR_FUNCTIONS"] = "tests.integration.workers.steps,tests.integration.workers.traced"
        yield found


def steps(fleet: Fleet) -> list[dict[str, object]]:
    retry = {"max_attempts": 2, "delay": 0.1}
    two = [{"name": "m", "other": "n"}, {"name": "n", "other": "m"}]
    return [
        {"name": "a", "function": "x.inner"},
        {
            "name": "fan",
            "function": "x.meet",
            "with_items": two,
            "input": {"folder": str(fleet.folder), "name": "{{ item.name }}", "other": "{{ item.other }}"},
            "depends_on": ["a"],
        },
        {"name": "flaky", "function": "x.flaky", "retry": retry, "depends_on": ["fan"]},
        {"name": "kid", "workflow": "kid", "depends_on": ["flaky"]},
        {"name": "code", "workflow": "coded", "depends_on": ["kid"]},
        {
            "name": "bad",
            "function": "t.add",
            "input": {"a": "{{ 1 / 0 }}"},
            "on_error": "ignore",
            "depends_on": ["kid"],
        },
    ]


TREE = {
    "run parent": {
        "step a": {"inner": {}},
        "step fan": {"step fan": {}, "step fan #2": {}},
        "step flaky": {},
        "step flaky #2": {},
        "step kid": {"run kid": {"step k": {}}},
        "step code": {"run coded": {"step charge": {}, "step called": {"inner": {}}, "step sleep": {}}},
        "step bad": {},
    }
}


def size(tree: dict[str, Any]) -> int:
    """How many spans it has."""
    return sum(1 + size(below) for below in tree.values())


def start_below(fleet: Fleet, name: str) -> str:
    """Start a run as code does that is traced."""
    above = SpanContext(int(TRACE, 16), int(CALLER, 16), is_remote=False, trace_flags=TraceFlags(1))
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(above)))
    try:
        return start(fleet.engine, name).run_id
    finally:
        context.detach(token)


def test_a_trace_follows_a_run_through_its_workers(fleet: Fleet, collector: Collector) -> None:
    workers = [fleet.worker(concurrency=1, LEASE_SECONDS="60") for _ in range(2)]
    beat = fleet.beat()
    register(fleet.engine, {"name": "kid", "steps": [{"name": "k", "function": "t.add", "input": {"a": 1}}]})
    register(fleet.engine, {"name": "parent", "steps": steps(fleet)})
    wait_for(lambda: fleet.rows("SELECT FROM workflows WHERE name = 'coded'"), what="the worker's workflows")
    wait_for(lambda: fleet.rows("SELECT FROM trace_mark"), what="the coordinator looks at what ends")
    run_id = start_below(fleet, "parent")
    assert fleet.ended(run_id)["status"] == "succeeded"
    wait_for(lambda: len(collector.of(TRACE)) >= size(TREE), 100, what="all of it is told")
    for process in (*workers, beat):
        assert process.stop() == 0
    spans = collector.of(TRACE)
    assert collector.tree(TRACE, CALLER) == TREE
    assert len({span.id for span in spans}) == len(spans), "nothing is told twice"

    def named(name: str) -> list[Told]:
        return sorted((span for span in spans if span.name == name), key=lambda span: span.began)

    (run,), first, (again, once_more) = named("run parent"), named("step a")[0], named("step flaky")
    assert (run["run_id"], run["status"], run["workflow"], run["app"]) == (run_id, "succeeded", "parent", "default")
    assert run.began <= first.began <= first.ended <= run.ended
    assert (first["attempt"], first["function"], first["outcome"]) == (1, "x.inner", "succeeded")
    assert (first.attributes["shop.order"], first.service) == (7, "orchestrator")
    assert first["waited_seconds"] >= 0
    assert (again.failed, again["attempt"], once_more.failed, once_more["attempt"]) == (True, 1, False, 2)
    assert again.events[0]["exception.type"] == "ValueError"
    assert "not at first" in again.events[0]["exception.stacktrace"]
    (bad,) = named("step bad")
    assert (bad.failed, bad.events[0]["exception.type"]) == (True, "ExpressionError")
    items = [span for span in named("step fan") if span["item"] is not None]
    assert {span["item"] for span in items} == {0, 1}
    assert len({span["worker"] for span in items}) == 2
    assert (run.id, first.id) == (run_span(run_id), attempt_span(first["step_id"], 1))


def test_a_run_that_nobody_traced_has_a_trace_of_its_own_and_what_a_killed_worker_did_is_told(
    fleet: Fleet, collector: Collector
) -> None:
    worker, beat = fleet.worker(concurrency=1, LEASE_SECONDS="60"), fleet.beat()
    wait_for(lambda: fleet.rows("SELECT FROM trace_mark"), what="the coordinator looks at what ends")
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    run_id = fleet.start([{"name": "s", "function": "t.first_hangs", "input": given}])
    os.kill(fleet.wait_event("start")["pid"], signal.SIGKILL)
    fleet.ended(run_id)
    fleet.raise_flag("go")
    repeated = rerun(fleet.engine, run_id).run_id
    fleet.ended(repeated)
    wait_for(lambda: sum(span.name.startswith("run ") for span in collector.spans) == 2, 100, what="the runs are told")
    wait_for(lambda: len(collector.of(trace_of(run_id, None))) >= 3, what="the second attempt is told")
    assert (worker.stop(), beat.stop()) == (0, 0)
    mine = collector.of(trace_of(run_id, None))
    assert [
        (s.name.split(" ")[0], s["attempt"], s["outcome"], s.failed) for s in sorted(mine, key=lambda s: s.began)
    ] == [
        ("run", None, None, False),
        ("step", 1, "lost", True),
        ("step", 2, "succeeded", False),
    ]
    (other,) = [span for span in collector.of(trace_of(repeated, None)) if span.name.startswith("run ")]
    assert (other.parent, other.links) == ("", [run_span(run_id)])


def test_a_trace_is_told_if_its_caller_keeps_it_and_else_as_the_sampler_says(
    fleet: Fleet, collector: Collector
) -> None:
    fleet.environment["OTEL_TRACES_SAMPLER"] = "parentbased_always_off"
    worker = fleet.worker("threads", concurrency=2)
    register(fleet.engine, {"name": "one", "steps": [{"name": "a", "function": "x.inner"}]})
    fleet.ended(start(fleet.engine, "one").run_id)
    fleet.ended(start_below(fleet, "one"))
    wait_for(lambda: len(collector.spans) >= 2, what="the step is told")
    assert worker.stop() == 0
    assert [span.name for span in collector.spans] == ["inner", "step a"], "only the trace that its caller keeps"


def test_a_collector_that_is_away_costs_no_step_its_lines_and_no_worker_its_end(fleet: Fleet) -> None:
    fleet.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{unused_port()}"
    fleet.environment["OTEL_BSP_SCHEDULE_DELAY"] = "50"
    # One after the other, each of them for seconds: it has trouble for as long as the test takes.
    fleet.environment["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] = "1"
    items = {"name": "a", "function": "t.add", "with_items": "{{ range(20) | list }}", "input": {"a": "{{ item }}"}}
    worker = fleet.worker(concurrency=1)
    fleet.ended(fleet.start([items]))
    run_id = fleet.start([{"name": "b", "function": "t.talk", "input": {"word": "one", "file": fleet.flag("go")}}])
    wait_for(lambda: fleet.rows("SELECT FROM workflow_run_steps WHERE name = 'b' AND status = 'running'"))
    told = worker.said().count("Transient error")
    wait_for(lambda: worker.said().count("Transient error") > told, what="the exporter tells its trouble again")
    fleet.raise_flag("go")
    fleet.ended(run_id)
    assert worker.stop() == 0
    lines = fleet.rows("SELECT message FROM step_logs WHERE run_id = :run", run=run_id)
    assert len(lines) == 6
    assert [line for (line,) in lines if "Transient" in line] == []
