"""Failed runs: each is counted once, those of a workflow are told together, and that they recovered."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.alerts import lines_of, title_of
from orchestrator.errors import NotFound
from orchestrator.services.alert_message import message_of
from orchestrator.services.alert_rules import pause_rule, resume_rule
from orchestrator.services.apps import set_app
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from orchestrator.store.horizon import move
from tests.alerting import Alarms, said
from tests.documents import document, step
from tests.hands import Hands, together

BROKEN = {"now": True}


def _pay(**_: Any) -> str:
    if BROKEN["now"]:
        raise ValueError("card was declined\nand more")
    return "paid"


@pytest.fixture
def hands(db: Database) -> Hands:
    BROKEN["now"] = True
    hands = Hands(db, {"pay": _pay})
    register(hands.engine, document(step("charge", function="pay"), name="order"))
    register(hands.engine, document(step("fine"), name="calm"))
    return hands


@pytest.fixture
def alarms(hands: Hands) -> Alarms:
    return Alarms(hands)


def _fail(hands: Hands, many: int = 1, **options: Any) -> list[str]:
    ids = [one.run_id for one in start_many(hands.engine, "order", [{}] * many, StartOptions(**options))]
    _finish(hands)
    return ids


def _finish(hands: Hands) -> None:
    tick(hands.engine)
    hands.work()


_FAIL = """
WITH ended AS (
  UPDATE workflow_runs SET status = 'failed', final_status = 'failed', finished_at = orchestrator_now(),
    error = '{"type": "ValueError", "message": "no luck", "step": "charge"}'
  WHERE id = ANY(CAST(:ids AS uuid[])) RETURNING id
) INSERT INTO run_events (run_id, kind) SELECT id, 'run.failed' FROM ended
"""


def test_a_failed_run_is_told_once_with_where_why_and_what_to_do(hands: Hands, alarms: Alarms) -> None:
    _fail(hands)  # before anybody asked
    alarms.rule(severity="critical")
    assert alarms.look() == []
    (run_id,) = _fail(hands)
    (message,) = alarms.look()
    assert title_of(message) == "[critical] 1 run of 'order' failed"
    where, *_, next = lines_of(message)
    assert where == f"step 'charge': ValueError: card was declined - run {run_id}"
    assert next == f"What to do: `orchestrator show {run_id}`; or `orchestrator retry {run_id}`"
    assert alarms.look() == []
    start(hands.engine, "calm")
    _finish(hands)
    assert alarms.look() == []


def test_a_thousand_failures_are_one_message_whoever_looks(hands: Hands, alarms: Alarms) -> None:
    """Three coordinators look while they fail."""
    alarms.rule(group_seconds=60)
    *ids, last = (one.run_id for one in start_many(hands.engine, "order", [{}] * 1001))
    for some in (ids, [last]):
        with hands.db.transaction() as conn:
            conn.execute(text(_FAIL), {"ids": some})
        assert together([lambda n=n: alarms.look(n) for n in range(3)]) == [[], [], []]  # type: ignore[misc]
    alarms.look()
    alarms.pass_time(seconds=61)
    together([lambda n=n: alarms.look(n) for n in range(3)])  # type: ignore[misc]
    (row,) = alarms.rows()
    assert title_of(row.message) == "[warning] 1,001 runs of 'order' failed"
    assert [cause["count"] for cause in row.message["causes"]] == [1000]  # so many are kept by their ids


def test_what_fails_after_that_is_told_after_the_repeat_interval_with_what_is_new(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(repeat_seconds=600)
    _fail(hands, 2)
    assert said(alarms.look()) == [("run_failed", "firing", 2)]
    _fail(hands, 3)
    assert alarms.look() == []
    alarms.pass_time(seconds=601)
    (message,) = alarms.look()
    assert (message["count"], message["total"]) == (3, 5)
    alarms.pass_time(seconds=601)
    assert alarms.look() == []
    assert [one.outcome for one in alarms.alerts()] == ["quiet"]
    _fail(hands)
    assert said(alarms.look()) == [("run_failed", "firing", 1)]


def test_failed_runs_that_were_retried_and_succeeded_are_told_once_all_have(hands: Hands, alarms: Alarms) -> None:
    alarms.rule()
    first, second = _fail(hands, 2)
    alarms.look()
    BROKEN["now"] = False
    for run_id, ended in ((first, []), (second, [("run_failed", "resolved", 2)])):
        retry(hands.engine, run_id)
        assert alarms.look() == []
        _finish(hands)
        assert said(alarms.look()) == ended
    assert "have succeeded since" in title_of(alarms.rows()[-1].message)
    assert alarms.look() == []


def test_who_was_told_nothing_is_not_told_that_it_is_over(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(group_seconds=60)
    alarms.rule("no-resolved", resolved=False)
    (run_id,) = _fail(hands)
    alarms.look()
    BROKEN["now"] = False
    retry(hands.engine, run_id)
    _finish(hands)
    alarms.pass_time(seconds=61)
    assert alarms.look() == []
    assert [one.outcome for one in alarms.alerts()] == ["resolved", "resolved"]


def test_nothing_is_told_of_canceled_runs_unless_asked(hands: Hands, alarms: Alarms) -> None:
    alarms.rule()
    cancel(hands.engine, start(hands.engine, "order").run_id)
    assert alarms.look() == []
    alarms.rule("canceled", kinds=["run_canceled"])
    cancel(hands.engine, start(hands.engine, "order").run_id)
    assert said(alarms.look()) == [("run_canceled", "firing", 1)]


def test_a_rule_is_about_the_runs_its_filters_fit(hands: Hands, alarms: Alarms) -> None:
    set_app(hands.db, "other")
    for name, given in {
        "app": {"app": "default"},
        "all": {"app": "*"},
        "other": {"app": "other"},
        "workflow": {"workflow": "ORDER"},
        "elsewhere": {"workflow": "calm"},
        "tags": {"tags": ["vip"]},
        "more tags": {"tags": ["vip", "eu"]},
        "late": {"kinds": ["run_late"]},
    }.items():
        alarms.rule(name, **given)
    _fail(hands, tags=("vip",))
    assert sorted(message["rule"] for message in alarms.look()) == ["all", "app", "tags", "workflow"]


def test_a_child_is_told_with_its_parent_unless_a_rule_names_its_workflow(hands: Hands, alarms: Alarms) -> None:
    register(hands.engine, document({"name": "sub", "workflow": "order"}, name="parent"))
    alarms.rule("all")
    alarms.rule("named", workflow="order")
    start(hands.engine, "parent")
    _finish(hands)
    assert sorted((one["rule"], one["workflow"]) for one in alarms.look()) == [("all", "parent"), ("named", "order")]


def test_a_paused_rule_tells_nothing_of_its_pause(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(group_seconds=60)
    _fail(hands)
    alarms.look()
    pause_rule(hands.engine, "on-call")
    alarms.pass_time(seconds=61)
    _fail(hands)
    assert alarms.look() == []
    resume_rule(hands.engine, "on-call")
    assert alarms.look() == []
    alarms.rule()
    _fail(hands)
    assert said(alarms.look()) == [("run_failed", "firing", 1)]
    with pytest.raises(NotFound, match="did you mean 'on-call'"):
        pause_rule(hands.engine, "on-cal")


def test_rules_are_looked_by_as_they_are_when_the_look_begins_and_new_ones_too(
    hands: Hands, alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is made, and a run fails, between two statements of a look; another waits to be paused until it is over."""
    alarms.rule("first")

    def meanwhile(*args: Any) -> Any:
        with hands.db.transaction() as conn:
            locked = "SELECT FROM alert_rules WHERE name = 'first' FOR UPDATE SKIP LOCKED"
            assert conn.execute(text(locked)).first() is None
        alarms.rule("second")
        _fail(hands)
        return move(*args)

    with monkeypatch.context() as patched:
        patched.setattr("orchestrator.services.watch_alerts.move", meanwhile)
        assert sorted(message["rule"] for message in alarms.look()) == ["first", "second"]


