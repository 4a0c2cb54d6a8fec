"""A rerun is a new run: of the same input or another, of the same revision or another."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.ids import new_id
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.reads import get_run
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step
from tests.hands import audited

SCHEMA = {"properties": {"n": {"type": "integer", "default": 3}}, "required": ["n"]}
WORKFLOW = document(step("a", input={"n": "{{ input.n }}"}), input_schema=SCHEMA, tags=["eu"])


def view(box: Sandbox, run_id: str) -> dict[str, Any]:
    return get_run(box.connection, run_id)


def test_it_is_a_new_run_with_the_same_input_revision_app_and_tags() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW, {"n": 5}, StartOptions(tags=["night"], idempotency_key="k"))
        box.drive(run_id)
        register(box.engine, WORKFLOW | {"label": "newer", "tags": ["us"]})
        before = box.result(run_id)
        made = rerun(box.engine, run_id, reason="once more", actor="ada")
        box.drive(made.run_id)
        first, second = view(box, run_id), view(box, made.run_id)
        same = ("workflow", "revision", "app", "input", "tags", "status", "output", "depth", "parent_run_id")
        assert {key: first[key] for key in same} == {key: second[key] for key in same}
        assert (second["rerun_of"], second["root_id"], first["rerun_of"]) == (run_id, made.run_id, None)
        assert (made.kept, made.failing) == (0, ())
        after = box.result(run_id)
        assert (after.status, after.steps) == (before.status, before.steps)
        assert audited(box.connection, "rerun") == [("ada", run_id, "once more")]
        (event,) = [e for e in after.events if e["kind"] == "run.rerun"]
        assert event["data"]["run"] == made.run_id


def test_the_latest_revision_has_its_own_tags_and_checks_the_input() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW, {"n": 5}, StartOptions(tags=["night"]))
        register(box.engine, WORKFLOW | {"tags": ["us"]})
        made = rerun(box.engine, run_id, revision="latest")
        shown = view(box, made.run_id)
        assert (shown["revision"], shown["tags"]) == (2, ["us", "night"])
        register(box.engine, WORKFLOW | {"input_schema": {"properties": {"n": {"type": "string"}}}})
        with pytest.raises(InvalidInput, match="n"):
            rerun(box.engine, run_id, revision="latest")
        assert view(box, rerun(box.engine, run_id, revision=2).run_id)["revision"] == 2
        assert box.connection.scalar(text("SELECT count(*) FROM workflow_runs")) == 3


def test_another_input_takes_the_place_of_the_runs_own() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW, {"n": 5})
        assert view(box, rerun(box.engine, run_id, input={"n": 6}).run_id)["input"] == {"n": 6}
        assert view(box, rerun(box.engine, run_id, input={}).run_id)["input"] == {"n": 3}
        with pytest.raises(InvalidInput, match="n"):
            rerun(box.engine, run_id, input={"n": "six"})


def test_a_run_in_any_state_is_rerun_and_the_variables_begin_anew() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        a = step("a", input={"n": "{{ vars.n }}"}, publish={"n": 7})
        run_id = box.start(document(a, vars={"n": "{{ input.n }}"}), {"n": 1})
        running = rerun(box.engine, run_id).run_id
        box.drive(running)
        ended = rerun(box.engine, running).run_id
        box.drive(ended)
        assert box.result(ended).steps["a"].output == {"n": 1}
        assert view(box, ended)["rerun_of"] == running


def test_what_is_not_there_is_told() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        with pytest.raises(NotFound, match="workflow 'w' has no revision 7: its latest is 1"):
            rerun(box.engine, run_id, revision=7)
        with pytest.raises(NotFound, match="there is no run"):
            rerun(box.engine, new_id())
        with pytest.raises(Conflict, match="the run is running: only a run that is over"):
            rerun(box.engine, run_id, from_steps=["a"])
