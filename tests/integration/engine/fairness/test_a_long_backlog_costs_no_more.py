"""What dispatching reads does not grow with what waits: the next are found by the index, not sorted out of all."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

from orchestrator.services.apps import set_app
from orchestrator.services.engine import Settings
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.start import StartOptions, start
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.watching import no_autovacuum

MANY = 1500
CALLS = {
    "next": "orchestrator_next('default', 4)",
    "next of a pool": "orchestrator_next_of_pool('gpu', 4)",
    "take": "orchestrator_take('default', 'w', 60, 4, '{ok}', false)",
    "queue": "orchestrator_queue('default', 4, 0)",
    "due": "orchestrator_due(5, 30)",
}


def start_steps(hands: Hands, app: str, count: int) -> None:
    """Runs of the app with so many ready steps, and as many that wait for a pool."""
    for pool in (None, "gpu"):
        keys = {} if pool is None else {"pool": pool}
        made = document(*(step(f"s{i}", function="ok", **keys) for i in range(count)), name=f"{pool} {count}")
        registered = register(hands.engine, made, app=app, actor="test")
        start(hands.engine, registered.workflow, None, StartOptions(app=app))


def blocks_read(db: Database) -> dict[str, int]:
    """Pages that each call reads, in a transaction that is not committed."""
    found = {}
    for name, call in CALLS.items():
        with db.engine.connect() as conn:
            for _ in range(2):  # the first fills the session's caches
                conn.rollback()
                plan = conn.execute(text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM {call}")).scalar()
            plan = json.loads(plan) if isinstance(plan, str) else plan
            found[name] = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
            conn.rollback()
    return found


@pytest.fixture(params=[1, 2], ids=["one app", "two apps"])
def read(request: pytest.FixtureRequest, db: Database) -> tuple[dict[str, int], dict[str, int]]:
    no_autovacuum(db)  # pages of the catalog that planning reads would count
    hands = Hands(db, settings=Settings(window=1))
    set_pool(hands.engine, "gpu", 6, actor="test")
    apps = [f"app {i}" for i in range(request.param)]
    for app in apps:
        set_app(db, app, actor="test")
        start_steps(hands, app, 20)
    few = blocks_read(db)
    for app in apps:
        start_steps(hands, app, MANY)
    return few, blocks_read(db)


def test_the_next_steps_are_found_without_looking_at_all(read: tuple[dict[str, int], dict[str, int]]) -> None:
    few, many = read
    # Each ready step that is looked at costs a page or two.
    assert {name: many[name] for name in CALLS if many[name] > 2 * few[name] + MANY / 10} == {}
