"""Results that may be used again: of a function, in an app, under a key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class Place:
    """Where a result is kept; `key` is JSON text, and may be long."""

    app: str
    function: str
    key: str

    def values(self) -> dict[str, object]:
        """The columns of its row."""
        return {"app": self.app, "function": self.function, "key_hash": hashlib.sha256(self.key.encode()).hexdigest()}


_FIND = text("""
SELECT CAST(output AS text) FROM function_results
WHERE app = :app AND function = :function AND key_hash = :key_hash AND expires_at > orchestrator_now()
""")


def find_result(conn: Connection, place: Place) -> str | None:
    """The JSON text of the result that is kept there, if it may still be used."""
    return conn.execute(_FIND, place.values()).scalar()


_KEEP = text("""
INSERT INTO function_results (app, function, key_hash, output, expires_at)
VALUES (:app, :function, :key_hash, CAST(:output AS json), orchestrator_now() + make_interval(secs => :ttl))
ON CONFLICT (app, function, key_hash) DO UPDATE SET output = excluded.output, expires_at = excluded.expires_at
""")


def keep_result(conn: Connection, place: Place, output_json: str, ttl: float) -> None:
    """Keep the result for `ttl` seconds, in the place of an earlier one."""
    conn.execute(_KEEP, place.values() | {"output": output_json, "ttl": ttl})


_FORGET = text("""
DELETE FROM function_results WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM function_results WHERE expires_at <= orchestrator_now() LIMIT :limit FOR UPDATE SKIP LOCKED
))
""")


def forget_expired(conn: Connection, limit: int) -> None:
    """Remove results that may not be used any more, the first `limit` of them."""
    conn.execute(_FORGET, {"limit": limit})
