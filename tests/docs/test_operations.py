"""What docs/operations.md tells to run and to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text

from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from orchestrator.store.events import audit
from tests.architecture.pages import page
from tests.architecture.source import ROOT
from tests.documents import document, step
from tests.hands import Hands

PAGE = page("docs/operations.md")
TABLES = ("workflow_runs", "workflow_run_steps", "workflow_step_attempts", "step_logs", "run_events")
VIEWS = [
    *(ROOT / "orchestrator" / "cli" / name for name in ("steplines.py", "summary.py")),
    ROOT / "orchestrator" / "domain" / "words.py",
    ROOT / "orchestrator" / "services" / "why.py",
]


def sql(kind: str) -> str:
    (block,) = [body for info, body in PAGE.blocks() if info == f"sql {kind}"]
    return block


def counts(conn: Connection) -> dict[str, int]:
    return {table: conn.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in TABLES}


def test_the_statements_for_old_runs_delete_them_with_all_that_is_theirs_and_nothing_else(db: Database) -> None:
    hands = Hands(db)
    for _ in range(2):
        hands.start(document(step("a"), step("b", "a"), on_finish={"function": "ok"}))
        hands.work()
    with db.transaction() as conn:
        conn.execute(text("INSERT INTO step_logs (run_id, step_id, attempt, at, stream, level, message)"
                          " SELECT run_id, id, 1, now(), 'log', 'INFO', 'x' FROM workflow_run_steps"))  # fmt: skip
        before = counts(conn)
        conn.execute(text("UPDATE workflow_runs SET finished_at = now() - interval '91 days'"
                          " WHERE id = (SELECT min(id::text)::uuid FROM workflow_runs)"))  # fmt: skip
    hands.start(document(step("open"), name="open"))
    with db.transaction() as conn:
        opened = {table: count - before[table] for table, count in counts(conn).items()}
    _run_as_psql_does(db, sql("retention"))
    with db.transaction() as conn:
        assert counts(conn) == {table: before[table] // 2 + opened[table] for table in TABLES}
    assert min(before.values()) >= 2


def _run_as_psql_does(db: Database, statements: str) -> None:
    engine = create_engine(db.engine.url, isolation_level="AUTOCOMMIT")  # BEGIN and COMMIT are among them
    with engine.connect() as conn:
        conn.exec_driver_sql(statements)
    engine.dispose()


def test_the_rights_the_page_names_are_enough_to_run_workflows(db: Database) -> None:
    role = "orchestrator_app"
    with db.transaction() as conn:
        conn.exec_driver_sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        conn.exec_driver_sql("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        conn.exec_driver_sql(sql("rights"))
    try:
        _use_as(db, role)
    finally:
        with db.transaction() as conn:
            conn.exec_driver_sql(f"DROP OWNED BY {role}")
            conn.exec_driver_sql(f"DROP ROLE {role}")


def _use_as(db: Database, role: str) -> None:
    url = db.engine.url.set(username=role, password="x").render_as_string(hide_password=False)
    limited = Database.connect(url)
    try:
        hands = Hands(limited)
        run_id = hands.start(document(step("a"), step("b", "a", function="fail"), on_failure={"function": "ok"}))
        pause(hands.engine, run_id)
        resume(hands.engine, run_id)
        hands.work()
        assert hands.status(run_id) == "failed"
        with limited.transaction() as conn:
            audit(conn, "test", "look", "run", run_id)
    finally:
        limited.close()


def rows() -> list[str]:
    """What the program says, as the page has it."""
    section = PAGE.text.partition("## Why is it stuck")[2].partition("\n## ")[0]
    return [row for row in re.findall(r"^\| (.+?) \|", section, re.MULTILINE) if row not in ("it says", "---")]


@pytest.mark.parametrize("row", rows())
def test_what_a_stuck_run_is_said_to_be_is_what_the_program_says(row: str) -> None:
    """Apart from names and numbers."""
    source = re.sub(r"\{[^{}]*\}", "…", "".join(map(Path.read_text, VIEWS)))
    said = re.sub(r"'[A-Z]'", "'…'", row)
    said = re.sub(r"A, B|\d+ s\b|\d+|failed(?=;)", "…", said)
    assert said in source
