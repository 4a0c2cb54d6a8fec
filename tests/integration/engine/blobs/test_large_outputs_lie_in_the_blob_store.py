"""An output over the size goes to the blob store; the row has a reference, and whatever reads it gets the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.handle import RunHandle
from orchestrator.services.put_away import put_away
from orchestrator.services.rerun import rerun
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.engine.blobs.shelf import files, hands, is_reference, stored


def run(worker: Hands, *steps: dict[str, Any], input: Any = None, **keys: Any) -> str:
    run_id = worker.start(document(*steps, **keys), input)
    worker.work()
    assert worker.status(run_id) == "succeeded", worker.steps(run_id)
    return run_id


def big(name: str = "big", size: int = 3000, **keys: Any) -> dict[str, Any]:
    return step(name, function="text", input={"size": size}, **keys)


def output(worker: Hands, run_id: str) -> Any:
    return RunHandle(worker.engine, run_id).output


def test_the_row_has_a_reference_and_dependants_get_the_value(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = run(
        worker,
        big(),
        step("small", function="text", input={"size": 10}),
        step("whole", "big", function="length", input={"of": "{{ steps.big.output }}"}),
        step("part", "big", function="length", input={"of": "{{ steps.big.output[:7] }}"}),
        step("mixed", "big", function="length", input={"of": "<{{ steps.big.output }}>"}),
        step("timed", "big", function="length", input={"of": "{{ steps.big.output }}"}, timeout=60),
        step("asked", "big", function="ok", when="steps.big.output | length == 3000"),
        step("left", "big", function="ok", when="steps.big.output == 'x'"),
    )
    steps = worker.steps(run_id)
    assert is_reference(steps["big"]["output"]), steps["big"]
    assert steps["big"]["output"]["bytes"] == 3002
    assert steps["small"]["output"] == "x" * 10
    assert [steps[name]["output"] for name in ("whole", "part", "mixed", "timed")] == [3000, 7, 3002, 3000]
    assert (steps["asked"]["status"], steps["left"]["status"]) == ("succeeded", "skipped")
    assert steps["whole"]["input"]["of"] == steps["big"]["output"]  # passed on, not written once more
    assert is_reference(steps["mixed"]["input"])
    assert sorted(map(len, map(str, stored(tmp_path)))) == [3000, len(str({"of": "x" * 3002}))]
    assert all(run_id in str(path) for path in files(tmp_path))


def test_a_step_that_does_not_read_it_does_not_fetch_it(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = worker.start(
        document(
            big(),
            step("after", "big", input={"was": "{{ steps.big.status }}", "tries": "{{ steps.big.attempt }}"}),
            step("picky", "big", input={"all": "{{ steps.big.output }}"}, when="steps.big.status == 'failed'"),
            output={"kept": "{{ steps.big.output }}", "was": "{{ steps.after.output.was }}"},
        )
    )
    (claimed,) = worker.claim()
    worker.settle(claimed)
    (path,) = files(tmp_path)
    path.unlink()
    worker.work()
    assert worker.status(run_id) == "succeeded", worker.steps(run_id)
    assert worker.steps(run_id)["after"]["output"] == {"was": "succeeded", "tries": 1}


def test_publish_edges_and_the_runs_output_see_the_value(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = run(
        worker,
        step("rows", input={"count": 50}, publish={"first": "{{ result[0].n }}", "many": "{{ result | length }}"})
        | {"function": "rows"},
        step("more", input={}, depends_on=[{"step": "rows", "when": "result[49].n == 49"}]),
        output={"all": "{{ steps.rows.output }}", "n": "{{ vars.many }}"},
    )
    assert worker.steps(run_id)["more"]["status"] == "succeeded"
    found = output(worker, run_id)
    assert (found["n"], len(found["all"])) == (50, 50)
    assert len(files(tmp_path)) == 1  # the run's output refers to the step's
    made = run(
        worker,
        step("rows", input={"count": 50}) | {"function": "rows"},
        output="{{ steps.rows.output[1:] }}",
        output_schema={"type": "array", "minItems": 49},
    )
    assert [row["n"] for row in output(worker, made)] == list(range(1, 50))
    assert len(files(tmp_path)) == 3


def test_items_over_it_and_what_they_gave(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = run(
        worker,
        step("rows", input={"count": 60}) | {"function": "rows"},
        step("each", "rows", with_items="{{ steps.rows.output }}", input={"n": "{{ item.n }}", "t": "{{ item.text }}"}),
        step("large", with_items=[1, 2, 3], input={"size": 1500, "of": "{{ item }}"}) | {"function": "repeat"},
        step("again", "large", with_items="{{ steps.large.output }}", input={"of": "{{ item }}"})
        | {"function": "length"},
        step("sum", "each", "large", input={"of": "{{ steps.each.output }}"}) | {"function": "length"},
        step("three", "large", input={"of": "{{ steps.large.output | map('length') | list }}"}) | {"function": "ok"},
    )
    steps = worker.steps(run_id)
    assert is_reference(steps["rows"]["output"])
    assert is_reference(steps["each"]["output"])
    assert is_reference(steps["each"]["input"])
    assert [is_reference(part) for part in steps["large"]["output"]] == [True, True, True]
    assert steps["sum"]["output"] == 60
    assert steps["again"]["output"] == [1500, 1500, 1500]
    assert steps["three"]["output"] == {"of": [1500, 1500, 1500]}
    leaves = output(worker, run_id)
    assert leaves["sum"] == 60


def test_a_childs_output_becomes_the_parents_own(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    worker.start(document(big(), output={"deep": {"text": "{{ steps.big.output }}"}}) | {"name": "child"})
    worker.work()
    run_id = run(
        worker,
        {"name": "child", "workflow": "child"},
        step("read", "child", function="length", input={"of": "{{ steps.child.output.deep.text }}"}),
        name="parent",
    )
    assert worker.steps(run_id)["read"]["output"] == 3000
    own = [path for path in files(tmp_path) if run_id in str(path)]
    assert len(own) >= 1
    for path in files(tmp_path):
        if run_id not in str(path):
            path.unlink()
    assert worker.steps(run_id)["child"]["output"]["deep"]["text"]["bytes"] == 3002
    assert RunHandle(worker.engine, run_id).output == {"read": 3000}


def test_a_rerun_has_copies_of_what_it_keeps(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    first = run(worker, big(), step("read", "big", function="length", input={"of": "{{ steps.big.output }}"}))
    made = rerun(worker.engine, first, from_steps="read")
    for path in files(tmp_path):
        if first in str(path):
            path.unlink()
    worker.work()
    assert worker.steps(made.run_id)["read"]["output"] == 3000
    assert made.run_id in str(worker.steps(made.run_id)["big"]["output"])


def test_a_cached_result_is_used_again_while_its_file_is_there(module_db: Database, tmp_path: Path) -> None:
    calls: list[int] = []

    def count(size: int) -> str:
        calls.append(size)
        return "z" * size

    worker = hands(module_db, tmp_path, {"count": count})
    kept = step("a", function="count", input={"size": 2000}, cache={"key": "k", "ttl": 600})
    first, second = run(worker, kept), run(worker, kept)
    assert calls == [2000]
    assert output(worker, first) == output(worker, second) == {"a": "z" * 2000}
    for path in files(tmp_path):
        if first in str(path):
            path.unlink()
    assert output(worker, second) == {"a": "z" * 2000}
    third = run(worker, kept)
    assert calls == [2000, 2000]
    assert output(worker, third) == {"a": "z" * 2000}


def test_an_attempt_never_writes_where_another_does(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    worker.start(document(big()))
    (claimed,) = worker.claim()
    done = worker.perform(claimed)
    first = put_away(worker.engine, claimed, done.outcome, done.input_json)[0]
    assert put_away(worker.engine, claimed, first, done.input_json)[0] is first
    other = put_away(
        worker.engine, claimed.__class__(**{**_fields(claimed), "token": claimed.run_id}), done.outcome, "{}"
    )[0]
    assert first.output.path != other.output.path
    assert len(files(tmp_path)) == 2


def _fields(claimed: Any) -> dict[str, Any]:
    return {name: getattr(claimed, name) for name in claimed.__slots__}
