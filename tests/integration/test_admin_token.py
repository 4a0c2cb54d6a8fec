"""The token `up` keeps in its folder."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import revoke_token, verify_token
from orchestrator.store.db import Database
from orchestrator.store.reads import list_tokens
from orchestrator.up.admin import FILE, admin_token


def test_the_token_of_a_folder_stays_until_it_opens_nothing_and_is_for_its_user_alone(
    db: Database, database_url: str, tmp_path: Path
) -> None:
    folder = DataFolder(tmp_path)
    config = replace(Config(database_url=database_url), data_dir=tmp_path)
    first = admin_token(config, folder)
    assert admin_token(config, folder) == first
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    verified = verify_token(db, first)
    assert verified is not None
    assert (verified.identity.role, verified.identity.app) == (Role.ADMIN, None)

    revoke_token(db, verified.identity.name)
    second = admin_token(config, folder)
    (tmp_path / FILE).unlink()
    third = admin_token(config, folder)
    assert len({first, second, third}) == 3
    assert [verify_token(db, token) is not None for token in (first, second, third)] == [False, False, True]
    with db.transaction() as conn:
        assert [token["name"] for token in list_tokens(conn).items] == [verified.identity.name]
