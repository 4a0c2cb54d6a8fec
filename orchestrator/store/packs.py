"""Packs, and which workflows came with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.domain.pack import Pack
from orchestrator.errors import NotFound
from orchestrator.ids import new_id
from orchestrator.store.workflows import Owner, name_key

_LOCK = """
INSERT INTO packs (id, name, name_key, {owner}_id) VALUES (:id, :name, :key, :owner_id)
ON CONFLICT ({owner}_id, name_key) DO UPDATE SET name = packs.name
RETURNING id, name, version, id <> :id AS known
"""


def lock_pack(conn: Connection, owner: Owner, name: str) -> Row[Any]:
    """The owner's pack of this name (id, name, version, known), made when it is new, locked."""
    values = {"id": new_id(), "name": name, "key": name_key(name), "owner_id": owner.id}
    return conn.execute(text(_LOCK.format(owner=owner.kind)), values).one()


_LOCK_KNOWN = "SELECT id, name, version FROM packs WHERE {owner}_id = :owner_id AND name_key = :key FOR UPDATE"
_NAMES = "SELECT name FROM packs WHERE {owner}_id = :owner_id ORDER BY name_key"


def lock_known(conn: Connection, owner: Owner, name: str) -> Row[Any]:
    """The owner's pack of this name (id, name, version), locked; raises `NotFound`."""
    values = {"owner_id": owner.id, "key": name_key(name)}
    row = conn.execute(text(_LOCK_KNOWN.format(owner=owner.kind)), values).first()
    if row is None:
        names = conn.execute(text(_NAMES.format(owner=owner.kind)), values).scalars().all()
        raise NotFound(f"{owner.kind} '{owner.name}' has no pack '{name}'{did_you_mean(name, names)}")
    return row


_DESCRIBE = text("""
UPDATE packs SET name = :name, version = :version, label = :label, description = :description,
  upgraded_at = CASE WHEN :known THEN orchestrator_now() END
WHERE id = :id
""")


def describe_pack(conn: Connection, pack_id: str, pack: Pack, *, known: bool) -> None:
    """Store what the pack says of itself; `known`: it was there before."""
    told = {"name": pack.name, "version": pack.version, "label": pack.label, "description": pack.description}
    conn.execute(_DESCRIBE, told | {"id": pack_id, "known": known})


def delete_pack(conn: Connection, pack_id: str) -> None:
    """Forget a pack that has no workflows any more."""
    conn.execute(text("DELETE FROM packs WHERE id = :id"), {"id": pack_id})


_MEMBERS = text("""
SELECT id, name, name_key, latest_revision FROM workflows WHERE pack_id = :pack_id ORDER BY name_key FOR UPDATE
""")


def lock_members(conn: Connection, pack_id: str) -> Sequence[Row[Any]]:
    """The workflows that came with the pack, by name, locked."""
    return conn.execute(_MEMBERS, {"pack_id": pack_id}).all()


def pack_name(conn: Connection, pack_id: str) -> str:
    """The name of a pack that is there."""
    return str(conn.execute(text("SELECT name FROM packs WHERE id = :id"), {"id": pack_id}).scalar_one())
