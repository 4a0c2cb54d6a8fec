"""Children of items end while they, their parent and the coordinator do what they do: one end each, no deadlock."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.families import children_of, start_family, unwatched
from tests.hands import Hands, together
from tests.integration.engine.children.test_ends_meet import check_ends, deadlocks, settled, unless_over
from tests.integration.engine.items.counts import check_items
from tests.support import soaked

ITEMS = 4


def under_way(hands: Hands, **items: Any) -> tuple[str, list[str], list[Any]]:
    """A run with children of items and a step of its own, whose attempts have been performed and not settled."""
    asked = {"items": list(range(ITEMS)), **items}
    each = {"name": "each", "workflow": "low", "with_items": asked}
    made = document(each, step("own"), step("last", "each", "own"), name="top")
    run_id = start_family(hands, made, document(step("leaf"), name="low"))
    held = hands.hold_back(3)
    return run_id, children_of(hands, run_id), held


def test_children_of_items_complete_while_they_and_their_parent_are_canceled(db: Database) -> None:
    hands, chance = Hands(db), random.Random(7)
    for _ in range(soaked(15, 150)):
        run_id, children, held = under_way(hands, fail_fast=chance.random() < 0.5)
        assert (len(children), len(held)) == (ITEMS, ITEMS + 1)
        acts: list[Callable[[], Any]] = [partial(hands.settle_all, [one]) for one in held]
        for target in (run_id, chance.choice(children)):
            acts.append(partial(unless_over, partial(cancel, hands.engine, target, force=chance.random() < 0.5)))
        acts.append(partial(tick, hands.engine))
        together(chance.sample(acts, len(acts)))
        settled(hands)
        check_ends(hands, run_id, *children)
        check_items(db, run_id)
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_children_of_items_complete_together_while_their_parent_is_paused_and_resumed(db: Database) -> None:
    hands, chance = Hands(db), random.Random(8)
    for _ in range(soaked(8, 100)):
        run_id, children, held = under_way(hands, concurrency=3)
        middle = chance.randrange(len(held))
        acts: list[Callable[[], Any]] = [partial(hands.settle_all, part) for part in (held[:middle], held[middle:])]
        acts += [partial(unless_over, partial(act, hands.engine, run_id)) for act in (pause, resume)]
        together(chance.sample(acts, len(acts)))
        unless_over(partial(resume, hands.engine, run_id))
        settled(hands)
        children = children_of(hands, run_id)
        check_ends(hands, run_id, *children)
        assert check_items(db, run_id) == {"succeeded": ITEMS}
        assert (hands.status(run_id), len(children)) == ("succeeded", ITEMS)
    assert (deadlocks(db), unwatched(hands)) == (0, [])
