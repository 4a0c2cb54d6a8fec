"""What `watch` draws of the runs below a run."""

from __future__ import annotations

import re

import pytest

from orchestrator.cli.marks import Signs
from orchestrator.cli.screen import Size, screen
from orchestrator.cli.steplines import Around
from orchestrator.cli.tree import tree
from orchestrator.cli.watch import Watcher
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.families import below, children_of, levels, start_family
from tests.hands import Hands


@pytest.fixture
def hands(module_db: Database) -> Hands:
    return Hands(module_db)


def drawn(hands: Hands, run_id: str, height: int = 40, width: int = 100, signs: Signs | None = None) -> list[str]:
    """The steps' lines of the picture, without the times."""
    watcher, size = Watcher(hands.db, run_id), Size(width, height)
    watcher.look(size.room)
    seen = watcher.seen
    around = Around(watcher.plan, {}, seen.run.status, seen.run.now)
    whole = tree(watcher.plan) if len(seen.steps) == seen.total else None
    lines = screen(seen, around, whole, signs or Signs(), size, family=watcher.family)
    return [line.plain for line in lines[[line.plain for line in lines].index("") + 1 :]]


def names(lines: list[str]) -> list[str]:
    """Without what stands in the other columns."""
    return [re.split(r" {2,}(?:running|waiting|pending)", line)[0].rstrip() for line in lines]


def fan(count: int, **items: object) -> dict[str, object]:
    asked = {"items": f"{{{{ range({count}) | list }}}}", **items}
    return {"name": "each", "workflow": "low", "with_items": asked}


def at_leaves(hands: Hands) -> list[Claimed]:
    """Work until nothing is left but steps named `leaf`; these run."""
    leaves: list[Claimed] = []
    while claimed := hands.claim():
        for one in claimed:
            if hands.engine.plan(one.revision_id).at(one.position).name == "leaf":
                leaves.append(one)
            else:
                hands.settle(one)
    return leaves


def test_children_are_drawn_under_the_steps_and_items_that_started_them(hands: Hands) -> None:
    low = document(step("leaf"), step("last", "leaf"), name="low")
    made = document(below("down", "mid"), fan(2), step("after", "down", "each"), name="top")
    run_id = start_family(hands, made, levels("mid", "low")[0], low)
    at_leaves(hands)
    lines = drawn(hands, run_id)
    assert names(lines) == [
        "├─ ◔ down",
        "   ▸ → mid",
        "      ▸ down → low",
        "└─ ◔ each",
        "   ▸ [0] → low",
        "   ▸ [1] → low",
        "· after",
    ]
    assert sum("0 of 2 steps have ended, 'leaf' is running" in line for line in lines) == 3
    assert all(line.isascii() for line in drawn(hands, run_id, width=200, signs=Signs(unicode=False)))
    cancel(hands.engine, run_id, force=True)


def test_of_many_children_the_open_ones_are_drawn_and_the_rest_is_counted(hands: Hands) -> None:
    run_id = start_family(hands, document(fan(40, concurrency=3), name="top"), document(step("leaf"), name="low"))
    for _ in range(9):
        leaves = at_leaves(hands)
        for leaf in leaves[1:]:  # the first one stays
            hands.settle(leaf)
    at_leaves(hands)
    lines = drawn(hands, run_id, height=16)
    open_ones = [line for line in lines if "'leaf' is running" in line]
    assert (len(lines) <= 10, len(open_ones)) == (True, 3)
    assert "[0]" in open_ones[0]
    assert lines[-1].strip() == f"… and {len(children_of(hands, run_id)) - (len(lines) - 2)} more"
    cancel(hands.engine, run_id, force=True)


def test_a_deep_family_is_drawn_in_the_lines_there_are(hands: Hands) -> None:
    deep = [f"level{n}" for n in range(8)]
    run_id = start_family(hands, *levels(*deep))
    at_leaves(hands)
    whole = drawn(hands, run_id)
    assert [re.findall(r"level\d", line) for line in whole] == [[], *([name] for name in deep[1:])]
    assert [len(line) - len(line.lstrip()) for line in whole[1:]] == [3 * n for n in range(1, 8)]
    low = drawn(hands, run_id, height=10)
    assert (len(low), "… and 1 more" in low[-1] or "more lines" in low[-1]) == (4, True)
    assert max(map(len, drawn(hands, run_id, width=40))) <= 40
    cancel(hands.engine, run_id, force=True)
