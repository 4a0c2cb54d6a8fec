"""The examples of the pages run as they stand, in a folder with the workflows of their page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import workers.functions  # noqa: F401 - registers the built-in functions
from orchestrator import testing
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from orchestrator.functions import registry
from tests.architecture.pages import page, pages


@dataclass(frozen=True)
class Example:
    """A workflow of a page, and the code that follows it."""

    page: str
    document: str
    code: str | None

    @property
    def title(self) -> str:
        return f"{self.page}: {load_text(self.document).get('name')}"


def examples() -> Iterator[Example]:
    for one in pages():
        blocks = list(one.blocks())
        for (info, body), (next_info, next_body) in zip(blocks, [*blocks[1:], ("", "")], strict=bool(blocks)):
            if info == "yaml workflow":
                yield Example(one.name, body, next_body if next_info == "python" else None)


def fragments() -> Iterator[tuple[str, str]]:
    """Lists of steps that are not a whole workflow."""
    for one in pages():
        for info, body in one.blocks():
            if info == "yaml steps":
                yield one.name, body


def alone() -> Iterator[tuple[str, str]]:
    """Code without a workflow before it; `python client` blocks need a running system and are left out."""
    for one in pages():
        before = ""
        for info, body in one.blocks():
            if info == "python" and before != "yaml workflow":
                yield one.name, body
            before = info


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])
def test_a_workflow_of_the_pages_is_valid(example: Example) -> None:
    assert parse(load_text(example.document)).steps


@pytest.mark.parametrize(("page", "steps"), list(fragments()))
def test_steps_of_the_pages_are_valid(page: str, steps: str) -> None:
    assert parse({"name": page, "steps": load_text(steps)}).steps


RUNNABLE = [example for example in EXAMPLES if example.code]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with every workflow of the pages in a file of its name."""
    for example in EXAMPLES:
        (tmp_path / f"{load_text(example.document).get('name')}.yaml").write_text(example.document)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("example", RUNNABLE, ids=[example.title for example in RUNNABLE])
def test_an_example_of_the_pages_runs_as_it_says(example: Example, folder: Path) -> None:
    names = run_code(example.code or "", example.title)
    if "result" not in names and "testing" not in (example.code or ""):  # functions alone
        assert testing.run(example.document).status == "succeeded"


def run_code(code: str, title: str) -> dict[str, Any]:
    """Run the code of a page, and the tests in it; the names it leaves."""
    names: dict[str, Any] = {"__name__": title}
    exec(compile(code, f"<{title}>", "exec"), names)
    for name, found in list(names.items()):
        if name.startswith("test_"):
            found()
    return names


ALONE = list(alone())


@pytest.mark.parametrize(("page", "code"), ALONE, ids=[page for page, _ in ALONE])
def test_code_of_the_pages_that_stands_alone_runs(page: str, code: str, folder: Path) -> None:
    assert run_code(code, page)


def test_the_pages_have_examples() -> None:
    assert {"README.md", "docs/definition.md", "docs/testing.md"} <= {example.page for example in RUNNABLE}


def test_the_workers_page_names_every_built_in_function_with_its_arguments() -> None:
    rows = dict(re.findall(r"^\| `(\w+\.\w+)` \| (.*?) \| .* \|$", page("docs/workers.md").text, re.MULTILINE))
    built_in = {spec.name: spec for spec in registry if spec.module.startswith("workers.functions.")}
    assert rows.keys() == built_in.keys()
    for name, spec in built_in.items():
        parameters = inspect.signature(spec.call).parameters.values()
        takes = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "ctx"}
        named = set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", rows[name])))  # in brackets: what they may be
        assert named == takes, name
