"""A database where something is going on: a pool that is full, a worker that runs a step, a group."""

from __future__ import annotations

import json

from orchestrator.services.apps import set_group
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.workers import WorkerInfo, announce
from tests.documents import document, step
from tests.hands import announce as announce_functions
from tests.integration.cli.conftest import take_queued
from tests.web.api.conftest import Api

NOUNS = ("functions", "workers", "pools", "packs", "apps", "audit", "tokens", "hooks")
ELSEWHERE = ("schedules", "retention", "alerts")  # whose contracts are in files of their own
HAND = WorkerInfo("hand", "worker", "here", 7, ("default", "*"), 4, "prefork", "1.0")


def at_work(api: Api) -> dict[str, str]:
    """One run an app: each has a step that the worker `hand` runs, and two that wait for the pool `small`."""
    with api.db.transaction() as conn:
        announce(conn, HAND)
        announce_functions(conn, "ok", "fail")
    set_group(api.db, "shops", ["shop"])
    set_pool(api.hands.engine, "small", 0, actor="test")
    runs = {}
    for slots, app in enumerate(("default", "Shop"), 1):
        register(api.hands.engine, document(*(step(name, pool="small") for name in "abc"), name="pooled"), app=app)
        runs[app] = begin(api, "pooled", app)
        set_pool(api.hands.engine, "small", slots, actor="test")  # the other app's turn is over
        (claimed,) = api.hands.claim(take_queued(api.db))
        assert claimed.run_id == runs[app]
    return runs


def begin(api: Api, workflow: str, app: str = "default") -> str:
    """The id of a new run, whose first steps are queued."""
    return start(api.hands.engine, workflow, None, StartOptions(app)).run_id


def pack_files(name: str, *workflows: str, **keys: str) -> dict[str, str]:
    """The files of a pack with these workflows."""
    documents = {f"workflows/{w}.yaml": json.dumps(document(step("a"), name=w)) for w in workflows}
    return {"pack.yaml": json.dumps({"name": name, **keys}), **documents}
