"""Sources that end within one transaction, beside others that end before or after it: their dependant advances once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands


def graph(rule: str, kind: str) -> dict[str, Any]:
    """`root` and `third` run; as `root` ends, both `left` and `right` end without having run, and `child` has all
    three for sources."""
    if kind == "skipped":
        ends: list[dict[str, Any]] = [step(name, "root", when="false") for name in ("left", "right")]
    else:
        ends = [step(name, "root", trigger_rule="all_failed") for name in ("left", "right")]
    child = step("child", "left", "right", "third", trigger_rule=rule)
    return document(step("root"), step("third"), *ends, child, step("last", "child"))


@pytest.mark.parametrize("kind", ["skipped", "not triggered"])
@pytest.mark.parametrize(
    ("rule", "end"), [("none_failed", "succeeded"), ("all_done", "succeeded"), ("all_success", "skipped")]
)
def test_two_sources_that_are_skipped_in_one_cascade_and_a_third(
    module_db: Database, rule: str, end: str, kind: str
) -> None:
    hands = Hands(module_db)
    for order in permutations(("root", "third")):
        run_id = hands.start(graph(rule, kind))
        held = {hands.engine.plan(one.revision_id).at(one.position).name: one for one in hands.claim()}
        for name in order:
            assert hands.steps(run_id)["child"]["status"] == "pending" or end == "skipped"
            hands.settle(held[name])
        with hands.db.transaction() as conn:
            counted = text("""SELECT source_count, remaining_sources, skipped_sources, satisfied_sources
              FROM workflow_run_steps WHERE run_id = :id AND name = 'child'""")
            assert tuple(conn.execute(counted, {"id": run_id}).one()) == (3, 0, 2, 1), order
        assert len(hands.outbox.messages) == int(end == "succeeded")
        hands.work()
        rows = hands.steps(run_id)
        assert (rows["child"]["status"], rows["child"]["attempts"]) == (end, int(end == "succeeded"))
        assert (hands.status(run_id), hands.events(run_id).count("run.succeeded")) == ("succeeded", 1)
