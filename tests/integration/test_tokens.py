"""Tokens: made, told apart, revoked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.tokens import (
    Identity,
    create_token,
    revoke_token,
    set_password,
    verify_id,
    verify_password,
    verify_token,
)
from orchestrator.store.db import Database
from orchestrator.store.reads import list_audit, list_tokens
from orchestrator.store.workflows import ensure_app


def who(db: Database, token: str) -> Identity | None:
    verified = verify_token(db, token)
    return verified.identity if verified else None


def column(db: Database, name: str, id: str) -> object:
    with db.transaction() as conn:
        return conn.execute(text(f"SELECT {name} FROM api_tokens WHERE id = :id"), {"id": id}).scalar_one()


def set_column(db: Database, name: str, value: str, id: str) -> None:
    with db.transaction() as conn:
        conn.execute(text(f"UPDATE api_tokens SET {name} = {value} WHERE id = :id"), {"id": id})


def test_a_token_tells_who_holds_it_until_it_is_revoked_and_only_its_hash_is_stored(module_db: Database) -> None:
    with module_db.transaction() as conn:
        ensure_app(conn, "Shop")
    made = create_token(module_db, "ci", Role.OPERATOR, app="shop", actor="cli:anna")
    assert who(module_db, made.token) == Identity("ci", Role.OPERATOR, "Shop", made.id)
    assert made.token not in str(column(module_db, "api_tokens::text", made.id))
    for wrong in (made.token[:-1], made.token + "x", made.token.upper(), "", "orc_" + "x" * 43, "orc_\ud800"):
        assert who(module_db, wrong) is None
    assert revoke_token(module_db, "CI", reason="lost", actor="cli:bob") == made.id
    assert who(module_db, made.token) is None
    assert verify_id(module_db, made.id) is None
    with module_db.transaction() as conn:
        acts = [(a["actor"], a["action"], a["target_id"], a["reason"]) for a in list_audit(conn, "ci").items]
    assert acts == [("cli:bob", "revoke_token", "ci", "lost"), ("cli:anna", "create_token", "ci", None)]


def test_a_name_belongs_to_one_token_until_that_is_revoked(module_db: Database) -> None:
    create_token(module_db, "Straße", Role.VIEWER)
    with pytest.raises(Conflict, match="STRASSE"):
        create_token(module_db, "STRASSE", Role.ADMIN)
    revoke_token(module_db, "strasse")
    again = create_token(module_db, "STRASSE", Role.ADMIN)
    assert who(module_db, again.token) is not None
    with pytest.raises(NotFound, match="did you mean 'STRASSE'"):
        revoke_token(module_db, "strase")
    with module_db.transaction() as conn:
        kept = [t["status"] for t in list_tokens(conn).items if t["name"].lower() != "ci"]
        all_of_them = list_tokens(conn, revoked=True).items
        first = list_tokens(conn, limit=1, revoked=True)
        rest = list_tokens(conn, first.next, revoked=True).items
    assert kept == ["active"]
    assert first.items + rest == all_of_them
    assert sorted(t["status"] for t in all_of_them if t["name"] != "ci") == ["active", "revoked"]


def test_a_token_opens_nothing_past_its_time_and_its_use_is_noted_once_a_minute(module_db: Database) -> None:
    made = create_token(module_db, "short", Role.VIEWER, expires_in=60)
    verified = verify_token(module_db, made.token)
    assert verified is not None
    assert verified.seconds is not None
    assert 0 < verified.seconds <= 60
    noted = column(module_db, "last_used_at", made.id)
    assert isinstance(noted, datetime)
    assert (datetime.now(UTC) - noted).total_seconds() < 60
    verify_token(module_db, made.token)
    assert column(module_db, "last_used_at", made.id) == noted
    set_column(module_db, "last_used_at", "last_used_at - interval '61 seconds'", made.id)
    verify_token(module_db, made.token)
    assert column(module_db, "last_used_at", made.id) >= noted
    set_column(module_db, "expires_at", "orchestrator_now()", made.id)
    assert verify_token(module_db, made.token) is None
    assert verify_id(module_db, made.id) is None


def test_a_person_logs_in_by_name_and_password_while_both_hold(module_db: Database) -> None:
    made = create_token(module_db, "anna", Role.ADMIN, password="correct horse")
    assert "correct" not in str(column(module_db, "password_hash", made.id))
    verified = verify_password(module_db, "Anna", "correct horse")
    assert verified is not None
    assert verified.identity == Identity("anna", Role.ADMIN, None, made.id)
    for name, password in (("anna", "wrong horse"), ("anne", "correct horse"), ("anna\0", "x"), ("\ud800", "\ud800")):
        assert verify_password(module_db, name, password) is None
    set_password(module_db, "anna", "battery staple")
    assert verify_password(module_db, "anna", "correct horse") is None
    assert verify_password(module_db, "anna", "battery staple") is not None
    set_password(module_db, "anna", None)
    assert verify_password(module_db, "anna", "battery staple") is None
    assert who(module_db, made.token) is not None


def test_a_token_that_cannot_be_made_is_told_with_all_reasons(module_db: Database) -> None:
    with pytest.raises(InvalidInput) as refused:
        create_token(module_db, "\ud800", Role.VIEWER, expires_in=0, password="short")
    assert [problem.path for problem in refused.value.problems] == ["name", "expires_in", "password"]
    with pytest.raises(NotFound, match="no app named 'nowhere'|nothing is registered"):
        create_token(module_db, "x", Role.VIEWER, app="nowhere")
