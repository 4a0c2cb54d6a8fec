"""Fixtures for all tests; the servers come from the package's own pytest plugin, orchestrator/pytest_plugin.py."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from orchestrator.store.db import Database
from tests.support import is_soak

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Each starts whole installations and takes up to a minute, most of it waiting.
_LONG = ("tests/integration/test_up.py", "tests/chaos/", "tests/integration/bench/", "tests/integration/deploy/")

# As in CI, wherever tests run: the same examples each time, none of which fails because the machine stood still for a
# moment. A hunt has fresh ones.
settings.register_profile("anywhere", settings.get_profile("ci"), derandomize=not is_soak())
settings.load_profile("anywhere")


def pytest_configure() -> None:
    """A shell lets what it starts in the background ignore Ctrl-C; what tests start is to end of it all the same."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes (280,000 objects) stays to the end: no collection of garbage need look at it, neither
    meanwhile (which was two thirds of the time it took) nor later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first: of several processes that test, none is left alone with them at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of this process, as Playwright lets a thread have no second one; what a reader leaves in it
    goes with the reader's context."""
    with import_module("tests.web.browser").chromium() as found:  # which few processes need
        yield found


@pytest.fixture
def database_url(orchestrator_database_url: str) -> str:
    """A fresh, migrated database for this test."""
    return orchestrator_database_url


@pytest.fixture
def broker_url(orchestrator_broker_url: str) -> str:
    """An empty broker for this test."""
    return orchestrator_broker_url


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """A fresh, migrated database for this test, opened."""
    database = Database.connect(database_url)
    yield database
    database.close()


@pytest.fixture(scope="module")
def module_db(orchestrator_module_database_url: str) -> Iterator[Database]:
    """A fresh, migrated database for all tests of the module, opened."""
    database = Database.connect(orchestrator_module_database_url)
    yield database
    database.close()
