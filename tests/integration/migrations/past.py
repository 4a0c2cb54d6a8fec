"""Rows as they may have been at any revision: one more of each table that there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, text

# In the order of their foreign keys. Of each column the value as SQL; columns that are not there yet are left out. `:n`
# is the number of the row; `id` is its own id, and the name of a table that of the row there.
ROWS: Mapping[str, Mapping[str, str]] = {
    "groups": {"id": "id", "name": "'g' || :n", "name_key": "'g' || :n"},
    "apps": {"id": "id", "name": "'a' || :n", "name_key": "'a' || :n", "group_id": "groups", "config": "'{\"x\": 1}'"},
    "packs": {"id": "id", "name": "'p' || :n", "name_key": "'p' || :n", "app_id": "apps", "version": "'1'"},
    "workflows": {
        "id": "id",
        "name": "'w' || :n",
        "name_key": "'w' || :n",
        "app_id": "apps",
        "latest_revision": "1",
        "pack_id": "packs",
    },
    "workflow_revisions": {
        "id": "id",
        "workflow_id": "workflows",
        "number": "1",
        "document": '\'{"name": "w", "steps": [{"name": "a", "function": "ok"}]}\'',
        "content_hash": "'h' || :n",
    },
    "workflow_runs": {
        "id": "id",
        "workflow_id": "workflows",
        "revision_id": "workflow_revisions",
        "app_id": "apps",
        "status": "'failed'",
        "final_status": "'failed'",
        "input": '\'{"n": [1, null, "é"]}\'',
        "vars": "'{}'",
        "error": '\'{"type": "E", "message": "m", "step": "a"}\'',
        "tags": "ARRAY['t']",
        "idempotency_key": "'k' || :n",
        "root_id": "id",
        "step_count": "1",
        "created_at": "now()",
        "started_at": "now()",
        "finished_at": "now()",
    },
    "workflow_run_steps": {
        "id": "id",
        "run_id": "workflow_runs",
        "app_id": "apps",
        "position": "0",
        "name": "'a'",
        "function": "'ok'",
        "leaf": "true",
        "status": "'failed'",
        "reason": "'error'",
        "queue": "'default'",
        "source_count": "0",
        "remaining_sources": "0",
        "attempt": "1",
        "started_at": "now()",
        "finished_at": "now()",
        "error": '\'{"type": "E", "message": "m"}\'',
    },
    "workflow_step_attempts": {
        "step_id": "workflow_run_steps",
        "number": "1",
        "outcome": "'failed'",
        "finished_at": "now()",
    },
    "workflow_children": {
        "parent_step_id": "workflow_run_steps",
        "attempt": "1",
        "child_run_id": "workflow_runs",
        "parent_run_id": "workflow_runs",
        "workflow_id": "workflows",
        "child_id": "'c' || :n",
    },
    "workflow_signals": {"run_id": "workflow_runs", "name": "'e'", "payload": "'1'", "actor": "'x'"},
    "workflow_journal": {
        "run_id": "workflow_runs",
        "position": "0",
        "part": "0",
        "verb": "'step'",
        "name": "'a'",
        "key": "'a'",
        "attempt": "1",
        "generation": "0",
    },
    "run_events": {"run_id": "workflow_runs", "kind": "'run.failed'", "data": "'{}'"},
    "step_logs": {
        "run_id": "workflow_runs",
        "step_id": "workflow_run_steps",
        "attempt": "1",
        "at": "now()",
        "stream": "'log'",
        "level": "'INFO'",
        "message": "'m'",
    },
    "audit_log": {"actor": "'x'", "action": "'cancel'", "target_kind": "'run'", "target_id": "'r'", "data": "'{}'"},
    "functions": {"name": "'f' || :n", "module": "'m'", "retry": "'{}'"},
    "function_rates": {"function": "'f' || :n", "arrival_at": "now()"},
    "function_results": {
        "app": "'a'",
        "function": "'f'",
        "key_hash": "'k' || :n",
        "output": "'1'",
        "expires_at": "now()",
    },
    "pools": {"name": "'p' || :n", "slots": "3"},
    "workers": {"id": "'w' || :n", "kind": "'worker'", "host": "'h'", "pid": "1", "version": "'1'"},
    "api_tokens": {
        "id": "id",
        "name": "'t' || :n",
        "name_key": "'t' || :n",
        "role": "'viewer'",
        "app_id": "apps",
        "token_hash": "'h' || :n",
        "created_by": "'x'",
    },
    "hooks": {
        "id": "id",
        "name": "'h'",
        "name_key": "'h'",
        "app_id": "apps",
        "workflow": "'w'",
        "scheme": "'timed'",
        "secret": "'s'",
        "input": "'1'",
        "created_by": "'x'",
    },
    "hook_calls": {"hook_id": "hooks", "call_key": "'k'", "expires_at": "now()"},
    "metric_counts": {"name": "'run.started'", "app": "'a' || :n", "workflow": "'w'", "count": "7"},
    "metric_mark": {"one": "true", "counted_xid": "1", "low_event": "0", "mark_xid": "1", "mark_event": "0"},
    "schedules": {
        "id": "id",
        "name": "'s'",
        "name_key": "'s'",
        "app_id": "apps",
        "workflow": "'w'",
        "workflow_key": "'w'",
        "input": "'{}'",
        "interval_seconds": "60",
        "timezone": "'UTC'",
        "catchup_seconds": "60",
        "overlap": "'skip'",
        "jitter_seconds": "0",
        "max_failures": "0",
        "created_by": "'x'",
        "changed_by": "'x'",
    },
    "schedule_fires": {
        "schedule_id": "schedules",
        "fire_at": "now()",
        "cause": "'due'",
        "status": "'failed'",
        "run_id": "workflow_runs",
    },
    "schedule_gaps": {
        "schedule_id": "schedules",
        "first_at": "now()",
        "last_at": "now()",
        "count": "1",
        "reason": "'missed'",
    },
    "alert_rules": {
        "id": "id",
        "name": "'r' || :n",
        "name_key": "'r' || :n",
        "app_id": "apps",
        "kinds": "ARRAY['run_failed']",
        "severity": "'info'",
        "stuck_seconds": "300",
        "group_seconds": "60",
        "repeat_seconds": "3600",
        "resolved": "true",
        "emails": "ARRAY['a@x.example']",
        "created_by": "'x'",
        "changed_by": "'x'",
    },
    "alerts": {
        "id": "id",
        "rule_id": "alert_rules",
        "kind": "'run_failed'",
        "what": "'w'",
        "subject": "'{}'",
        "total": "1",
        "unsent": "1",
        "due_at": "now()",
    },
    "alert_runs": {"alert_id": "alerts", "run_id": "workflow_runs"},
    "alert_deliveries": {
        "id": "id",
        "rule_id": "alert_rules",
        "alert_id": "alerts",
        "channel": "'email'",
        "state": "'firing'",
        "message": "'{}'",
        "due_at": "now()",
    },
    "alert_mark": {"one": "true", "counted_xid": "1", "low_event": "0", "mark_xid": "1", "mark_event": "0"},
    "retention_rules": {"what": "'runs'", "app_key": "'a' || :n", "keep_seconds": "60", "changed_by": "'x'"},
    "retention_turn": {"one": "true", "holder": "'x'", "free_at": "now()"},
    "measured": {"name": "'tick'", "label": "'l' || :n", "counts": "'{1,2}'", "total": "3"},
    "trace_mark": {"one": "true", "counted_xid": "1", "low_event": "0", "mark_xid": "1", "mark_event": "0"},
}
_ONLY_ONE = ("metric_mark", "alert_mark", "retention_turn", "trace_mark")
_COLUMNS = text("""
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name <> 'alembic_version'
  AND table_name NOT IN (SELECT table_name FROM information_schema.views WHERE table_schema = 'public')
