"""SQL is in the store, and status columns have their writers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.architecture.source import Source, read, texts

# The start of a statement as people write SQL here: the verb in capitals, then what can follow it.
STATEMENT = re.compile(
    r"(?:^|[\s(\"';])(?:SELECT\s+\S|INSERT\s+INTO\s|UPDATE\s+\S+(?:\s+\w+)?\s+SET\s|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s*\("
    r"|CREATE\s+(?:TABLE|INDEX|VIEW|FUNCTION|DATABASE|ROLE|SCHEMA|TRIGGER)\s|ALTER\s+(?:TABLE|ROLE)\s|DROP\s+\w+\s"
    r"|TRUNCATE\s+\S|SET\s+LOCAL\s|LISTEN\s+\S|NOTIFY\s+\S)"
)
WRITERS = {f"orchestrator.store.{name}transition" for name in ("", "run_", "operator_", "answer_", "item_")}
FIRST_ROWS = {"workflow_run_steps": "orchestrator.store.steps", "workflow_runs": "orchestrator.store.runs"}
FILLER = "orchestrator.store.filler"  # rows that nobody ran, in the scratch database of `orchestrator bench`
STATUS = re.compile(r"(?:\bSET|,)\s*(?:\w+\.)?(?:final_)?status\s*=", re.IGNORECASE)
UPDATED = re.compile(r"\bUPDATE\s+(?:ONLY\s+)?([\w.{}]+)", re.IGNORECASE)
INSERTED = re.compile(r"\bINSERT\s+INTO\s+([\w.{}]+)", re.IGNORECASE)
REMOVAL = "orchestrator.store.removal"
RUN_LOCKED = re.compile(
    r"\bFROM\s+workflow_runs\b(?:(?!\bUNION\b)[^;])*\bFOR\s+UPDATE\b(?!\s+OF\s+s\b)|\bFOR\s+UPDATE\s+OF\s+(?:r|run)\b"
)
RUN_TABLES = {"workflow_runs", "workflow_run_steps"}


def places(source: Source, pattern: re.Pattern[str]) -> Iterator[str]:
    for line, text in texts(source):
        if found := pattern.search(text):
            yield f"{source.name}:{line} says {found.group(0).strip()!r}"


def test_sql_is_in_the_store_and_the_migrations_only() -> None:
    sources = [s for package in ("orchestrator", "workers", "web") for s in read(package)]
    outside = [s for s in sources if not s.module.startswith("orchestrator.store")]
    assert [place for source in outside for place in places(source, STATEMENT)] == []


def writes_of_status(source: Source) -> Iterator[str]:
    """Statements of the file that set a status column of an existing run or step, or might."""
    for line, text in texts(source):
        for table in UPDATED.findall(text):
            if "{" in table or (table in RUN_TABLES and STATUS.search(text)):
                yield f"{source.name}:{line} updates {table}"


def test_a_status_is_changed_in_the_files_of_transitions_only() -> None:
    """`status` and `final_status` of runs and steps. An UPDATE spells its table out, so that this test sees it."""
    sources = [s for package in ("orchestrator", "workers", "web") for s in read(package)]
    others = [s for s in sources if s.module not in WRITERS]
    assert [place for source in others for place in writes_of_status(source)] == []


def test_first_rows_are_inserted_by_one_file_a_table() -> None:
    """A row's first status is part of its insertion: of steps in store/steps.py, of runs in store/runs.py."""
    sources = [s for package in ("orchestrator", "workers", "web") for s in read(package)]
    inserted = {
        (t, s.module) for s in sources if s.module != FILLER for _, text in texts(s) for t in INSERTED.findall(text)
    }
    assert {(table, module) for table, module in inserted if table in RUN_TABLES} == set(FIRST_ROWS.items())


def test_steps_and_runs_are_not_written_through_the_query_builder() -> None:
    """Statements on them are SQL text, which the tests here can read."""
    builder = re.compile(r"\b(?:workflow_runs|workflow_run_steps)\s*\.\s*(?:update|insert|delete)\s*\(")
    builder_call = re.compile(r"\b(?:update|insert|delete)\s*\(\s*(?:tables\.)?(?:workflow_runs|workflow_run_steps)\b")
    sources = [s for package in ("orchestrator", "workers", "web") for s in read(package)]
    code = [(s.name, s.path.read_text()) for s in sources]
    assert [name for name, text in code if builder.search(text) or builder_call.search(text)] == []


def test_a_run_that_stays_is_locked_as_a_change_of_it_locks_it() -> None:
    """docs/adr/0003: who has a share of the run's row, for a key that was checked, is in nobody's way."""
    sources = [s for package in ("orchestrator", "workers", "web", "migrations") for s in read(package)]
    assert [place for s in sources if s.module != REMOVAL for place in places(s, RUN_LOCKED)] == []
    assert RUN_LOCKED.search("PERFORM FROM workflow_runs run WHERE run.id = ANY (over) ORDER BY run.id FOR UPDATE;")


def test_the_status_rule_sees_a_second_writer() -> None:
    assert STATUS.search("UPDATE workflow_run_steps s SET status = 'ready'")
    assert STATUS.search("UPDATE workflow_runs SET error = NULL,\n  final_status = 'failed'")
    assert not STATUS.search("UPDATE workflow_run_steps SET progress = :p WHERE id = :id AND status = 'running'")
    assert STATEMENT.search("UPDATE workflow_runs SET vars = :vars")
    assert not STATEMENT.search("update the app and set its group, or select another")
