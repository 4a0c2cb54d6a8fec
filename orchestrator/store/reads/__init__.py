"""What people see: keyset pages and single views, one noun a file.

Every function takes an open connection and returns dicts ready for JSON: times as ISO text in UTC, ids as text,
secret fields masked. None of them locks, counts a whole table or reads a row it does not show.
"""

from __future__ import annotations

from orchestrator.store.reads.approvals import list_approvals
from orchestrator.store.reads.apps import list_apps
from orchestrator.store.reads.attempts import list_attempts
from orchestrator.store.reads.audit import list_audit
from orchestrator.store.reads.below import MOST_COUNTED, Below, count_below, list_below
from orchestrator.store.reads.brief import (
    RunNow,
    StepBrief,
    briefs_at,
    get_brief,
    get_item_brief,
    item_name,
    list_briefs,
    run_now,
    run_statuses,
    step_marks,
    step_statuses,
)
from orchestrator.store.reads.events import list_events
from orchestrator.store.reads.family import list_family
from orchestrator.store.reads.find import find_run
from orchestrator.store.reads.functions import list_functions
from orchestrator.store.reads.items import first_open, get_item, list_items
from orchestrator.store.reads.journal import journal_head, list_begun, list_journal
from orchestrator.store.reads.logs import last_logs, list_logs
from orchestrator.store.reads.packs import list_packs
from orchestrator.store.reads.page import Page
from orchestrator.store.reads.pools import get_pool, list_pools
from orchestrator.store.reads.revisions import get_revision, get_workflow, list_revisions
from orchestrator.store.reads.runs import RunFilters, get_run, list_runs, run_app
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.reads.steps import get_step, list_steps, step_counts
from orchestrator.store.reads.tokens import list_tokens
from orchestrator.store.reads.workers import list_workers
from orchestrator.store.reads.workflows import list_workflows

__all__ = [
    "MOST_COUNTED",
    "Below",
    "Page",
    "RunFilters",
    "RunNow",
    "RunSecrets",
    "StepBrief",
    "briefs_at",
    "count_below",
    "find_run",
    "first_open",
    "get_brief",
    "get_item",
    "get_item_brief",
    "get_pool",
    "get_revision",
    "get_run",
    "get_step",
    "get_workflow",
    "item_name",
    "journal_head",
    "last_logs",
    "list_approvals",
    "list_apps",
    "list_attempts",
    "list_audit",
    "list_begun",
    "list_below",
    "list_briefs",
    "list_events",
    "list_family",
    "list_functions",
    "list_items",
    "list_journal",
    "list_logs",
    "list_packs",
    "list_pools",
    "list_revisions",
    "list_runs",
    "list_steps",
    "list_tokens",
    "list_workers",
    "list_workflows",
    "load_secrets",
    "run_app",
    "run_now",
    "run_statuses",
    "step_counts",
    "step_marks",
    "step_statuses",
]
