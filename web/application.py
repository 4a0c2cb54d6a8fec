"""What the application keeps for its requests."""

from __future__ import annotations

from flask import current_app

from orchestrator.services.engine import Engine
from orchestrator.store.db import Database


def engine() -> Engine:
    """What acts are done with; it knows no secrets and calls no functions."""
    made: Engine = current_app.extensions["orchestrator.engine"]
    return made


def database() -> Database:
    """The engine's database."""
    return engine().db
