"""Ended runs as a coordinator tells them in traces: each once, whatever becomes of others, and without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import text

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.errors import Unreachable
from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store.db import Database
from orchestrator.store.traces import load_untold
from orchestrator.tracing.attempts import Attempts
from orchestrator.tracing.runs import Runs
from orchestrator.tracing.spans import Otel
from tests.documents import document, step
from tests.hands import Hands
from tests.watching import wait_for_horizon

SECRET = {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}
CARD = "1234-5678"


class Told:
    """Spans of a coordinator and a worker, in memory."""

    def __init__(self, db: Database) -> None:
        self.hands = Hands(db)
        self._kept = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        otel = Otel(provider)
        self.runs, self.attempts = Runs(otel, db), Attempts(otel, db, "worker")
        self.runs.tell()  # it begins to look
        charge = step("charge", function="fail", input={"message": "{{ input.card }} declined"})
        register(self.hands.engine, document(charge, name="order", input_schema=SECRET))

    def fail(self) -> str:
        run_id = start(self.hands.engine, "order", {"card": CARD}).run_id
        tick(self.hands.engine)
        self.hands.work()
        wait_for_horizon(self.hands.db)
        return run_id

    def ids(self) -> list[Any]:
        return [dict(span.attributes or {}).get("orchestrator.run_id") for span in self._kept.get_finished_spans()]

    def words(self) -> str:
        return "".join(span.to_json() for span in self._kept.get_finished_spans())


@pytest.fixture
def told(db: Database) -> Told:
    return Told(db)


def test_a_failure_is_told_without_the_secret_fields_that_it_echoes(told: Told) -> None:
    told.fail()
    assert told.runs.tell() == 1
    assert ("*** declined" in told.words(), CARD in told.words()) == (True, False)


def test_an_attempt_is_told_without_them_too_and_without_words_while_nobody_knows_them(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(told.hands.engine, "order", {"card": CARD})
    tick(told.hands.engine)
    (claimed,) = told.hands.claim()
    plan = told.hands.engine.plan(claimed.revision_id)
    error = ErrorInfo("ValueError", f"{CARD} declined", f"File pay.py\n{CARD} declined")
    told.attempts.refused(claimed, plan.at(claimed.position).step, Outcome.failed(error))
    assert told.words().count("*** declined") == 3
    assert CARD not in told.words()

    with pytest.raises(ValueError, match=CARD), told.attempts.here(claimed.run_id, "own", 1):
        raise ValueError(f"{CARD} declined")
    assert (told.words().count("*** declined"), CARD in told.words()) == (6, False)
    spans, known = len(told.ids()), told.words().count("declined")

    def away(*_: Any) -> None:
        raise Unreachable("not now")

    monkeypatch.setattr("orchestrator.tracing.attempts.load_secrets", away)
    told.attempts.refused(claimed, plan.at(claimed.position).step, Outcome.failed(error))
    assert (len(told.ids()), told.words().count("declined")) == (spans + 1, known)


def test_a_run_that_cannot_be_told_keeps_no_other_from_it_and_an_outage_none_at_all(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, away, last = told.fail(), told.fail(), told.fail()

    def load(conn: Any, run_id: str, since: Any) -> Any:
        if run_id == broken:
            raise ValueError("what is this?")
        if run_id == away:
            raise Unreachable("Postgres is away")
        return load_untold(conn, run_id, since)

    with monkeypatch.context() as patched:
        patched.setattr("orchestrator.tracing.runs.load_untold", load)
        with pytest.raises(Unreachable):
            told.runs.tell()
    assert told.ids() == []
    told.runs.tell()
    assert told.ids() == [away, last]


def test_what_an_imported_run_brings_along_is_not_told_again(told: Told) -> None:
    run_id = told.fail()
    with told.hands.db.transaction() as conn:
        conn.execute(text("INSERT INTO run_events (run_id, kind) VALUES (:id, 'run.imported')"), {"id": run_id})
    told.runs.tell()
    assert told.ids() == []
