"""Open the engine for a command that acts, and say who acts."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.services.engine import Engine
from orchestrator.store.faults import told_in_words


@contextmanager
def open_engine() -> Iterator[Engine]:
    """The engine with the configured servers; function modules are not imported, they run in workers."""
    engine = make_engine(Config.from_env(), load_functions=False)
    try:
        with told_in_words():
            yield engine
    finally:
        engine.db.close()


def actor() -> str:
    """Who acts, for the audit log: `cli:` and the name of this process's user."""
    try:
        return f"cli:{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # a container's user without a name
        return f"cli:{os.getuid()}"
