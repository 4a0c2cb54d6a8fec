"""`token`."""

from __future__ import annotations

import pytest

from orchestrator.services.tokens import verify_password, verify_token
from orchestrator.store.db import Database
from tests.integration.cli.conftest import Cli


def test_a_token_is_shown_once_listed_and_revoked(cli: Cli, db: Database) -> None:
    assert cli("token", "list").err.startswith("there is no token")
    said = cli("token", "create", "ci", "--role", "operator", "--expires-in", "90d")
    (token,) = said.out.splitlines()
    assert (said.code, token[:4], "cannot be shown again" in said.err) == (0, "orc_", True)
    assert verify_token(db, token) is not None
    listed = cli("token", "list")
    assert token not in listed.out
    assert listed.out.splitlines()[1].split()[:3] == ["ci", "operator", "active"]
    assert cli("token", "create", "CI", "--role", "viewer").code == 2
    assert cli("token", "revoke", "ci", "--reason", "lost").out == "token 'ci' is revoked\n"
    assert (cli("token", "revoke", "ci").code, cli("token", "list").out) == (3, "")
    assert verify_token(db, token) is None
    assert [t["status"] for t in cli("token", "list", "--revoked", "--json").json["items"]] == ["revoked"]


def test_a_password_is_read_from_a_pipe_and_can_be_changed_and_removed(cli: Cli, db: Database) -> None:
    made = cli("token", "create", "anna", "--role", "admin", "--password", "--json", stdin="correct horse\n").json
    assert made.keys() == {"id", "name", "role", "app", "token"}
    assert verify_password(db, "anna", "correct horse") is not None
    assert cli("token", "password", "anna", stdin="short\n").code == 2
    assert cli("token", "password", "anna", "--json", stdin="battery staple\n").json["password"] is True
    assert verify_password(db, "anna", "battery staple") is not None
    cli("token", "password", "anna", "--remove")
    assert verify_password(db, "anna", "battery staple") is None


@pytest.mark.parametrize("given", ["90", "x", "1y", "0d"])
def test_a_length_of_time_that_is_none_is_refused(cli: Cli, given: str) -> None:
    assert cli("token", "create", "ci", "--role", "viewer", "--expires-in", given).code == 2
