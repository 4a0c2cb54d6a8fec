"""Names that are SQL, paths, templates or options stay names, wherever the command line takes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.cli.exits import Exit
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import create_token
from tests.hands import Hands
from tests.integration.cli.conftest import Cli

NAMES = (
    "'; DROP TABLE workflow_runs; --",
    "x' OR '1'='1' UNION SELECT token_hash FROM api_tokens --",
    "%s %(id)s :id $1 {0} \\'",
    "../../../../etc/passwd",
    "/etc/passwd%00.yaml",
    "{{ 7 * 7 }}${7*7}$(id)`id`",
)
# NAME stands for the name.
COMMANDS = (
    "show NAME",
    "show latest --step NAME",
    "show latest --why NAME",
    "watch NAME",
    "logs NAME",
    "logs latest NAME",
    "start NAME",
    "start known --idempotency-key NAME --tag NAME",
    "runs --workflow NAME",
    "runs --tag NAME --error NAME",
    "runs --after NAME",
    "workflows --app NAME",
    "workflows --after NAME",
    "graph NAME",
    "cancel NAME",
    "pause latest --reason NAME",
    "resume latest --reason NAME",
    "retry NAME",
    "rerun latest --from NAME",
    "mark latest NAME skipped",
    "hold latest NAME",
    "release latest NAME",
    "signal latest NAME",
    "approve latest NAME",
    "approvals --app NAME",
    "pools NAME --slots 3",
    "pools NAME",
    "apps NAME --group NAME",
    "token create NAME --role viewer",
    "token revoke NAME",
    "unregister NAME",
    "pack show NAME",
    "pack remove NAME",
    "hook show NAME",
    "schedule show NAME",
    "audit --actor NAME",
    "functions --after NAME",
)


@pytest.fixture
def before(shared_hands: Hands) -> Iterator[None]:
    """No table is dropped or made."""
    create_token(shared_hands.db, "secret", Role.ADMIN)
    tables = _tables(shared_hands)
    yield
    assert _tables(shared_hands) == tables


def _tables(hands: Hands) -> set[str]:
    with hands.db.transaction() as conn:
        return set(conn.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars())


@pytest.mark.usefixtures("before")
def test_a_name_is_never_sql_nor_a_path(shared_cli: Cli, shared_hands: Hands) -> None:
    shared_hands.start({"name": "known", "steps": [{"name": "a", "sleep": 3600}]})
    shared_hands.work()
    for place, command in enumerate(COMMANDS):
        for name in (NAMES[place % len(NAMES)], NAMES[(place + 1) % len(NAMES)]):
            said = shared_cli(*(name if word == "NAME" else word for word in command.split()))
            assert said.code in (Exit.OK, Exit.RUN_FAILED, Exit.INVALID, Exit.NOT_FOUND), (command, name, said)
            assert "root:" not in said.out + said.err
            assert "Traceback" not in said.err
            assert "token_hash" not in (said.out + said.err).replace(name, "")


def test_a_workflow_of_such_names_runs_and_is_shown_by_them(
    shared_cli: Cli, shared_hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(NAMES):
        steps = [{"name": name, "function": "ok", "input": {"n": number}, "queue": "q" + str(number)}]
        file = tmp_path / "document.json"
        file.write_text(json.dumps({"name": name, "tags": [name], "steps": steps}))
        assert shared_cli("register", file).code == Exit.OK
        run_id = shared_cli("start", name).out.strip()
        with shared_hands.db.transaction() as conn:
            found = conn.execute(text("SELECT name FROM workflow_run_steps WHERE run_id = :id"), {"id": run_id})
            assert found.scalars().all() == [name]
        assert [run["id"] for run in shared_cli("runs", "--workflow", name, "--json").json["items"]] == [run_id]
        assert shared_cli("show", run_id, "--step", name, "--json").json["step"]["name"] == name
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["document.json"]
