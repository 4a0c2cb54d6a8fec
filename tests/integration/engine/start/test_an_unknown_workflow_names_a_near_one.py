"""What cannot be started says why."""

from __future__ import annotations

import pytest

from orchestrator import testing
from orchestrator.errors import NotFound
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from tests.documents import FUNCTIONS, document, step


def test_a_near_name_is_hinted_at() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, document(step("a")) | {"name": "charge"})
        with pytest.raises(NotFound, match="no workflow 'chrage'.*did you mean 'charge'"):
            start(box.engine, "chrage")


def test_a_revision_that_does_not_exist_is_named() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, document(step("a")))
        with pytest.raises(NotFound, match="'w' with revision 7"):
            start(box.engine, "w", None, StartOptions(revision=7))


def test_an_app_that_does_not_exist_is_named() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, document(step("a")))
        with pytest.raises(NotFound, match="no app named 'nobody'"):
            start(box.engine, "w", None, StartOptions(app="nobody"))
