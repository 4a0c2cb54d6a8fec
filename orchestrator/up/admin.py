"""The token by which the person at this machine signs in, made at the first `up` and kept in the data folder."""

from __future__ import annotations

import socket
from contextlib import suppress

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.domain.roles import Role
from orchestrator.errors import NotFound
from orchestrator.services.actor import acting_user
from orchestrator.services.tokens import create_token, revoke_token, verify_token
from orchestrator.store.db import Database

FILE = "admin_token"


def admin_token(config: Config, folder: DataFolder) -> str:
    """The folder's token; a new one where it has none, or one that opens nothing in this database any more."""
    db = Database.connect(config.database_url, pool_size=1)
    try:
        kept = (folder.read(FILE) or "").strip()
        if verify_token(db, kept) is not None:
            return kept
        made = _made(db, folder)
        folder.write_private(FILE, made)
        return made
    finally:
        db.close()


def _made(db: Database, folder: DataFolder) -> str:
    """A new token under this folder's name; one that was lost with the file is revoked."""
    actor = acting_user("up")
    name = "".join(c for c in f"up {socket.gethostname()}:{folder.path}" if c.isprintable())[:255]
    with suppress(NotFound):
        revoke_token(db, name, reason="replaced by a new one", actor=actor)
    return create_token(db, name, Role.ADMIN, actor=actor).token
