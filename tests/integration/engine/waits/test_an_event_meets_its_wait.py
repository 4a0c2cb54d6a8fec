"""An event that is sent while a worker is just beginning to wait for it is taken, however slow its sender is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.services.signal import signal
from orchestrator.store import runs, signals
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands

WAIT: dict[str, Any] = {"name": "e", "wait_for": {"event": "go"}}
_LONG_ENOUGH = 0.3  # for what nothing hinders


class Meanwhile:
    """Lets somebody do something in the middle of a verb of the store, as far as that is possible."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, verb: str, act: Callable[[], None]) -> None:
        real = getattr(module, verb)
        self._thread = threading.Thread(target=act, daemon=True)

        def then(*args: Any, **kwargs: Any) -> Any:
            if self._thread.ident is None and (verb != "load_run" or kwargs.get("lock")):
                self._thread.start()
                self._thread.join(_LONG_ENOUGH)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, verb, then)

    def end(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()


def begin_to_wait(hands: Hands) -> None:
    """A worker takes what is there, and lets it wait."""
    for claimed in hands.claim():
        hands.settle(claimed)


@pytest.mark.parametrize(("module", "verb"), [(runs, "load_run"), (signals, "insert_signal")])
def test_an_event_is_taken_by_a_step_that_begins_to_wait_while_it_is_sent(
    db: Database, monkeypatch: pytest.MonkeyPatch, module: Any, verb: str
) -> None:
    hands = Hands(db)
    run_id = hands.start(document(WAIT))
    meanwhile = Meanwhile(monkeypatch, module, verb, lambda: begin_to_wait(hands))
    signal(hands.engine, run_id, "go", 7)
    meanwhile.end()
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["e"]["output"]) == ("succeeded", 7)


def test_an_event_is_taken_by_a_handler_that_begins_to_wait_while_it_is_sent(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is made while the sender waits for the run's."""
    hands = Hands(db)
    run_id = hands.start(document(step("a"), on_success={"wait_for": {"event": "go"}}))

    def end_and_wait() -> None:
        begin_to_wait(hands)  # the step ends, and its handler begins
        begin_to_wait(hands)

    meanwhile = Meanwhile(monkeypatch, runs, "load_run", end_and_wait)
    signal(hands.engine, run_id, "go", 7)
    meanwhile.end()
    hands.work()
    assert hands.status(run_id) == "succeeded"
