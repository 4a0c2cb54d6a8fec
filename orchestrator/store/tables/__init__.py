"""The tables, as SQLAlchemy Core. CHECKs refuse impossible rows; migrations/ holds the same as DDL, tested equal."""

from __future__ import annotations

from orchestrator.store.tables.alerts import alert_deliveries, alert_mark, alert_rules, alert_runs, alerts
from orchestrator.store.tables.base import metadata, one_of
from orchestrator.store.tables.children import workflow_children
from orchestrator.store.tables.definitions import apps, groups, packs, workflow_revisions, workflows
from orchestrator.store.tables.hooks import hook_calls, hooks, metric_counts, metric_mark
from orchestrator.store.tables.journal import workflow_journal
from orchestrator.store.tables.measured import measured, trace_mark
from orchestrator.store.tables.retention import retention_rules, retention_turn
from orchestrator.store.tables.runs import (
    HOLDS_SLOTS,
    WAITS_FOR_SLOTS,
    run_events,
    step_logs,
    workflow_run_steps,
    workflow_runs,
    workflow_signals,
    workflow_step_attempts,
)
from orchestrator.store.tables.schedules import schedule_fires, schedule_gaps, schedules
from orchestrator.store.tables.shared import audit_log, function_rates, function_results, functions, pools, workers
from orchestrator.store.tables.tokens import api_tokens

__all__ = [
    "HOLDS_SLOTS",
    "WAITS_FOR_SLOTS",
    "alert_deliveries",
    "alert_mark",
    "alert_rules",
    "alert_runs",
    "alerts",
    "api_tokens",
    "apps",
    "audit_log",
    "function_rates",
    "function_results",
    "functions",
    "groups",
    "hook_calls",
    "hooks",
    "measured",
    "metadata",
    "metric_counts",
    "metric_mark",
    "one_of",
    "packs",
    "pools",
    "retention_rules",
    "retention_turn",
    "run_events",
    "schedule_fires",
    "schedule_gaps",
    "schedules",
    "step_logs",
    "trace_mark",
    "workers",
    "workflow_children",
    "workflow_journal",
    "workflow_revisions",
    "workflow_run_steps",
    "workflow_runs",
    "workflow_signals",
    "workflow_step_attempts",
    "workflows",
]