def test_what_an_imported_run_brings_along_is_told_to_nobody(hands: Hands, alarms: Alarms) -> None:
    alarms.rule()
    (run_id,) = _fail(hands)
    with hands.db.transaction() as conn:
        conn.execute(text("INSERT INTO run_events (run_id, kind) VALUES (:id, 'run.imported')"), {"id": run_id})
    assert alarms.look() == []
    retry(hands.engine, run_id)
    _finish(hands)
    assert said(alarms.look()) == [("run_failed", "firing", 1)]


def test_a_failure_of_a_transaction_that_ends_late_is_not_missed(hands: Hands, alarms: Alarms) -> None:
    """It began before others that were looked at already."""
    alarms.rule()
    first, second = (one.run_id for one in start_many(hands.engine, "order", [{}, {}]))
    with hands.db.engine.connect() as slow, slow.begin():
        slow.execute(text(_FAIL), {"ids": [first]})
        with hands.db.transaction() as conn:
            conn.execute(text(_FAIL), {"ids": [second]})
        told = alarms.look() + alarms.look()
        assert said(told) == [("run_failed", "firing", 1)]
        assert told[0]["causes"][0]["run_id"] == second
    for _ in range(2):
        alarms.look()
        (alert,) = alarms.alerts()
        assert alert.total == 2


def test_a_look_that_is_not_committed_is_made_again(
    hands: Hands, alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator that dies in the middle has moved nothing on."""
    alarms.rule()
    _fail(hands)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("orchestrator.services.watch_alerts.alert_deliveries.add", die)
        with pytest.raises(KeyboardInterrupt):
            alarms.look()
    assert said(alarms.look()) == [("run_failed", "firing", 1)]


def test_an_alert_that_cannot_be_told_keeps_no_other_from_being_told(
    hands: Hands, alarms: Alarms, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    alarms.rule("broken")
    alarms.rule("well")
    (run_id,) = _fail(hands)

    def some_are_broken(engine: Any, conn: Any, rule: Any, *rest: Any) -> dict[str, Any]:
        if rule.name == "broken":
            conn.execute(text("SELECT 1 / 0"))
        return message_of(engine, conn, rule, *rest)

    def look() -> list[tuple[str, str]]:
        return [(message["rule"], message["state"]) for message in alarms.look()]

    for state in ("firing", "resolved"):
        if state == "resolved":
            BROKEN["now"] = False
            retry(hands.engine, run_id)
            _finish(hands)
        with monkeypatch.context() as patched:
            patched.setattr("orchestrator.services.watch_alerts.message_of", some_are_broken)
            assert look() == [("well", state)]
        assert "could not be told; it is tried again" in caplog.text
        assert look() == [("broken", state)]
