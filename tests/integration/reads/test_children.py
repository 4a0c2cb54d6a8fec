"""What views show of runs that steps of others have started."""

from __future__ import annotations

import json

import pytest

from orchestrator.services.cancel import cancel
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, get_brief, get_run, get_step, list_family, list_runs, list_steps
from tests.documents import document, step
from tests.families import below, children_of, column, levels, only_child, start_family
from tests.hands import Hands, audited


def test_a_step_shows_its_child_and_a_run_its_parent(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    for claimed in hands.claim():
        hands.settle(claimed)
    child = only_child(hands, run_id)
    with db.transaction() as conn:
        brief, shown, view = get_brief(conn, run_id, "down"), get_step(conn, run_id, "down"), get_run(conn, child)
    assert brief.child == {"run_id": child, "workflow": "low", "status": "running"}
    assert (brief.wait or {})["run_id"] == shown["child_run_id"] == child
    assert {key: view[key] for key in ("parent_run_id", "root_id", "depth", "parent_step")} == {
        "parent_run_id": run_id,
        "root_id": run_id,
        "depth": 1,
        "parent_step": "down",
    }


def test_the_latest_child_is_shown_of_a_step_that_has_started_several(db: Database) -> None:
    hands = Hands(db)
    parent = document(below("down", "low", retry={"max_attempts": 2}), name="top")
    run_id = start_family(hands, parent, document(step("a", function="fail"), name="low"))
    hands.work()
    with db.transaction() as conn:
        (shown,) = list_steps(conn, run_id).items
        runs = list_runs(conn, RunFilters(children_of=run_id)).items
    assert [run["id"] for run in runs] == list(reversed(children_of(hands, run_id)))
    assert (len(runs), shown["child_run_id"]) == (2, runs[0]["id"])


def test_runs_that_no_step_started_can_be_listed_alone(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "middle", "low"))
    hands.work()
    with db.transaction() as conn:
        assert [run["id"] for run in list_runs(conn, RunFilters(roots_only=True)).items] == [run_id]
        assert len(list_runs(conn, RunFilters()).items) == 3


def test_a_family_is_listed_with_each_run_behind_its_parent(db: Database) -> None:
    hands = Hands(db)
    fan = document(below("one", "middle"), below("two", "middle"), name="top")
    run_id = start_family(hands, fan, *levels("middle", "low"))
    hands.work()
    with db.transaction() as conn:
        family, more = list_family(conn, run_id, 10)
        some, many = list_family(conn, run_id, 3)
    assert [(run["level"], run["workflow"], run["step"]) for run in family] == [
        (0, "top", None),
        (1, "middle", family[1]["step"]),
        (2, "low", "down"),
        (1, "middle", family[3]["step"]),
        (2, "low", "down"),
    ]
    assert (more, some, many) == (False, family[:3], True)
    assert json.dumps(family)


def test_what_the_childs_schema_holds_secret_is_hidden_in_the_steps_output(db: Database) -> None:
    hands = Hands(db)
    secret = {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}}
    leaf = {"name": "leaf", "pass": True, "input": {"token": "hunter22"}}
    child = document(leaf, name="low", output="{{ steps.leaf.output }}", output_schema=secret)
    run_id = start_family(hands, levels("top", "low")[0], child)
    hands.work()
    with db.transaction() as conn:
        assert get_step(conn, run_id, "down")["output"] == {"token": "***"}
    assert hands.steps(run_id)["down"]["output"] == {"token": "hunter22"}


@pytest.mark.parametrize(("name", "found"), [("low", []), ("lwo", ["steps[0].workflow"]), ("{{ input.x }}", [])])
def test_a_sub_workflow_that_is_not_registered_is_a_warning(db: Database, name: str, found: list[str]) -> None:
    hands = Hands(db)
    register(hands.engine, levels("low")[0])
    registered = register(hands.engine, document(below("down", name), name="top"))
    assert [problem.path for problem in registered.warnings] == found


def test_a_child_is_in_the_audit_log_with_who_acted_on_its_parent(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    for claimed in hands.claim():
        hands.settle(claimed)
    cancel(hands.engine, run_id, actor="ada")
    with db.transaction() as conn:
        told = audited(conn, "cancel")
    assert told[1][:2] == (f"parent run {run_id}", only_child(hands, run_id))
    assert column(hands, only_child(hands, run_id), "cancel_reason") == "its parent was canceled"


def test_a_group_is_warned_by_the_names_of_its_apps_too(db: Database) -> None:
    hands = Hands(db)
    registered = register(hands.engine, document(below("down", "low"), name="top"), group="team")
    assert [problem.message for problem in registered.warnings] == ["there is no workflow 'low' yet"]
    register(hands.engine, levels("low")[0], group="team")
    again = register(hands.engine, document(below("down", "low"), name="top", version="2"), group="team")
    assert again.warnings == ()
    register(hands.engine, document(step("a"), name="plain"))
    assert start(hands.engine, "plain").created
