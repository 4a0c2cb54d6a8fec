"""A bulk finds first, acts run by run, and leaves one entry a run in the audit log under one id."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.domain.states import RunStatus
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.services import bulk
from orchestrator.services.bulk import ACTS, Acted, Found, Verb
from orchestrator.services.pause import pause
from orchestrator.store.reads import RunFilters, list_audit
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step

ONE, FAILS = document(step("a"), name="one"), document(step("a", function="fail"), name="fails")


def act(box: Sandbox, found: Found, **options: Any) -> list[Acted]:
    return list(bulk.each(found.ids, partial(ACTS[found.verb], box.engine, bulk_id=found.bulk_id, **options)))


def test_it_finds_the_runs_the_verb_is_meant_for_and_does_nothing_to_them() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        made = [box.start(ONE) for _ in range(7)]
        box.step()
        pause(box.engine, made[1])
        for verb, ids in (
            (Verb.CANCEL, made[1:]),
            (Verb.PAUSE, made[2:]),
            (Verb.RESUME, [made[1]]),
            (Verb.RETRY, []),
            (Verb.RERUN, [made[0]]),
        ):
            found = bulk.find(box.engine.db, verb, RunFilters(workflow="one"))
            assert list(found.ids) == ids[::-1]
            assert [view["id"] for view in found.first] == ids[::-1][:5]
        found = bulk.find(box.engine.db, Verb.CANCEL, RunFilters(workflow="one"))
        assert found.counts == {"paused": 1, "running": 5}
        everything = bulk.find(box.engine.db, Verb.CANCEL, RunFilters(workflow="one", statuses=tuple(RunStatus)))
        assert len(everything.ids) == 7
        assert list_audit(box.connection).items[0]["action"] == "pause"


def test_it_acts_on_each_under_one_id_and_one_that_refuses_stops_no_other() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        made = [box.start(ONE) for _ in range(3)]
        found = bulk.find(box.engine.db, Verb.CANCEL, RunFilters(workflow="one"))
        box.step(lambda waiting: 1)
        acted = act(box, found, reason="wrong price", actor="ada")
        assert [(one.run_id, one.error) for one in acted] == [
            (made[2], None),
            (made[1], "the run is succeeded: it cannot be canceled"),
            (made[0], None),
        ]
        entries = list_audit(box.connection, bulk_id=found.bulk_id).items
        assert [(e["action"], e["target_id"], e["actor"], e["reason"]) for e in entries] == [
            ("cancel", run_id, "ada", "wrong price") for run_id in (made[0], made[2])
        ]
        assert list_audit(box.connection, made[0], bulk_id=found.bulk_id).items == entries[:1]


def test_runs_that_came_after_it_looked_are_left_alone() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        first = box.start(FAILS)
        box.drive(first)
        found = bulk.find(box.engine.db, Verb.RERUN, RunFilters(workflow="fails", error="LUCK"))
        (acted,) = act(box, found)
        assert acted.run_id == first
        box.drive(acted.given.run_id)
        assert len(bulk.find(box.engine.db, Verb.RERUN, RunFilters(workflow="fails")).ids) == 2


def test_more_runs_than_a_page_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_PAGE", 2)
    with testing.sandbox(FUNCTIONS) as box:
        made = [box.start(ONE) for _ in range(4)]
        assert list(bulk.find(box.engine.db, Verb.PAUSE, RunFilters(workflow="one")).ids) == made[::-1]


def test_without_a_filter_or_with_an_unknown_name_nothing_is_found() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        with pytest.raises(InvalidInput, match="at least one filter"):
            bulk.find(box.engine.db, Verb.CANCEL, RunFilters())
        with pytest.raises(NotFound, match="there is no workflow 'two'"):
            bulk.find(box.engine.db, Verb.CANCEL, RunFilters(workflow="two"))
