"""Open the engine for a command that acts, and say who acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.bootstrap import make_engine
from orchestrator.config import SERVERS, Config
from orchestrator.services.actor import acting_user
from orchestrator.services.engine import Engine


@contextmanager
def open_engine(need: Sequence[str] = SERVERS) -> Iterator[Engine]:
    """The engine with the configured servers; function modules are not imported, they run in workers.

    `need`: servers without which there is nothing to do; what sends no step needs no broker.
    """
    engine = make_engine(Config.from_env(need=need), load_functions=False)
    try:
        yield engine
    finally:
        engine.close()


def actor() -> str:
    """Who acts, for the audit log."""
    return acting_user("cli")
