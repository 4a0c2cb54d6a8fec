"""Attempts settled one at a time by the link, by the function for many, and by the rules: the same rows, always."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services import settle_all as settling
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.services.start import start
from orchestrator.store import batch
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from tests.documents import Document, document, on, step
from tests.hands import LEASE, Hands
from tests.support import soaked

FAILED = Outcome.failed(ErrorInfo("ValueError", "no", classes=("ValueError",)), final=True)
DONE = Outcome.succeeded(1, "1")
ENDS = (*["success"] * 5, "complete", "complete", "failure", "skipped")
KEYS: Sequence[dict[str, Any]] = (
    *[{}] * 8,
    {"queue": "other"},
    {"when": "false"},
    {"publish": {"v": "{{ result }}"}},
    {"with_items": [1, 2]},
    {"on_error": "continue"},
    {"on_error": "ignore"},
    {"priority": 9},
    {"join": "any"},
    {"on_unreachable": "fail"},
    {"retry": {"max_attempts": 2}},
    {"trigger_rule": "all_success"},
)


def _document(choose: random.Random) -> Document:
    """Mostly chains, for these are what the link is for."""
    names = "abcdefg"[: choose.randint(2, 7)]
    steps = [step(names[0])]
    for place, name in enumerate(names[1:], 1):
        keys = choose.choice(KEYS)
        sources = {names[place - 1]} | ({choose.choice(names[:place])} if choose.random() < 0.3 else set())
        edges = sorted(sources) if "trigger_rule" in keys else [on(one, choose.choice(ENDS)) for one in sorted(sources)]
        steps.append(step(name, **keys, depends_on=edges))
    handlers: dict[str, Any] = choose.choice([{}, {}, {"on_finish": {"function": "ok"}}, {"output": "{{ vars }}"}])
    return document(*steps, failure_mode=choose.choice(["run_on", "drain", "cancel"]), **handlers)


# What is taken away: nothing, the link, both functions.
WAYS: Sequence[tuple[Any, str] | None] = (None, (batch, "_settle_link"), (settling, "_success"))


@contextmanager
def _without(patch: pytest.MonkeyPatch, way: tuple[Any, str] | None) -> Iterator[None]:
    with patch.context() as within:
        if way is not None:
            within.setattr(*way, lambda *_: None)
        yield


class _Three:
    """The same run three times, each settled in its own way."""

    def __init__(self, hands: Hands, made: Document, patch: pytest.MonkeyPatch) -> None:
        self.hands, self.patch = hands, patch
        name = register(hands.engine, made, actor="test").workflow
        self.runs = [start(hands.engine, name, None).run_id for _ in WAYS]
        self.held: dict[tuple[str, int], Claimed] = {}
        self.names = [one["name"] for one in made["steps"]]

    def take_all(self) -> None:
        tick(self.hands.engine)
        for one in self.hands.claim():
            self._keep(one)

    def _keep(self, one: Claimed) -> None:
        self.held[one.run_id, one.position] = one

    def finish(self, place: int, outcome: Outcome, *, take: bool) -> None:
        """End the attempt at this place in all runs."""
        told = []
        for run_id, way in zip(self.runs, WAYS, strict=True):
            claimed = self.held.pop((run_id, place))
            expands = self.hands.engine.plan(claimed.revision_id).at(place).step.with_items is not None
            made = self.hands.perform(claimed) if expands else Done(claimed, outcome, "{}")
            wanted = Take(LEASE, claimed.queue, 1, (), True, more=0) if take else None  # nothing of the other runs
            with _without(self.patch, way):
                settled = settle_all(self.hands.engine, [made], wanted)
            for one in settled.next:
                self._keep(one)
            told.append((sorted(one.position for one in settled.next), settled.queues, len(settled.stale)))
            dispatch(self.hands.engine, settled.queues)
        assert told[0] == told[1] == told[2]

    @property
    def places(self) -> list[int]:
        """Those at which all three have an attempt; it is the same in each."""
        found = [{place for run, place in self.held if run == run_id} for run_id in self.runs]
        assert found[0] == found[1] == found[2]
        return sorted(found[0])

    def act(self, act: Callable[[str], Any]) -> None:
        told = []
        for run_id in self.runs:
            try:
                act(run_id)
                told.append("done")
            except Conflict as refused:
                told.append(str(refused))
        assert told[0] == told[1] == told[2]

    def rows(self, run_id: str) -> list[Any]:
        found = text("""
SELECT s.position, s.name, s.status, s.reason, s.queue, s.attempt, s.output::text, s.input::text, s.error ->> 'message',
  s.source_count, s.remaining_sources, s.satisfied_sources, s.failed_sources, s.upstream_failed_sources,
  s.skipped_sources, s.edge_errors, s.edge_truth::text, s.ready_at IS NULL, s.queued_at IS NULL, s.started_at IS NULL,
  s.finished_at IS NULL, s.claim_token IS NULL, s.lease_expires_at IS NULL, s.worker_id, s.held_at IS NULL,
  s.max_attempts, s.items::text, r.status, r.final_status, r.halting, r.output::text, r.error ->> 'message',
  r.vars::text
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id WHERE r.id = :id ORDER BY s.position""")
        with self.hands.db.transaction() as conn:
            return [tuple(row) for row in conn.execute(found, {"id": run_id})]

    def check(self) -> None:
        first, *others = [self.rows(run_id) for run_id in self.runs]
        for other in others:
            assert other == first


def _act(engine: Engine, choose: random.Random, name: str) -> Callable[[str], Any]:
    of_runs: list[Callable[[str], Any]] = [partial(verb, engine) for verb in (pause, resume, resume, cancel, retry)]
    of_steps: Sequence[Callable[[str], Any]] = (
        lambda run_id: hold(engine, run_id, name),
        lambda run_id: release(engine, run_id, name),
        lambda run_id: mark(engine, run_id, name, StepStatus.SKIPPED),
    )
    return choose.choice([*of_runs, *of_steps])


@pytest.mark.parametrize("seed", range(soaked(5, 200)))
def test_one_by_one_in_every_way(module_db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    choose = random.Random(seed)
    hands = Hands(module_db)
    three, engine = _Three(hands, _document(choose), monkeypatch), hands.engine
    for _ in range(25):
        if choose.random() < 0.25:
            three.act(_act(engine, choose, choose.choice(three.names)))
        elif three.places:
            place, takes = choose.choice(three.places), choose.random() < 0.5
            three.finish(place, FAILED if choose.random() < 0.15 else DONE, take=takes)
        if choose.random() < 0.7:
            three.take_all()
        three.check()
