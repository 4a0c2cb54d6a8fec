"""The application on real servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import CodeType

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from tests.web.browser import served
from tests.web.stage import Stage, furnish
from web.app import create_app


class Kept(BytecodeCache):
    """What templates were compiled to, for all applications of this process: the same each time."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._held.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._held[bucket.key, bucket.checksum] = bucket.code


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Compiling the templates of all pages takes a second, and most modules have an application of their own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(Flask.jinja_options, "bytecode_cache", Kept())
        yield


@pytest.fixture
def client(database_url: str, broker_url: str) -> FlaskClient:
    """A client of the application, its servers up and migrated."""
    return client_of(database_url, broker_url)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port nobody listens on, nor can: it is taken."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.fixture(scope="module")
def stage(module_db: Database) -> Stage:
    """The module's database with runs of every kind and a token a role."""
    return furnish(module_db)


@pytest.fixture(scope="module")
def address(orchestrator_module_database_url: str) -> Iterator[str]:
    """Where the application is served, on the module's database."""
    with served(orchestrator_module_database_url) as found:
        yield found


def client_of(database_url: str, broker_url: str) -> FlaskClient:
    return create_app(Config(database_url=database_url, broker_url=broker_url)).test_client()


def signed_in(client: FlaskClient, db: Database, role: Role = Role.ADMIN, app: str | None = None) -> FlaskClient:
    """The client with the session of a new token of this role."""
    token = create_token(db, f"{role} of {app}", role, app=app).token
    assert client.post("/login", data={"token": token}).status_code == 303
    return client
