"""One word for one thing (docs/names.md)."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator

from sqlalchemy import DateTime, Uuid

from orchestrator.domain.definition import HANDLER_NAMES
from orchestrator.domain.states import StepStatus
from orchestrator.store.tables import metadata
from tests.architecture.pages import Page, page
from tests.architecture.source import ROOT, Source, nodes, read

# Words of docs/names.md that are not ours, and the modules that speak about others' things by these names.
REFUSED = {
    "job": (),
    "execution": (),
    "task": (
        "orchestrator.transport",
        "orchestrator.installed",
        "orchestrator.domain.celery_task",
        "orchestrator.services.answer",
        "orchestrator.convert",  # of other engines
        "workers",
    ),
    "node": (  # of a syntax tree
        "orchestrator.domain.sandbox",
        "orchestrator.domain.expressions",
        "orchestrator.convert",
    ),
    "vertex": (),
    "dag": ("orchestrator.convert",),  # Airflow's
    "downstream": (),
    "dependent": (),
    "dependents": (),
    "cancelled": (),
    "cancelling": (),
    "timestamp": (),
    "kill": ("orchestrator.embedded", "orchestrator.up", "workers"),  # of processes
}
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def defined(source: Source) -> Iterator[tuple[int, str]]:
    """The names a file gives to things: functions, classes, arguments, variables, fields."""
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def test_refused_words_name_nothing() -> None:
    found = [
        f"{source.name}:{line} {name}"
        for package in ("orchestrator", "workers", "web")
        for source in read(package)
        for line, name in defined(source)
        for word in WORD.findall(name)
        if word.lower() in REFUSED and not source.module.startswith(REFUSED[word.lower()] or ("-",))
    ]
    assert found == []


def test_refused_words_are_in_the_guide() -> None:
    guide = (ROOT / "docs" / "names.md").read_text().partition("## Not used")[2]
    assert [word for word in REFUSED if word.removesuffix("s") not in guide] == []


def test_instants_are_called_at_and_ids_id() -> None:
    columns = [column for table in metadata.tables.values() for column in table.columns]
    instants = {str(c) for c in columns if isinstance(c.type, DateTime)}
    ids = {str(c) for c in columns if isinstance(c.type, Uuid)}
    assert {name for name in instants if not re.search(r"(\.|_)at$", name)} == set()
    assert {name for name in ids if not re.search(r"(\.|_)id$", name)} == {"workflow_run_steps.claim_token"}
    assert {str(c) for c in columns if str(c).endswith("_at")} <= instants


def test_the_guide_names_nothing_that_is_not_there() -> None:
    guide = Page("docs/names.md", page("docs/names.md").text.partition("## Not used")[0])
    columns = {column.name for table in metadata.tables.values() for column in table.columns}
    ours = {name for package in ("orchestrator", "workers") for source in read(package) for _, name in defined(source)}
    there = columns | ours | set(StepStatus) | set(HANDLER_NAMES)
    named = [
        code
        for code in guide.inline
        if re.fullmatch(r"[A-Za-z_*]+", code) and not code.startswith(("test_", "ORCHESTRATOR_"))
    ]
    assert len(named) > 20
    assert [code for code in named if not fnmatch.filter(there, code)] == []
