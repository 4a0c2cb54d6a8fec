"""Revisions are immutable and numbered by the server; a workflow has one owner, and names ignore case."""

from __future__ import annotations

from functools import partial

import pytest

from orchestrator import testing
from orchestrator.domain.limits import Limits
from orchestrator.errors import InvalidDefinition, NotFound, OrchestratorError
from orchestrator.services.engine import Settings
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store import workflows
from orchestrator.store.db import Database
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands, announce, together


def saying(word: str, **keys: str) -> dict[str, object]:
    return document(step("a", input={"word": word}), **keys)


def said(box: Sandbox, name: str = "w", **options: object) -> str:
    run_id = start(box.engine, name, None, StartOptions(**options)).run_id  # type: ignore[arg-type]
    box.drive(run_id)
    return str(box.result(run_id).output["a"]["word"])


def test_the_same_document_twice_is_one_revision() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        first = register(box.engine, saying("x"))
        again = register(box.engine, dict(reversed(saying("x").items())))
        assert (first.revision, first.created) == (1, True)
        assert (again.revision, again.created, again.revision_id) == (1, False, first.revision_id)


def test_a_change_is_the_next_revision_and_going_back_is_one_more() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        numbers = [register(box.engine, saying(word)).revision for word in ("x", "y", "x")]
    assert numbers == [1, 2, 3]


def test_a_run_keeps_the_revision_it_was_started_with() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, document(step("a"), step("b", "a", input={"word": "old"})))
        run_id = start(box.engine, "w").run_id
        box.step()
        register(box.engine, document(step("a"), step("b", "a", input={"word": "new"})))
        box.drive(run_id)
        assert box.result(run_id).output == {"b": {"word": "old"}}


def test_the_latest_revision_is_started_unless_another_is_named() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, saying("old"))
        register(box.engine, saying("new"))
        assert said(box) == "new"
        assert said(box, revision=1) == "old"


def test_names_ignore_case_and_unicode_form() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        first = register(box.engine, saying("x") | {"name": "Café"})
        second = register(box.engine, saying("y") | {"name": "CAFE\u0301"})
        assert (first.revision, second.revision) == (1, 2)
        assert said(box, "café") == "y"


def test_an_apps_own_workflow_hides_its_groups() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        conn = box.connection
        member, other = workflows.ensure_app(conn, "member"), workflows.ensure_app(conn, "other")
        group = workflows.ensure_group(conn, "shop")
        workflows.join_group(conn, member, group)
        workflows.join_group(conn, other, group)
        register(box.engine, saying("the group's"), group="shop")
        register(box.engine, saying("the member's"), app="member")
        assert said(box, app="member") == "the member's"
        assert said(box, app="other") == "the group's"


def test_an_app_does_not_see_workflows_of_others() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        workflows.ensure_app(box.connection, "stranger")
        register(box.engine, saying("x"), app="owner")
        register(box.engine, saying("x") | {"name": "shared"}, group="shop")
        for name in ("w", "shared"):
            with pytest.raises(NotFound):
                start(box.engine, name, None, StartOptions(app="stranger"))


def test_a_workflow_has_exactly_one_owner() -> None:
    with testing.sandbox(FUNCTIONS) as box, pytest.raises(OrchestratorError, match="exactly one owner"):
        register(box.engine, saying("x"), app="a", group="g")


def test_an_invalid_document_stores_nothing() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        with pytest.raises(InvalidDefinition, match="circle: b -> a -> b"):
            register(box.engine, document(step("a", "b"), step("b", "a")))
        with pytest.raises(NotFound):
            start(box.engine, "w")


def test_a_function_is_warned_about_that_neither_a_worker_nor_this_process_knows() -> None:
    calls = document(step("a", function="ok"), step("b", function="told"), step("c", function="nowhere"))
    with testing.sandbox(FUNCTIONS) as box:
        assert register(box.engine, calls).warnings == (), "before a worker has announced any, all may be there"
        announce(box.connection, "told")
        again = register(box.engine, calls)
        assert [problem.path for problem in again.warnings] == ["steps[2].function"]
        assert not again.created


def test_a_document_past_the_configured_limits_is_refused() -> None:
    two = document(step("a"), step("b"))
    for limits, told in ((Limits(steps=1), "the limit is 1"), (Limits(document_bytes=50), "50 bytes")):
        settings = Settings(documents=limits)
        with testing.sandbox(FUNCTIONS, settings=settings) as box, pytest.raises(InvalidDefinition, match=told):
            register(box.engine, two)
    with testing.sandbox(FUNCTIONS, settings=Settings(documents=Limits(steps=2, document_bytes=200))) as box:
        assert register(box.engine, two).created


def test_a_document_larger_than_the_usual_limit_is_taken_where_it_may_be() -> None:
    large = document(step("a", label="x" * (1 << 20)))
    with testing.sandbox(FUNCTIONS) as box, pytest.raises(InvalidDefinition, match="1048576 bytes"):
        register(box.engine, large)
    with testing.sandbox(FUNCTIONS, settings=Settings(documents=Limits(document_bytes=2 << 20))) as box:
        assert register(box.engine, large).created


def test_registrations_at_the_same_moment_get_numbers_of_their_own(db: Database) -> None:
    hands = Hands(db)
    for round in range(5):
        made = together([partial(register, hands.engine, saying(f"{round} {i}")) for i in range(4)])
        assert sorted(m.revision for m in made) == list(range(4 * round + 1, 4 * round + 5))


def test_one_document_registered_at_the_same_moment_is_one_revision(db: Database) -> None:
    hands = Hands(db)
    for round in range(5):
        made = together([partial(register, hands.engine, saying(f"{round}"))] * 4)
        assert {m.revision for m in made} == {round + 1}
        assert [m.created for m in made].count(True) == 1