""")


def columns_of(conn: Connection) -> dict[str, set[str]]:
    """The columns of every table that there is."""
    found: dict[str, set[str]] = {}
    for row in conn.execute(_COLUMNS):
        found.setdefault(row.table_name, set()).add(row.column_name)
    return found


def add_rows(conn: Connection, n: int) -> dict[str, list[Any]]:
    """One more row of each table; the rows as JSON, by table."""
    there = columns_of(conn)
    unknown = there.keys() - ROWS.keys()
    assert unknown == set(), f"say in {__name__} what a row of {unknown} is"
    return {table: _add(conn, table, there[table], n) for table in ROWS if table in there}


def _add(conn: Connection, table: str, there: set[str], n: int) -> list[Any]:
    values = {name: _value(table, value) for name, value in ROWS[table].items() if name in there}
    once = "ON CONFLICT DO NOTHING" if table in _ONLY_ONE else ""
    made = text(
        f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} {once}"
        f" RETURNING to_jsonb({table}.*)"
    )
    return list(conn.execute(made, {"n": str(n)}).scalars())


def _value(table: str, value: str) -> str:
    """`id` is the row's own; the name of a table is the id of its row."""
    named = table if value == "id" else value
    return f"md5('{named}' || :n)::uuid" if named in ROWS else value
