"""What the pages of the admin UI read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.errors import NotFound
from orchestrator.services.bulk import Verb
from orchestrator.services.bulk_portions import act_on_portion, fitting, preview
from orchestrator.store.one_transaction import OneTransaction
from orchestrator.store.reads import RunFilters, run_rows, runs
from orchestrator.store.reads.difference import compare_steps
from orchestrator.store.reads.histogram import count_over_time
from orchestrator.store.reads.run_head import run_head
from orchestrator.store.reads.run_rows import list_run_rows
from orchestrator.store.reads.run_states import run_states
from orchestrator.store.reads.runs import id_at
from orchestrator.store.reads.step_rows import StepFilters, list_spans, list_step_rows, step_name
from tests.integration.reads.rows import NOW, add_attempt, add_run, add_steps, add_workflow


def _id(seconds: float, number: int = 0) -> str:
    """An id of this moment."""
    return id_at(NOW + timedelta(seconds=seconds))[:-4] + f"{number:04x}"


def test_pages_of_runs_go_both_ways_and_say_where_the_ends_are(conn: Connection) -> None:
    revision = add_workflow(conn)
    ids = [add_run(conn, revision, tags=["t"] if n % 2 else []) for n in range(7)][::-1]
    first = list_run_rows(conn, RunFilters(), limit=3)
    assert ([run["id"] for run in first.items], first.newer) == (ids[:3], None)
    second = list_run_rows(conn, RunFilters(), after=first.older, limit=3)
    assert [run["id"] for run in second.items] == ids[3:6]
    last = list_run_rows(conn, RunFilters(), after=second.older, limit=3)
    assert ([run["id"] for run in last.items], last.older) == (ids[6:], None)
    back = list_run_rows(conn, RunFilters(), before=last.newer, limit=3)
    assert [run["id"] for run in back.items] == ids[3:6]
    assert list_run_rows(conn, RunFilters(), before=back.newer, limit=3).newer is None
    tagged = list_run_rows(conn, RunFilters(tags=["t"]), before=ids[5], limit=10)
    assert [run["id"] for run in tagged.items] == [ids[1], ids[3]]


@pytest.mark.parametrize("near", [1, 4, 1000])
def test_what_is_rare_is_found_beyond_the_newest_runs(
    conn: Connection, monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    monkeypatch.setattr(runs, "_NEAR", near)
    revision = add_workflow(conn)
    ids = [
        add_run(conn, revision, "failed", tags=["t"] if n % 3 == 0 else [], error={"message": f"card {n}"})
        for n in range(12)
    ][::-1]
    wanted = [ids[place] for place in (2, 5, 8, 11)]
    for filters in (RunFilters(tags=["t"]), RunFilters(workflow="order", tags=["t"])):
        assert runs.find_ids(conn, filters, None, 10) == wanted
        assert runs.find_ids(conn, filters, None, 2) == wanted[:2]
        assert runs.find_ids(conn, filters, ids[5], 10) == wanted[2:]
    assert runs.find_ids(conn, RunFilters(error="card 1"), None, 10) == [ids[0], ids[1], ids[10]]


def test_words_are_looked_for_in_so_many_runs_at_a_time_and_none_is_passed_over(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_rows, "_LOOKED", 3)
    revision = add_workflow(conn)
    errors = [{"type": "E", "message": "rare" if n in (0, 4, 5) else "usual"} for n in range(8)]
    ids = [add_run(conn, revision, "failed", error=error) for error in errors][::-1]
    pages, after = [], None
    while True:
        page = list_run_rows(conn, RunFilters(error="rare"), after=after, limit=10)
        pages.append([run["id"] for run in page.items])
        if page.older is None:
            break
        assert page.looked == 3
        after = page.older
    assert pages == [[ids[2]], [ids[3]], [ids[7]]]
    assert page.looked is None


def test_a_row_has_no_secret_and_counts_open_runs_only(conn: Connection) -> None:
    schema = {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}
    revision = add_workflow(conn, input_schema=schema)
    error = {"type": "E", "message": "refused 4111222233334444", "step": "a"}
    add_run(conn, revision, "failed", input={"card": "4111222233334444"}, error=error)
    running = add_run(conn, revision, "running", step_count=2)
    add_steps(conn, running, {"a": "succeeded", "b": "pending"})
    open_row, failed = list_run_rows(conn, RunFilters()).items
    assert failed["error"]["message"] == "refused ***"
    assert failed["counts"] is None
    assert open_row["counts"] == {"succeeded": 1, "pending": 1}


def test_runs_over_time_are_counted_by_the_time_in_their_ids(conn: Connection) -> None:
    order, other = add_workflow(conn), add_workflow(conn, "other", app="shop")
    add_run(conn, order, "failed", id=_id(0))
    add_run(conn, order, id=_id(9.9))
    add_run(conn, order, id=_id(9.9, 1))
    add_run(conn, other, app="shop", id=_id(10))
    add_run(conn, order, id=_id(20))
    add_run(conn, order, id=_id(-1))

    def counts(filters: RunFilters) -> list[dict[str, int]]:
        found = count_over_time(conn, filters, [NOW, NOW + timedelta(seconds=10)], timedelta(seconds=10))
        return [bucket.counts for bucket in found]

    assert counts(RunFilters()) == [{"failed": 1, "succeeded": 2}, {"succeeded": 1}]
    assert counts(RunFilters(workflow="other")) == [{}, {"succeeded": 1}]
    assert counts(RunFilters(app="default")) == [{"failed": 1, "succeeded": 2}, {}]
    assert counts(RunFilters(statuses=[RunStatus.FAILED])) == [{"failed": 1}, {}]
    with pytest.raises(NotFound):
        counts(RunFilters(workflow="nothing"))


def test_steps_are_paged_filtered_and_named_by_position(conn: Connection) -> None:
    run = add_run(conn, add_workflow(conn), "running")
    add_steps(conn, run, {"a%b": "succeeded", "aXb": "failed", "c": "pending", "d": "failed"})

    def names(filters: StepFilters, after: int | None = None, limit: int = 10) -> list[str]:
        return [step.name for step in list_step_rows(conn, run, filters, after, limit)[0]]

    assert names(StepFilters(name="A%")) == ["a%b"]
    assert names(StepFilters([StepStatus.FAILED])) == ["aXb", "d"]
    assert names(StepFilters(first=1, last=2)) == ["aXb", "c"]
    assert names(StepFilters(), after=1, limit=1) == ["c"]
    assert list_step_rows(conn, run, StepFilters(), None, 3)[1] == 2
    assert list_step_rows(conn, run, StepFilters(), 2, 3)[1] is None
    assert step_name(conn, run, 3) == "d"
    for position in (4, -1, 1 << 40):
        with pytest.raises(NotFound):
            step_name(conn, run, position)


def test_states_and_spans_tell_what_the_steps_do(conn: Connection) -> None:
    run = add_run(conn, add_workflow(conn), "running")
    ids = add_steps(conn, run, {"a": "succeeded", "b": "pending"})
    add_attempt(conn, ids["a"], 1, "failed", started_at=NOW, finished_at=NOW + timedelta(seconds=1))
    add_attempt(conn, ids["a"], 2, "succeeded", started_at=NOW + timedelta(seconds=5), finished_at=NOW)
    assert run_states(conn, run).states == [(0, "succeeded"), (1, "pending")]
    spans = [(span.position, span.kind, span.attempt) for span in list_spans(conn, run, [0, 1])]
    assert [span for span in spans if span[1] != "queued"] == [(0, "failed", 1), (0, "succeeded", 2)]


def test_the_head_of_a_run_knows_the_runs_above_and_the_one_before(conn: Connection) -> None:
    order, child = add_workflow(conn), add_workflow(conn, "child")
    before = add_run(conn, order)
    top = add_run(conn, order)
    steps = add_steps(conn, top, {"call": "waiting"}, wait={"for": "child"})
    below = add_run(conn, child, parent_run_id=top, parent_step_id=steps["call"], root_id=top, depth=1)
    assert run_head(conn, top).before == before
    assert run_head(conn, top).above == []
    (above,) = run_head(conn, below).above
    assert (above["id"], above["workflow"], above["step"]) == (top, "order", "call")
    assert run_head(conn, below).before is None


def test_two_runs_differ_where_their_steps_do(conn: Connection) -> None:
    revision = add_workflow(conn)
    left, right = add_run(conn, revision), add_run(conn, revision)
    add_steps(conn, left, {"same": "succeeded", "other": "succeeded", "gone": "skipped"})
    add_steps(conn, right, {"same": "succeeded", "other": "failed"})
    rows, more = compare_steps(conn, left, right, different=True)
    assert ([(row["name"], row["left_status"], row["right_status"]) for row in rows], more) == (
        [("other", "succeeded", "failed"), ("gone", "skipped", None)],
        False,
    )
    assert len(compare_steps(conn, left, right, different=False, limit=2)[0]) == 2
    assert compare_steps(conn, left, right, different=False, limit=2)[1]


def test_a_bulk_goes_portion_by_portion_and_leaves_out_what_is_started_later(conn: Connection) -> None:
    db, revision = OneTransaction(conn), add_workflow(conn)
    ids = [add_run(conn, revision, "failed") for _ in range(5)][::-1]
    add_run(conn, revision)
    looked = preview(db, Verb.RETRY, RunFilters(workflow="order"), most=3)
    assert (looked.counts, looked.more, [run["id"] for run in looked.first]) == ({"failed": 3}, True, ids)
    add_run(conn, revision, "failed")
    acted: list[str] = []
    after: str | None = looked.begin
    while after is not None:
        portion = act_on_portion(db, Verb.RETRY, RunFilters(workflow="order"), after, 2, acted.append, looked.bulk_id)
        after = portion.next
    assert acted == ids
    chosen = fitting(Verb.RETRY, RunFilters(ids=ids[:1]))
    assert [id for id, _ in runs.find_statuses(conn, chosen, None, 10)] == ids[:1]
