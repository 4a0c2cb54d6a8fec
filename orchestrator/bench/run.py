"""The whole of a bench: servers, every workload in every round, the peers, and all of it as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.bench.facts import read_facts
from orchestrator.bench.fill import fill
from orchestrator.bench.idle import measure_idle
from orchestrator.bench.measure import Line, measure_graph
from orchestrator.bench.meter import wait_quiet
from orchestrator.bench.pace import additions_per_second
from orchestrator.bench.scratch import Scratch, scratch_servers
from orchestrator.bench.slots import BESIDE_SLOTS, BUSY_SLOTS, measure_beside, measure_use
from orchestrator.bench.stage import Stage, staged
from orchestrator.bench.starts import measure_starts
from orchestrator.bench.suite import WORKLOADS, Suite
from orchestrator.bench.workloads import FILLED, graph_workload
from orchestrator.config import Config
from orchestrator.up.stops import signals_interrupt

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure. `sets` as `workloads.chosen` gives them; `patience`: seconds to wait for a quiet machine."""

    sets: Sequence[Sequence[tuple[str, str]]]
    rounds: int
    slots: Sequence[int]
    old_rows: int
    waiting_rows: int
    patience: float
    suite: Suite | None = None

    def of(self, *names: str) -> list[tuple[str, str]]:
        """Those of the workloads that have one of these names."""
        return [(name, size) for one in self.sets for name, size in one if name in names]


def run_bench(
    wanted: Wanted, config: Config, tell: Tell, keep: Callable[[Mapping[str, Any]], object]
) -> dict[str, Any]:
    """Measure; the content of results.json. Ctrl-C, SIGTERM and SIGHUP raise `KeyboardInterrupt` and leave nothing.

    `keep` is told what was measured of us before the peers are, so that a suite that fails takes none of it along, and
    in the end all of it. Raises `OrchestratorError` for such a suite.
    """
    with signals_interrupt():
        results = _measure(wanted, config, tell)
        keep(results)
        if wanted.suite is not None:
            results["peers"] = [line for one in wanted.sets for line in _peers(wanted.suite, one, tell)]
            keep(results)
    return results


def _measure(wanted: Wanted, config: Config, tell: Tell) -> dict[str, Any]:
    tell("starting servers")
    with scratch_servers() as scratch:
        facts = read_facts(scratch, config) | {"rounds": wanted.rounds, "slots": list(wanted.slots)}
        if wanted.of(*FILLED):
            old_rows = wanted.old_rows if wanted.of("W7") else 0
            fill(scratch, config, old_rows, wanted.waiting_rows, tell)
            facts |= {"old_rows": old_rows, "waiting_rows": wanted.waiting_rows}
        session = _Session(scratch, config, wanted, tell)
        lines = [line for number in range(wanted.rounds) for line in session.round(number)]
    return {"facts": facts, "lines": lines, "peers": []}


def _peers(suite: Suite, wanted: Sequence[tuple[str, str]], tell: Tell) -> list[Line]:
    known = [(name, size) for name, size in wanted if name in WORKLOADS]
    return suite.run(known, tell) if known else []


@dataclass(frozen=True, slots=True)
class _Session:
    """Rounds over the same servers; worker and beat are new for each part of a round."""

    scratch: Scratch
    config: Config
    wanted: Wanted
    tell: Tell

    def round(self, number: int) -> Iterator[Line]:
        """All workloads once."""
        for line in self._lines():
            told = line | {"round": number}
            self.tell(f"round {number + 1}: {summary(told)}")
            yield told

    def _lines(self) -> Iterator[Line]:
        for slots in self.wanted.slots:
            yield from self._graphs(slots)
        yield from self._starts()
        yield from self._slots()
        yield from self._filled()

    def _graphs(self, slots: int) -> Iterator[Line]:
        wanted = self.wanted.of("W1", "W2", "W3", "W4", "W5", "W6")
        if not wanted:
            return
        with staged(self.scratch, self.config, self.scratch.urls.database_url, slots) as stage:
            for name, size in wanted:
                self._wait(stage)
                yield _named(name, size, stage, measure_graph(stage, graph_workload(name, size)))

    def _starts(self) -> Iterator[Line]:
        for name, size in self.wanted.of("W8"):
            url, slots = self.scratch.urls.database_url, self.wanted.slots[0]
            with staged(self.scratch, self.config, url, slots, web=True) as stage:
                self._wait(stage)
                yield _named(name, size, stage, measure_starts(stage, size))

    def _slots(self) -> Iterator[Line]:
        for name, size in self.wanted.of("W10"):
            with staged(self.scratch, self.config, self.scratch.urls.database_url, BESIDE_SLOTS) as stage:
                self._wait(stage)
                beside = measure_beside(stage)
            with staged(self.scratch, self.config, self.scratch.urls.database_url, BUSY_SLOTS) as stage:
                self._wait(stage)
                use = measure_use(stage, size)
            both = {"p99_queue_ms": beside["p99_queue_ms"], "faults": use["faults"] + beside["faults"]}
            yield _named(name, size, stage, use | both)

    def _filled(self) -> Iterator[Line]:
        url = self.scratch.filled_url
        for name, size in self.wanted.of("W7"):
            empty, _ = self._fresh(name, size, self.scratch.urls.database_url)
            line, stage = self._fresh(name, size, url)
            told = {"empty_steps_per_s": empty["steps_per_s"], "faults": line["faults"] + empty["faults"]}
            yield _named(name, size, stage, line | told)
        for name, size in self.wanted.of("W9"):
            with staged(self.scratch, self.config, url, self.wanted.slots[0], web=True) as stage:
                self._wait(stage)
                yield _named(name, size, stage, measure_idle(stage, size))

    def _fresh(self, name: str, size: str, url: str) -> tuple[Line, Stage]:
        """Of processes that have done nothing else: what is compared must be alike, and a warm worker is faster."""
        with staged(self.scratch, self.config, url, self.wanted.slots[0]) as stage:
            self._wait(stage)
            return measure_graph(stage, graph_workload(name, size)), stage

    def _wait(self, stage: Stage) -> None:
        wait_quiet(stage.roots.values(), self.wanted.patience)


def _named(name: str, size: str, stage: Stage, line: Line) -> Line:
    pace = {"additions_m_per_s": round(additions_per_second() / 1e6, 1)}
    return {"workload": name, "size": size, "slots": stage.slots, "ok": not line["faults"], **line, **pace}


def summary(line: Line) -> str:
    """A line in a few words."""
    figures = [
        f"{line[key]:g} {words}"
        for key, words in (
            ("starts_per_s", "starts/s"),
            ("statements_per_s", "statements/s"),
            ("use_percent", "% of the slots' time"),
            ("steps_per_s", "steps/s"),
        )
        if key in line
    ]
    said = [f"{line['workload']} {line['size']}, {line['slots']} slots: {figures[0]}", *line["faults"]]
    return "; ".join(said)
