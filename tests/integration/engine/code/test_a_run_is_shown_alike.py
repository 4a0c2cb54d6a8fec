"""One run by itself, as who started it sees it, is what lists and pages show: with journaled steps, items, a parent."""

from __future__ import annotations

from typing import Any

from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.view import view
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, get_run, list_runs
from tests.coding import Coders
from tests.documents import document, step


def work(ctx: Any, input: Any) -> Any:
    ctx.step("one", lambda: 1)
    ctx.call("double", {"n": 2})
    return ctx.wait_event("go")


def test_a_run_by_itself_is_shown_as_in_lists_and_pages(module_db: Database) -> None:
    coders = Coders(module_db, {"double": lambda n: 2 * n})
    coders.begin(work, {"password": "x"}, name="waits")
    each = step("each", function="double", input={"n": "{{ item }}"}, with_items=[1, 2, 3])
    child = {"name": "below", "workflow": "waits", "depends_on": ["each"]}
    register(coders.engine, document(each, child, name="top", tags=["t"]), actor="test")
    start(coders.engine, "top", {"a": 1})
    coders.work()
    with module_db.transaction() as conn:
        listed = list_runs(conn, RunFilters()).items
        shown = {run["id"]: get_run(conn, run["id"]) for run in listed}
    assert {run["workflow"] for run in listed} == {"waits", "top"}
    assert len(listed) == 3
    for run in listed:
        assert view(coders.engine, run["id"]) == shown[run["id"]] == run
    assert any(run["parent_step"] for run in listed)
    assert any(run["counts"].get("waiting") for run in listed)
