"""Schedules whose runs fail, or cannot be started."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestrator.errors import Troubled
from orchestrator.services import fire_schedules
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Engine
from orchestrator.services.fire_now import fire_now
from orchestrator.services.fire_schedules import each
from orchestrator.services.schedules import pause_schedule, resume_schedule, set_schedule
from orchestrator.services.unregister import unregister
from orchestrator.store.reads.schedules import get_schedule
from tests.documents import document, fail, step
from tests.hands import audited
from tests.scheduling import scheduled


def test_after_so_many_failures_in_a_row_it_is_paused_until_a_person_resumes_it() -> None:
    with scheduled({"ok": fail}, max_failures=3) as it:
        for _ in range(5):
            it.wait(60)
            it.work()
        assert it.statuses() == ["failed"] * 3
        view = it.view()
        assert (view["paused"], view["paused_by"], view["pause_reason"]) == (True, "engine", "3 runs in a row failed")
        assert (view["next_fire_at"], view["next_fires"]) == (None, [])
        assert audited(it.box.connection, "pause_schedule") == [("engine", "s", "3 runs in a row failed")]
        resume_schedule(it.engine, "s", actor="ann")
        assert it.view()["failures_in_row"] == 0
        assert it.fires()[-1] == ("4:00", "passed", "paused")
        it.wait(60)
        assert len(it.runs()) == 4


def test_a_success_between_failures_counts_anew() -> None:
    ends = iter([True, False, True, True])

    def sometimes() -> None:
        if next(ends):
            fail()

    with scheduled({"ok": sometimes}, max_failures=2) as it:
        for _ in range(4):
            it.wait(60)
            it.work()
        assert it.statuses() == ["failed", "failed", "succeeded", "failed"]
        assert it.view()["paused"]


def test_one_that_cannot_start_its_run_tells_so_and_stops_no_other() -> None:
    with scheduled(max_failures=2) as it:
        it.box.register(document(step("a"), name="other"))
        set_schedule(it.engine, "t", {"workflow": "other", "interval_seconds": 60, "overlap": "allow"})
        unregister(it.engine, "w", force=True)
        it.wait(60)
        view = it.view()
        assert view["error"] == "app 'default' has no workflow 'w'"
        assert it.fires() == [("1:00", "refused", 1)]
        it.wait(60)
        assert it.view()["pause_reason"] == "2 runs in a row failed"
        assert get_schedule(it.box.connection, "t")["counts"]["started"] == 2


def test_what_the_database_cannot_do_for_one_now_stops_no_other() -> None:
    fired: list[str] = []

    def act(engine: Engine, id: str) -> frozenset[str]:
        if id == "slow":
            raise Troubled("a statement timeout")
        fired.append(id)
        return frozenset({"default"})

    with scheduled() as it:
        assert each(it.engine, ["slow", "next"], act) == {"default"}
    assert fired == ["next"]


def test_an_input_that_fits_no_more_is_told_with_its_place() -> None:
    with scheduled(input={"n": 1}) as it:
        schema = {"type": "object", "properties": {"n": {"type": "string"}}}
        it.box.register(document(step("a"), input_schema=schema))
        it.wait(60)
        assert "input.n" in it.view()["error"]
        it.box.register(document(step("a")))
        it.wait(60)
        assert it.view()["error"] is None, "once a run was started it is forgotten"


def test_a_paused_schedule_fires_by_hand_only() -> None:
    with scheduled(overlap="queue") as it:
        pause_schedule(it.engine, "s", reason="lunch", actor="ann")
        it.wait(300)
        assert it.runs() == []
        assert fire_now(it.engine, "s", actor="ann").run_id == it.runs()[0]["id"]
        assert fire_now(it.engine, "s", actor="ann", force=True).run_id is not None
        assert fire_now(it.engine, "s", actor="ann", force=False).run_id is None, "it waits for those that are open"
        it.work()
        assert it.statuses() == ["succeeded"] * 2, "and for the schedule, which is paused"
        resume_schedule(it.engine, "s", actor="ann")
        tick(it.engine)
        it.work()
        assert it.statuses() == ["succeeded"] * 3
        acts = [audited(it.box.connection, f"{verb}_schedule") for verb in ("pause", "fire", "resume")]
        assert [len(one) for one in acts] == [1, 3, 1]
        assert acts[0] == [("ann", "s", "lunch")]


def test_when_they_take_too_long_no_more_is_begun_than_the_other_duties_can_wait_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fired: list[str] = []

    def act(engine: Engine, id: str) -> frozenset[str]:
        fired.append(id)
        monkeypatch.setattr(fire_schedules, "time", SimpleNamespace(monotonic=lambda: float("inf")))
        return frozenset({"default"})

    with scheduled() as it:
        assert each(it.engine, ["one", "next"], act) == {"default"}
    assert fired == ["one"]
