"""Code-first: what steps, calls and the function give may be large, and is fetched when the function gets it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.blobstore import FileStore
from orchestrator.errors import BlobsAway, StepFailed
from orchestrator.handle import RunHandle
from orchestrator.services.blobs import Blobs
from orchestrator.store.db import Database
from orchestrator.testing import replay
from tests.coding import Coders
from tests.integration.engine.blobs.shelf import FUNCTIONS, INLINE, MOST, OVER, files, is_reference, shelved


def test_values_of_every_verb_are_put_away_and_given_again(module_db: Database, tmp_path: Path) -> None:
    coders = shelved(Coders(module_db, FUNCTIONS), tmp_path)
    done: list[int] = []

    def make() -> str:
        done.append(1)
        return "h" * 4000

    def order(ctx: Any, input: Any) -> Any:
        here = ctx.step("here", make)
        there = ctx.call("text", {"size": 5000}, name="there")
        ctx.sleep(3600)
        small = ctx.step("small", lambda: [len(here), len(there)])
        return {"here": here, "there": there, "small": small}

    run_id = coders.begin(order)
    coders.work()
    assert len(files(tmp_path)) == 2
    coders.due(run_id)
    run = coders.finish(run_id)
    assert run["status"] == "succeeded"
    assert is_reference(run["output"])
    assert RunHandle(coders.engine, run_id).output == {
        "here": "h" * 4000, "there": "x" * 5000, "small": [4000, 5000]
    }  # fmt: skip
    assert done == [1]
    shown = {entry["key"]: entry["output"] for entry in RunHandle(coders.engine, run_id).journal()}
    assert is_reference(shown["here"])
    assert shown["small"] == [4000, 5000]
    history = RunHandle(coders.engine, run_id).history()
    assert [entry["output"] for entry in history["entries"]][:2] == ["h" * 4000, "x" * 5000]
    assert replay(history, order).status == "succeeded"


class Busy(FileStore):
    """Refuses the first writes."""

    refusals = 3

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise BlobsAway("too busy")
        super().write(path, chunks)


def test_a_step_of_a_function_is_done_once_however_often_the_store_refuses_it(
    module_db: Database, tmp_path: Path
) -> None:
    coders, done = Coders(module_db), list[int]()
    store = Busy(tmp_path.as_uri())
    coders.engine = replace(coders.engine, blobs=Blobs(store, OVER, MOST, INLINE))

    def make() -> str:
        done.append(1)
        return "h" * 4000

    run_id = coders.begin(lambda ctx, input: len(ctx.step("make", make)), name="busy")
    assert coders.finish(run_id)["output"] == 4000
    assert (done, store.refusals) == ([1], 0)


def test_a_value_that_is_gone_is_a_failure_the_function_can_catch(module_db: Database, tmp_path: Path) -> None:
    coders = shelved(Coders(module_db, FUNCTIONS), tmp_path)

    def order(ctx: Any, input: Any) -> Any:
        handle = ctx.start_call("text", {"size": 5000}, name="there")
        ctx.sleep(3600)
        try:
            return len(ctx.gather(handle)[0])
        except StepFailed as error:
            return error.type

    run_id = coders.begin(order, name="loses")
    coders.work()
    for path in files(tmp_path):
        path.unlink()
    coders.engine.blobs._kept.texts.clear()
    coders.due(run_id)
    assert coders.finish(run_id)["output"] == "BlobGone"
