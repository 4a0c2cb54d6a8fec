"""What is made ready without a broker at hand is dispatched at once, by a coordinator that listens to Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from orchestrator.services.register import register
from orchestrator.services.ring import Ring
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.store.db import Database, connect_alone
from orchestrator.store.notify import Ear
from orchestrator.transport import NullTransport
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for

_LONG = 30.0  # for what comes at once
_NEVER = 0.05  # for what does not come


@pytest.fixture
def hands(module_db: Database) -> Hands:
    """An engine without a broker."""
    hands = Hands(module_db)
    hands.engine = replace(hands.engine, transport=NullTransport(), ring=Ring(clock=iter(range(1000)).__next__))
    register(hands.engine, document(step("a", function="fail")))
    return hands


@pytest.fixture
def ear(module_db: Database) -> Iterator[Ear]:
    url = module_db.engine.url.render_as_string(hide_password=False)
    made = Ear(partial(connect_alone, url, "ear"))
    yield made
    made.close()


def test_a_start_without_a_broker_is_told_and_its_steps_stay_ready(hands: Hands, ear: Ear) -> None:
    run_id = start(hands.engine, "w").run_id
    assert ear.wait(_LONG)
    assert hands.steps(run_id)["a"]["status"] == "ready"


def test_a_start_in_the_callers_transaction_is_told_with_its_commit_and_never_with_a_rollback(
    hands: Hands, ear: Ear
) -> None:
    for ends in ("rollback", "commit"):
        with hands.db.engine.connect() as conn:
            transaction = conn.begin()
            start(hands.engine, "w", connection=conn)
            assert not ear.wait(_NEVER)
            getattr(transaction, ends)()
        assert ear.wait(_LONG if ends == "commit" else _NEVER) == (ends == "commit")


def test_who_has_a_broker_tells_nobody(hands: Hands, ear: Ear) -> None:
    sends = replace(hands.engine, transport=hands.outbox)
    start(sends, "w")
    with hands.db.transaction() as conn:
        start(sends, "w", connection=conn)
    assert hands.outbox.take()
    assert not ear.wait(_NEVER)


def test_switched_off_nobody_is_told(hands: Hands, ear: Ear) -> None:
    silent = replace(hands.engine, ring=Ring(on=False))
    start(silent, "w")
    with hands.db.transaction() as conn:
        start(silent, "w", connection=conn)
    assert not ear.wait(_NEVER)


def test_a_burst_of_starts_is_told_a_few_times(hands: Hands, ear: Ear) -> None:
    """Commits that notify stand in line behind one lock."""
    times = iter([0.0, 0.01, 0.02, 0.06])
    hands.engine = replace(hands.engine, ring=Ring(clock=lambda: next(times)))
    start(hands.engine, "w")
    assert ear.wait(_LONG)
    for heard in (False, False, True):
        start(hands.engine, "w")
        assert ear.wait(_LONG if heard else _NEVER) == heard


def test_a_beat_that_listens_needs_no_tick(fleet: Fleet) -> None:
    """The next tick is in an hour: what begins before is heard. So is an operator's act."""
    client = replace(fleet.engine, transport=NullTransport(), ring=Ring())
    beat = fleet.beat(TICK_SECONDS="3600")
    fleet.worker()
    wait_for(lambda: "listening: what" in beat.said(), what="the beat listens")
    register(client, {"name": "told", "steps": [{"name": "a", "wait_for": {"event": "go"}}]})
    with client.db.transaction() as conn:
        run_id = start(client, "told", connection=conn).run_id
    wait_for(lambda: fleet.step(run_id, "a")["status"] == "waiting", what="the step has begun")
    signal(client, run_id, "go")
    assert fleet.ended(run_id)["status"] == "succeeded"
    (row,) = fleet.rows("SELECT listening FROM workers WHERE kind = 'beat'")
    assert row.listening is True


def test_a_listening_connection_that_is_cut_is_made_again(fleet: Fleet) -> None:
    beat = fleet.beat(TICK_SECONDS="0.1")
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'orchestrator-listen'" + (
        " AND datname = current_database()"
    )
    wait_for(lambda: "listening: what" in beat.said(), what="the beat listens")
    assert fleet.rows(cut)
    wait_for(lambda: beat.said().count("listening: what") == 2, what="it listens again")
    assert beat.said().count("not listening") == 1
    assert "Traceback" not in beat.said()


def test_switched_off_a_beat_only_ticks(fleet: Fleet) -> None:
    fleet.beat(NOTIFY="false")
    assert [row.listening for row in fleet.rows("SELECT listening FROM workers")] == [False]
