"""`orchestrator gc`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from orchestrator.blobstore import configured_blobs
from orchestrator.cli.acting import actor
from orchestrator.cli.marks import word
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines
from orchestrator.cli.preview import agreed_to
from orchestrator.cli.retention import ENDS
from orchestrator.cli.session import open_database
from orchestrator.cli.spans import SPAN
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, plural
from orchestrator.domain.retention import RUNS, Rule
from orchestrator.domain.times import span
from orchestrator.services import gc as verbs
from orchestrator.services.gc import Collected
from orchestrator.services.retention import keyed
from orchestrator.store.db import Database
from orchestrator.store.retention import load_rules

_COLUMNS = (name_column("WORKFLOW"), Column("APP"), Column("STATUS"), Column("RUNS"))


@click.command()
@click.option("--older-than", type=SPAN, metavar="AGE", help="Not by the rules: runs that ended so long ago: 30d.")
@click.option("--workflow", metavar="NAME", help="With --older-than: of this workflow.")
@click.option("--app", metavar="NAME", help="With --older-than: of this app.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(ENDS), help="With --older-than: that ended so.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after about so many runs.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="With --older-than: remove them without asking.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def gc(
    older_than: int | None,
    workflow: str | None,
    app: str | None,
    statuses: Sequence[str],
    limit: int | None,
    dry_run: bool,
    yes: bool,
    reason: str | None,
    as_json: bool,
) -> None:
    """Remove runs and histories that are older than they are to be kept.

    By the rules of `orchestrator retention`, which the coordinator follows by itself; or runs of a given age.
    """
    if older_than is None and (workflow or app or statuses or yes):
        raise click.UsageError("--workflow, --app, --status and --yes go with --older-than.")
    with open_database() as db:
        rules = _rules(db, older_than, workflow, app, statuses)
        if older_than is not None and not dry_run:
            asked = f"Remove all {_which(workflow, app, statuses)} that ended {span(older_than)} ago or earlier?"
            if not agreed_to(asked, yes, ask=not as_json):
                return
        done = _last(verbs.gc(
            db, rules, preview=dry_run, limit=limit, histories=older_than is None, blobs=configured_blobs(),
            actor=actor(), reason=reason
        ))  # fmt: skip
        unruled = older_than is None and not _ruled(db)
    if as_json:
        print_json(_shown(done, dry_run))
    else:
        _tell(done, dry_run, unruled)


def _rules(
    db: Database, older_than: int | None, workflow: str | None, app: str | None, statuses: Sequence[str]
) -> list[Rule] | None:
    if older_than is None:
        return None
    with db.transaction() as conn:
        return [keyed(conn, Rule(RUNS, app or "", workflow or "", status, older_than)) for status in statuses or [""]]


def _which(workflow: str | None, app: str | None, statuses: Sequence[str]) -> str:
    ends = " or ".join(word(status) for status in statuses)
    of = "".join(f" of {kind} '{name}'" for kind, name in (("workflow", workflow), ("app", app)) if name)
    return f"{ends} runs{of}".strip()


def _ruled(db: Database) -> bool:
    with db.transaction() as conn:
        return any(rule.what == RUNS and rule.removes for rule in load_rules(conn))


def _last(sums: Iterator[Collected]) -> Collected:
    ended = deque(sums, maxlen=1)
    return ended[0] if ended else Collected()


def _shown(done: Collected, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "count": done.roots,
        "runs": done.runs,
        "rows": done.rows,
        "items": done.by_workflow(),
        "histories": dict(done.histories),
    }


def _tell(done: Collected, dry_run: bool, unruled: bool) -> None:
    rows = [
        (Text(clean(workflow)), Text(clean(app)), Text(word(status)), Text(f"{count:,}"))
        for (workflow, app, status), count in sorted(done.counts.items())
    ]
    print_lines(console(), table(_COLUMNS, rows, None))
    if dry_run:
        note(f"{plural(done.roots, 'run')} would be removed, with the runs below them")
    else:
        below = f", with {plural(done.runs - done.roots, 'run')} below them" if done.runs > done.roots else ""
        note(f"{plural(done.roots, 'run')} removed{below}")
    for name, count in done.histories.items():
        if count:
            note(f"{plural(count, 'row')} of {name} removed")
    if unruled:
        note("no rule says that runs may go: orchestrator retention set --keep 90d, or gc --older-than 90d")
