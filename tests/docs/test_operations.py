"""What docs/operations.md tells to run and to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from orchestrator.store.events import audit
from tests.architecture.pages import page
from tests.architecture.source import ROOT
from tests.documents import document, step
from tests.hands import Hands

PAGE = page("docs/operations.md")
VIEWS = [
    *(ROOT / "orchestrator" / "cli" / name for name in ("steplines.py", "summary.py")),
    ROOT / "orchestrator" / "domain" / "words.py",
    ROOT / "orchestrator" / "services" / "why.py",
]


def sql(kind: str) -> str:
    (block,) = [body for info, body in PAGE.blocks() if info == f"sql {kind}"]
    return block


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
