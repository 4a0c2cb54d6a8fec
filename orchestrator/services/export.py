"""Write runs down as lines of JSON, a few rows at a time: all that is theirs, without what is secret."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain import archive as lines
from orchestrator.domain.blobs import has_references, holds, loads, with_words
from orchestrator.domain.secret_fields import mask_fields
from orchestrator.domain.states import RUN_TERMINAL
from orchestrator.errors import BlobGone, ExpressionError
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.store import archive
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, RunSecrets, journal_head, list_journal, load_secrets
from orchestrator.store.reads.runs import find_ids
from orchestrator.store.reads.secrets import load_schemas

Line = dict[str, Any]
_PAGE = 500
# Text of people's, in which a secret may be echoed.
_TEXTS = ("message", "pause_reason", "cancel_reason", "hold_reason", "idempotency_key", "limit_key")
_ANY = ("output", "input", "value", "payload", "item", "progress")  # which may be a text
_PARTS = ("journal", "signal", "log", "event")


@dataclass(slots=True)
class Exported:
    """What was written so far: the topmost runs by id, each with when (by this process's clock that only rises) it had
    not changed yet; and how many runs in all."""

    seen_at: dict[str, float] = field(default_factory=dict)
    runs: int = 0

    @property
    def trees(self) -> int:
        return len(self.seen_at)


def find_roots(db: Database, filters: RunFilters) -> Iterator[str]:
    """The topmost runs above those that the filters find, each once, newest first. Raises `NotFound`."""
    seen: set[str] = set()
    after: str | None = None
    while True:
        with db.transaction() as conn:
            ids = find_ids(conn, filters, after, _PAGE)
            roots = [root for root in archive.roots_of(conn, ids) if root not in seen]
        seen.update(roots)
        yield from roots
        if len(ids) < _PAGE:
            return
        after = ids[-1]


def export(
    db: Database,
    roots: Iterator[str] | Sequence[str],
    done: Exported,
    *,
    ended: bool = False,
    blobs: Blobs = NO_BLOBS,
) -> Iterator[Line]:
    """The lines of these runs with all below them; those of a tree are as the database was at one moment.

    Values in the blob store are written as they are; of one that is gone there, what it was in words. With `ended`
    trees with an open run are left out. `done` is kept up to date. Raises `Unreachable` and `BlobsAway`.
    """
    yield {"kind": lines.HEAD, "format": lines.FORMAT}
    told: set[str] = set()
    for root in roots:
        began = time.monotonic()
        with db.transaction() as conn:
            archive.snapshot(conn)
            tree = archive.tree_of(conn, root)
            if not tree or (ended and any(run.status not in RUN_TERMINAL for run in tree)):
                continue  # removed meanwhile, or open
            yield from _tree(conn, root, tree, told, blobs)
        done.seen_at[root] = began
        done.runs += len(tree)


def _tree(conn: Connection, root: str, tree: Sequence[Any], told: set[str], blobs: Blobs) -> Iterator[Line]:
    for revision in dict.fromkeys(str(run.revision_id) for run in tree):
        if revision not in told:
            told.add(revision)
            yield {"kind": lines.REVISION, **archive.revision_of(conn, revision)}
    yield {"kind": lines.TREE, "id": root, "runs": len(tree)}
    count = 0
    for run in tree:
        for line in _run(conn, str(run.id), run.app, blobs):
            count += 1
            yield line
    yield {"kind": lines.END, "id": root, "lines": count}


def _whole(blobs: Blobs, row: Line) -> Line:
    """The row with what lies in the blob store."""
    return {name: _of_store(blobs, value) if holds(value) else value for name, value in row.items()}


def _of_store(blobs: Blobs, value: Any) -> Any:
    try:
        return blobs.whole(value)
    except (BlobGone, ExpressionError) as error:
        return with_words(value, f"; {error}")


def _run(conn: Connection, run_id: str, app: str, blobs: Blobs) -> Iterator[Line]:
    secrets = load_secrets(conn, run_id)
    row, whole = _whole(blobs, archive.run_row(conn, run_id)), partial(_whole, blobs)
    yield {"kind": lines.RUN, "app": app, **_shown_run(row, secrets, archive.was_imported(conn, run_id))}
    for steps, attempts in archive.steps_of(conn, run_id):
        outputs = _child_schemas(conn, steps)
        for step in map(whole, steps):
            if step["id"] in outputs and "output" in step:
                step["output"] = mask_fields(outputs[step["id"]], step["output"])
            yield _shown("step", step, secrets)
        yield from (_shown("attempt", attempt, secrets) for attempt in attempts)
    for kind in _PARTS:
        shown = (_shown(kind, part, secrets) for part in map(whole, archive.parts_of(conn, kind, run_id)))
        yield from (line for line in shown if line.get("event") != lines.IMPORTED)
    yield from (_shown("child", link, secrets) for link in archive.children_of(conn, run_id))
    yield from _history(conn, run_id, secrets, blobs)


def _child_schemas(conn: Connection, steps: Sequence[Line]) -> dict[str, Any]:
    """The schemas of what children gave, by step, where these have secrets: they stay the child's."""
    called = archive.child_revisions(conn, [step["id"] for step in steps if "function" not in step])
    schemas = load_schemas(conn, list(called.values())) if called else {}
    return {step: schemas[revision][1] for step, revision in called.items() if revision in schemas}


def _shown_run(row: Line, secrets: RunSecrets, imported: bool) -> Line:
    own = {"input": secrets.show_input(row["input"])}
    if "output" in row:
        own["output"] = secrets.show_output(row["output"])
    if imported:
        own["tags"] = [tag for tag in row["tags"] if tag != lines.TAG]
    return _masked(row, secrets) | own


def _shown(kind: str, row: Line, secrets: RunSecrets) -> Line:
    shown = _masked(row, secrets)
    if kind == "event":
        shown = {"event": shown.pop("kind"), **shown}
    if kind == "journal" and row["position"] == 0:
        shown.pop("line", None)  # the number of a line of the log, which are numbered anew
    return {"kind": kind, **shown}


def _masked(row: Line, secrets: RunSecrets) -> Line:
    if not secrets.masker:
        return dict(row)
    return {
        name: secrets.show(value) if name in _TEXTS or not isinstance(value, str | int | bool) else value
        for name, value in row.items()
    } | {name: secrets.show(row[name]) for name in _ANY if name in row}


def _history(conn: Connection, run_id: str, secrets: RunSecrets, blobs: Blobs) -> Iterator[Line]:
    """What the function of a code-first run did, as `orchestrator.testing.replay` takes it."""
    head = journal_head(conn, run_id, secrets)
    if head["code"] is None:
        return
    entries: list[Any] = []
    after: str | None = None
    while True:
        page = list_journal(conn, run_id, after, _PAGE, secrets=secrets)
        entries += [_referred(blobs, entry) for entry in page.items]
        after = page.next
        if after is None:
            break
    yield {"kind": lines.HISTORY, **head, "entries": entries}


def _referred(blobs: Blobs, entry: Line) -> Line:
    """The same of a view's entry, in which references were copied."""
    if not has_references(entry["output"]):
        return entry
    return entry | {"output": _of_store(blobs, loads(json.dumps(entry["output"])))}
