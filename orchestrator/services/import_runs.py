"""Bring runs in that were written down elsewhere, to be looked at: a tree of them a transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain import archive as lines
from orchestrator.domain.blobs import about, folder_of, has_references
from orchestrator.domain.build import build
from orchestrator.domain.graph import make_plan
from orchestrator.domain.loading.faults import UNSTORABLE
from orchestrator.errors import InvalidInput, Problem
from orchestrator.ids import is_id
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.services.register import hash_document
from orchestrator.store import events, unarchive
from orchestrator.store.db import Database
from orchestrator.store.faults import one_line, rejected

MOST_BYTES = 256 << 20  # of a line
_CHUNK = 500
_INVALID = "the file cannot be imported"
_REVISION = {"workflow": str, "number": int, "document": dict, "content_hash": str, "created_at": str, "owner": dict}


@dataclass(slots=True)
class Imported:
    """What came so far: trees and runs; trees that were here (`known`); revisions that are new here; by id the runs."""

    trees: int = 0
    runs: int = 0
    known: int = 0
    revisions: int = 0
    ids: list[str] = field(default_factory=list)


def import_runs(
    db: Database, source: Iterable[bytes], *, name: str, actor: str, blobs: Blobs = NO_BLOBS
) -> Iterator[Imported]:
    """Bring in what these lines tell; the sum so far after each tree. `name`: of the file, for the history.

    What is here is left as it is, so that a file may be brought in twice, and a broken one again once it is whole. A
    run that was open comes in paused. Raises `InvalidInput` that names the line where the file is cut, is none of ours
    or of a later version, or says what cannot be: all trees before it have come in.
    """
    return _Import(db, name, actor, blobs).run(source)


class _Import:
    def __init__(self, db: Database, name: str, actor: str, blobs: Blobs) -> None:
        self.db, self.name, self.actor, self.blobs = db, name, actor, blobs
        self.done = Imported()
        self.number = 0
        self.begun: int | None = None  # the line of the tree under way
        self.revisions: dict[str, dict[str, Any]] = {}
        self.types = {kind: unarchive.types_of(kind) for kind in lines.TABLES}

    def run(self, source: Iterable[bytes]) -> Iterator[Imported]:
        rest = self._lines(source)
        for line in rest:
            match line["kind"]:
                case lines.HEAD:
                    self._check_head(line)
                case lines.REVISION:
                    self._note_revision(line)
                case lines.TREE:
                    self._tree(line, rest)
                    yield self.done
                case _:
                    raise self.fault("stands outside of a tree")
        if self.number == 0:
            raise self.fault("is missing: the file is empty")

    def fault(self, what: str, line: int | None = None) -> InvalidInput:
        return InvalidInput([Problem(f"line {line or max(self.number, 1)}", what)], _INVALID)

    def _lines(self, source: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """Each line as a map with a kind, with `number` at it."""
        for raw in self._read(source):
            self.number += 1
            if len(raw) > MOST_BYTES:
                raise self.fault(f"has more than {MOST_BYTES >> 20} MiB")
            if not raw.strip():
                continue
            try:
                line = json.loads(raw, parse_constant=_no_constant)
            except (ValueError, RecursionError) as error:
                cut = "" if raw.endswith(b"\n") else ": the file ends here"
                raise self.fault(f"is not JSON ({error}){cut}") from error
            if (b"blob" in raw or b"\\u00" in raw) and has_references(line):
                raise self.fault("holds a reference into a blob store, which no export has")
            if _has_unstorable(raw, line):
                raise self.fault("holds a character that cannot be stored: NUL, or half of a surrogate pair")
            if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
                raise self.fault("is not a line of an export of runs")
            if self.number == 1 and line["kind"] != lines.HEAD:
                raise self.fault("is not the beginning of an export of runs")
            yield line

    def _read(self, source: Iterable[bytes]) -> Iterator[bytes]:
        try:
            yield from source
        except (EOFError, OSError, ValueError) as error:  # of gzip: cut, or none
            self.number += 1
            raise self.fault(f"cannot be read: {error}") from error

    def _check_head(self, line: Mapping[str, Any]) -> None:
        if line.get("format") != lines.FORMAT:
            later = isinstance(line.get("format"), int) and line["format"] > lines.FORMAT
            how = "a later version of the orchestrator has written it" if later else "nothing is known of it"
            raise self.fault(f"has the format {line.get('format')!r}, this version reads {lines.FORMAT}: {how}")

    def _note_revision(self, line: dict[str, Any]) -> None:
        wrong = [name for name, kind in _REVISION.items() if not isinstance(line.get(name), kind)]
        owner = line.get("owner")
        if wrong or not is_id(str(line.get("id"))) or not isinstance(owner, dict) or not _is_owner(owner):
            raise self.fault(f"is not a revision: {', '.join(wrong) or 'its id or owner'}")
        if hash_document(line["document"]) != line["content_hash"]:
            raise self.fault("is a revision whose document was changed")
        try:
            make_plan(build(line["document"]))
        except Exception as error:  # noqa: BLE001 - whatever a document holds that this version cannot read
            raise self.fault(f"is a revision this version cannot read ({type(error).__name__}: {error})") from error
        self.revisions[line["id"]] = line

    def _tree(self, head: Mapping[str, Any], rest: Iterator[dict[str, Any]]) -> None:
        self.begun = self.number
        with rejected() as told, self.db.transaction() as conn:
            tree = _Tree(self, conn, str(head.get("id")))
            for line in rest:
                if line["kind"] == lines.END:
                    tree.finish(line)
                    break
                tree.add(line)
            else:
                raise self.fault(
                    f"begins a run that does not end: the file was cut after line {self.number}", self.begun
                )
        if told:
            raise self.fault(f"begins a run that cannot be (up to line {self.number}): {one_line(told[0])}", self.begun)
        tree.count()


class _Tree:
    """The runs of one tree, a chunk of rows at a time, in one transaction."""

    def __init__(self, parent: _Import, conn: Connection, root: str) -> None:
        self.parent, self.conn, self.root = parent, conn, root
        self.now = datetime.now(UTC).isoformat()
        self.rows: list[dict[str, Any]] = []
        self.kind = ""
        self.lines = self.made = 0
        self.apps: dict[str, str] = {}
        self.placed: dict[str, tuple[str, str]] = {}
        self.runs: list[str] = []
        self.links: list[dict[str, Any]] = []
        self.known = bool(unarchive.known_runs(conn, [root])) if is_id(root) else False
        if not is_id(root):
            raise parent.fault("has no id of a run")

    def add(self, line: dict[str, Any]) -> None:
        self.lines += 1
        kind = line.pop("kind")
        if self.known or kind == lines.HISTORY:
            return
        if kind not in lines.TABLES:
            raise self.parent.fault(f"is of a kind that has no place here: {kind!r}")
        if kind != self.kind or len(self.rows) >= _CHUNK or kind == lines.RUN:
            self._flush()
        self.kind = kind
        row = _ROWS.get(kind, _as_it_is)(self, line)
        self._check(kind, row)
        (self.links if kind == "child" else self.rows).append(row)

    def _check(self, kind: str, row: Mapping[str, Any]) -> None:
        known = self.parent.types[kind]
        unknown = [name for name in row if name not in known and name not in _OWN.get(kind, {})]
        if unknown:
            raise self.parent.fault(f"says what this version does not know of a {kind}: {', '.join(unknown)}")
        owner = row.get("parent_run_id" if kind == "child" else "run_id")
        if kind not in (lines.RUN, "attempt") and owner not in self.runs:
            raise self.parent.fault(f"is a {kind} of a run that does not come before it")

    def run(self, line: dict[str, Any]) -> dict[str, Any]:
        revision = self.parent.revisions.get(str(line.get("revision_id")))
        app = line.pop("app", None)
        if revision is None or not isinstance(app, str) or not is_id(str(line.get("id"))):
            raise self.parent.fault("is a run without id, app, or a revision that comes before it")
        if line.get("root_id") != self.root or not isinstance(line.get("status"), str):
            raise self.parent.fault("is a run that is not of this tree, or in no state")
        if not isinstance(line.get("idempotency_key", ""), str):
            raise self.parent.fault("is a run whose idempotency key is no text")
        workflow_id, revision_id = self._placed(revision)
        app_id = self.apps[line["id"]] = unarchive.app_of(self.conn, app, workflow_id)
        row = lines.frozen_run(line, self.now) | {"revision_id": revision_id}
        row |= {"workflow_id": workflow_id, "app_id": app_id}
        if row.get("idempotency_key") is not None and unarchive.key_is_taken(self.conn, row):
            del row["idempotency_key"]
        self.runs.append(line["id"])
        return row

    def _placed(self, revision: dict[str, Any]) -> tuple[str, str]:
        """Ids of the workflow and the revision here."""
        if revision["id"] not in self.placed:
            workflow_id, revision_id, new = unarchive.place_revision(self.conn, revision)
            self.placed[revision["id"]] = (workflow_id, revision_id)
            self.made += new
        return self.placed[revision["id"]]

    def step(self, line: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(line.get("status"), str) or not is_id(str(line.get("id"))):
            raise self.parent.fault("is a step without id, or in no state")
        return lines.frozen_step(line) | {"app_id": self.apps.get(str(line.get("run_id")))}

    def _flush(self) -> None:
        if self.rows:
            unarchive.add_rows(self.conn, self.kind, self.rows, _OWN.get(self.kind), self._put_away)
        self.rows = []

    def _put_away(self, row: Mapping[str, Any], name: str, text: str) -> str:
        """A large value as a reference, as if it had been given here."""
        blobs = self.parent.blobs
        if not blobs or name not in _LARGE.get(self.kind, ()) or not blobs.is_large(text):
            return text
        run_id = str(row["id" if self.kind == lines.RUN else "run_id"])
        step = row["id"] if self.kind == "step" else "run"
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        return json.dumps(blobs.put(f"{folder_of(run_id)}/{step}/{digest}.json", text, about(row[name])))

    def finish(self, end: Mapping[str, Any]) -> None:
        if end.get("lines") != self.lines or end.get("id") != self.root:
            raise self.parent.fault(
                f"ends a run with {end.get('lines')} lines, and there are {self.lines}: some are lost"
            )
        self._flush()
        if self.known:
            return
        if self.root not in self.runs:
            raise self.parent.fault("ends a run that was not told")
        if self.links:
            unarchive.add_rows(self.conn, "child", self._placed_links(), _OWN["child"])
        told = {"actor": self.parent.actor, "file": self.parent.name}
        for run_id in self.runs:
            unarchive.mark_imported(self.conn, run_id, told)
        events.audit(self.conn, self.parent.actor, "import", "run", self.root, data={"file": self.parent.name})

    def _placed_links(self) -> list[dict[str, Any]]:
        return [
            link | {"workflow_id": unarchive.workflow_of(self.conn, str(link.get("child_run_id")))}
            for link in self.links
        ]

    def count(self) -> None:
        done = self.parent.done
        done.revisions += self.made
        if self.known:
            done.known += 1
        else:
            done.trees += 1
            done.runs += len(self.runs)
            done.ids.append(self.root)


def _as_it_is(tree: _Tree, line: dict[str, Any]) -> dict[str, Any]:
    return line


def _event(tree: _Tree, line: dict[str, Any]) -> dict[str, Any]:
    line["kind"] = line.pop("event", None)
    return line


_ROWS: Mapping[str, Callable[[_Tree, dict[str, Any]], dict[str, Any]]] = {
    lines.RUN: _Tree.run,
    "step": _Tree.step,
    "event": _event,
}
# What may lie in the blob store (store/blob_references.py).
_LARGE = {lines.RUN: ("output",), "step": ("input", "output", "item"), "journal": ("value",)}
# In the bytes of a line with such a character: as an escape, or a surrogate as itself.
_SUSPECT = (b"\\u0000", b"\\ud", b"\\uD", b"\xed")
# Columns that no line says.
_OWN: Mapping[str, Mapping[str, str]] = {
    lines.RUN: {"workflow_id": "uuid", "app_id": "uuid"},
    "step": {"app_id": "uuid"},
    "child": {"workflow_id": "uuid"},
}


def _is_owner(owner: Mapping[str, Any]) -> bool:
    return owner.get("kind") in ("app", "group") and isinstance(owner.get("name"), str)


def _has_unstorable(raw: bytes, line: Any) -> bool:
    """Which no export has. Most lines have nothing that could be one, and are not looked through."""
    if not any(part in raw for part in _SUSPECT):
        return False
    rest = [line]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += (*value, *value.values())
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str) and UNSTORABLE.search(value):
            return True
    return False


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
