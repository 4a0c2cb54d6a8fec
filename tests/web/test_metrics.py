"""/metrics: what it tells, to whom, and that it counts each event once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Connection, text

from orchestrator.config import Config
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.roles import Role
from orchestrator.errors import Unreachable
from orchestrator.services import tally
from orchestrator.services.fire_now import fire_now
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.schedules import delete_schedule, pause_schedule, set_schedule
from orchestrator.services.tally import Tally
from orchestrator.services.tokens import create_token
from orchestrator.store import counts
from orchestrator.store.counts import count_events, read_counts
from orchestrator.store.db import Database
from orchestrator.store.measured import Measure
from orchestrator.store.workers import WorkerInfo, announce
from orchestrator.store.workflows import ensure_app
from tests.documents import document, step
from tests.hands import Hands
from tests.watching import wait_for_horizon
from web.app import create_app

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def hands(module_db: Database) -> Hands:
    return Hands(module_db)


@pytest.fixture
def open_client(orchestrator_module_database_url: str) -> Iterator[FlaskClient]:
    app = create_app(Config(database_url=orchestrator_module_database_url, secret_key="x" * 16, metrics_open=True))
    yield app.test_client()
    app.extensions["orchestrator.database"].close()


def scrape(client: FlaskClient) -> Samples:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def test_a_scrape_tells_how_things_stand_and_what_was_counted(
    hands: Hands, open_client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.metrics.SECONDS", 0.0)
    scrape(open_client)  # counting begins
    set_pool(hands.engine, "p", 1, actor="test")
    good = hands.start(document(step("a"), name="good"))
    hands.work()
    retried = step("a", function="fail", retry={"max_attempts": 2})
    hands.start(document(retried, name="bad"))
    hands.work()
    hands.start(document(step("a", pool="p"), step("b", pool="p"), name="pooled"))
    (claimed,) = hands.claim()
    assert hands.status(good) == "succeeded"
    wait_for_horizon(hands.db)
    with hands.db.transaction() as conn:  # now, for they count as alive for half a minute
        for kind in ("worker", "beat"):
            announce(conn, WorkerInfo(kind, kind, "here", 1, ("default",), 3, None, "1"))
    told = scrape(open_client)
    bad, in_default = {"app": "default", "workflow": "bad"}, {"queue": "default"}
    assert of(told, "orchestrator_runs_finished_total", status="succeeded", app="default", workflow="good") == 1
    assert of(told, "orchestrator_runs_finished_total", status="failed", **bad) == 1
    assert of(told, "orchestrator_runs_started_total", **bad) == 1
    assert of(told, "orchestrator_step_retries_total", **bad) == 1
    assert of(told, "orchestrator_step_failures_total", **bad) == 1
    assert of(told, "orchestrator_runs_open", status="running") == 1
    for status, steps in (("ready", 1), ("queued", 0), ("running", 1)):
        assert of(told, "orchestrator_queue_steps", status=status, **in_default) == steps
    assert of(told, "orchestrator_queue_oldest_ready_seconds", **in_default) >= 0
    assert (
        of(told, "orchestrator_queue_workers", **in_default),
        of(told, "orchestrator_queue_slots", **in_default),
    ) == (1, 3)
    in_pool = [of(told, f"orchestrator_pool_{n}", pool="p") for n in ("slots", "slots_taken", "steps_waiting")]
    assert in_pool == [1, 1, 1]
    assert [of(told, "orchestrator_processes", kind=kind) for kind in ("beat", "worker")] == [1, 1]
    assert of(told, "orchestrator_coordinator_age_seconds") >= 0
    assert of(told, "orchestrator_database_up") == 1
    hands.settle(claimed, Outcome.lost("the worker fell silent"))
    wait_for_horizon(hands.db)
    again = scrape(open_client)
    assert of(again, "orchestrator_step_losses_total", app="default", workflow="pooled") == 1
    kept = {key: value for key, value in told.items() if key[0].endswith("_total")}
    assert {key: again[key] for key in kept} == kept
    assert of(again, "orchestrator_web_request_seconds_count", method="GET", route="/metrics", status="200") >= 1


def test_what_processes_have_counted_is_added_up_by_the_database(
    hands: Hands, open_client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.metrics.SECONDS", 0.0)
    before = scrape(open_client)
    monkeypatch.setattr(tally, "MOST_LABELS", 2)
    for waits in ((0.004, 0.2), (4000.0,)):
        one = Tally()
        for wait in waits:
            one.observe("begun", wait, "first")
        for queue in ("first", "second", "third", "fourth"):
            one.count("claims.message", queue, 2)
        one.store(hands.db)
        one.store(hands.db)
    told = scrape(open_client)

    def buckets(le: str) -> float:
        return of(told, "orchestrator_dispatch_seconds_bucket", queue="first", le=le)

    assert [buckets(le) for le in ("0.005", "0.1", "0.25", "1800.0", "+Inf")] == [1, 1, 2, 2, 3]
    assert of(told, "orchestrator_dispatch_seconds_sum", queue="first") == pytest.approx(4000.204)
    claims = {q: of(told, "orchestrator_claims_total", queue=q, way="message") for q in ("first", "(other)")}
    assert claims == {"first": 4, "(other)": 8}
    assert ("orchestrator_turns_total", ()) not in before


def test_counts_that_could_not_be_stored_are_stored_later(hands: Hands, closed_port: int) -> None:
    one = Tally()
    one.observe("tick", 0.5)
    gone = Database.connect(f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", pool_size=1)
    with pytest.raises(Unreachable):
        one.store(gone)
    one.observe("tick", 0.25)
    assert one.take() == [Measure("tick", "", (0,) * 7 + (1, 1) + (0,) * 4, 0.75)]


def test_what_was_read_is_told_again_for_some_seconds(
    hands: Hands, open_client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.metrics.SECONDS", 60.0)
    first = of(scrape(open_client), "orchestrator_runs_open", status="pending")
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE workers SET stopped_at = now()"))
    alive = [of(scrape(open_client), "orchestrator_processes", kind="worker") for _ in range(2)]
    assert (first, alive[0]) == (0, alive[1])


def test_a_scrape_takes_a_token_of_all_apps_unless_it_is_open_to_all(
    module_db: Database, orchestrator_module_database_url: str
) -> None:
    app = create_app(Config(database_url=orchestrator_module_database_url, secret_key="x" * 16))
    with module_db.transaction() as conn:
        ensure_app(conn, "shop")
    tokens = [create_token(module_db, f"of {of_app}", Role.VIEWER, app=of_app).token for of_app in (None, "shop")]
    client = app.test_client()
    asked = [
        client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code for token in (*tokens, "x")
    ]
    assert asked == [200, 403, 401]
    nobody = client.get("/metrics")
    assert (nobody.status_code, nobody.headers["WWW-Authenticate"]) == (401, 'Bearer realm="orchestrator"')
    app.extensions["orchestrator.database"].close()


def test_without_a_database_a_scrape_says_so(closed_port: int) -> None:
    config = Config(database_url=f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", metrics_open=True)
    told = scrape(create_app(config).test_client())
    assert of(told, "orchestrator_database_up") == 0
    assert not [name for name, _ in told if name.startswith("orchestrator_runs")]


def test_a_request_is_measured_under_its_template_and_no_other_word_of_the_sender(open_client: FlaskClient) -> None:
    open_client.get("/api/v1/runs/some-id")
    open_client.open("/nothing", method="BREW")
    routes = {
        (labels["method"], labels["route"])
        for name, pairs in scrape(open_client)
        if name == "orchestrator_web_request_seconds_count" and (labels := dict(pairs))
    }
    assert ("GET", "/api/v1/runs/<run_id>") in routes
    assert ("other", "none") in routes


def told(conn: Connection, kind: str) -> None:
    conn.execute(text("INSERT INTO run_events (run_id, kind) VALUES (gen_random_uuid(), :kind)"), {"kind": kind})


def counted(db: Database, *, whole: bool = True) -> dict[str, int]:
    if whole:
        wait_for_horizon(db)
    with db.transaction() as conn:
        count_events(conn)
    with db.transaction() as conn:
        return {row.name: row.counted for row in read_counts(conn) if not row.app}


def test_an_event_is_counted_once_whenever_its_transaction_ends(db: Database) -> None:
    counted(db)
    with db.transaction() as first:
        told(first, "run.failed")
        with db.transaction() as second:
            told(second, "run.started")
            told(second, "run.admitted")  # which nobody counts
        for _ in range(3):
            assert counted(db, whole=False) == {}  # one that may come before it is still open
    for _ in range(3):
        assert counted(db) == {"run.failed": 1, "run.started": 1}
    with db.transaction() as conn:
        conn.begin_nested()
        told(conn, "run.failed")
    with db.transaction() as conn, conn.begin_nested() as undone:
        told(conn, "run.failed")
        undone.rollback()
    for _ in range(3):
        assert counted(db) == {"run.failed": 2, "run.started": 1}


def test_who_looks_while_another_counts_does_not_wait(db: Database) -> None:
    counted(db)
    with db.transaction() as conn:
        told(conn, "run.failed")
    with db.transaction() as conn:
        count_events(conn)
        assert counted(db, whole=False) == {}
    assert counted(db) == {"run.failed": 1}


def test_a_database_restored_elsewhere_and_a_long_absence_go_on_from_now(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(db)
    with db.transaction() as conn:
        conn.execute(text("UPDATE metric_mark SET counted_xid = counted_xid + 1000000000"))
        told(conn, "run.failed")
    assert counted(db) == {}
    with db.transaction() as conn:
        told(conn, "run.failed")
    assert counted(db) == {"run.failed": 1}
    monkeypatch.setattr(counts, "MOST_EVENTS", 0)
    with db.transaction() as conn:
        told(conn, "run.failed")
    assert counted(db) == {"run.failed": 1}
    monkeypatch.undo()
    with db.transaction() as conn:
        told(conn, "run.failed")
    assert counted(db) == {"run.failed": 2}


def test_schedules_are_counted_by_standing_and_their_fire_times_by_what_came_of_them(
    hands: Hands, open_client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.metrics.SECONDS", 0.0)
    register(hands.engine, document(step("a"), name="by clock"))
    for name in ("one", "two"):
        set_schedule(hands.engine, name, {"workflow": "by clock", "interval_seconds": 60})
        fire_now(hands.engine, name)
    pause_schedule(hands.engine, "one")
    samples = scrape(open_client)
    standing = {name: of(samples, "orchestrator_schedules", standing=name) for name in ("active", "paused", "late")}
    assert standing == {"active": 1, "paused": 1, "late": 0}
    fired = ("orchestrator_schedule_fires_total", {"app": "default", "workflow": "by clock", "result": "started"})
    assert of(samples, fired[0], **fired[1]) == 2
    delete_schedule(hands.engine, "one")
    assert of(scrape(open_client), fired[0], **fired[1]) == 2, "a counter never falls"
