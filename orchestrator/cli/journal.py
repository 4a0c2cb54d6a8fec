"""`orchestrator journal`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.blobstore import configured_blobs
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json_stream, print_lines, width_of
from orchestrator.cli.session import find, open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, error_line, json_line, local, one_line, parsed
from orchestrator.domain.times import duration
from orchestrator.services.pages import every
from orchestrator.store.db import Database
from orchestrator.store.reads import journal_head, list_journal, load_secrets
from orchestrator.store.reads.whole import Read

_PAGE = 500
_COLUMNS = (
    Column("#"),
    Column("VERB"),
    name_column("NAME"),
    Column("STATUS"),
    Column("AT", gives_way=2),
    Column("TOOK", gives_way=3),
    Column("LINE", gives_way=1),
    Column("", stretches=True),
)


@click.command()
@click.argument("run")
@common
def journal(run: str, as_json: bool) -> None:
    """Show what the function of a code-first run did.

    RUN is an id, a beginning or end of one, or 'latest'. In the order of its program, from where it began last
    (continue_as_new). With --json it is a history that orchestrator.testing.replay checks new code against.
    """
    with open_database() as db:
        run_id = find(db, run)
        with db.transaction() as conn:
            head = journal_head(conn, run_id)
        if as_json:
            print_json_stream(head, "entries", _entries(db, run_id, configured_blobs().shown))
            return
        screen = console()
        rows = [_row(entry, Signs.of(screen)) for entry in _entries(db, run_id)]
        print_lines(screen, [*_head(head), *table(_COLUMNS, rows, width_of(screen))])
    if not rows:
        note("its function has done nothing yet" if head["code"] else "it is no run of a code-first workflow")


def _entries(db: Database, run_id: str, read: Read | None = None) -> Iterator[dict[str, Any]]:
    with db.transaction() as conn:
        secrets = load_secrets(conn, run_id)
    return every(db, lambda conn, after: list_journal(conn, run_id, after, _PAGE, secrets=secrets, read=read))


def _head(head: Mapping[str, Any]) -> list[Text]:
    if not head["code"]:
        return []
    version = f", version {clean(head['version'])}" if head["version"] else ""
    anew = f", begun anew {head['generation']} times" if head["generation"] else ""
    return [Text(f"{clean(head['workflow'])}{version}, {clean(head['code'])}{anew}", "dim"), Text()]


def _row(entry: Mapping[str, Any], signs: Signs) -> tuple[Text, ...]:
    at, ended_at = parsed(entry["at"]), parsed(entry["ended_at"])
    waited = (ended_at - at).total_seconds() if at and ended_at and ended_at > at else None
    return (
        Text(str(entry["position"]), "dim"),
        Text(entry["verb"]),
        Text(clean(entry["key"])),
        signs.status(entry["status"] or "waiting"),
        Text(local(at) if at else "", "dim"),
        Text(duration(waited) if waited is not None else ""),
        Text(clean(entry["line"] or ""), "dim"),
        _said(entry),
    )


def _said(entry: Mapping[str, Any]) -> Text:
    """What it gave, or its error."""
    if entry["error"]:
        return Text(error_line(entry["error"]["type"], entry["error"]["message"]), "red" if entry["status"] else "")
    return Text(one_line(json_line(entry["output"])) if entry["status"] and entry["output"] is not None else "")
