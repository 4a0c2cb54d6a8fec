"""What the pages name is there."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import pytest

from orchestrator.cli.main import cli
from orchestrator.config import SECRETS, VARIABLES, Config
from orchestrator.domain.definition import Definition, Retry, Step
from orchestrator.domain.states import Reason
from orchestrator.domain.words import REASONS
from tests.architecture.pages import Page, page, pages
from tests.architecture.source import ROOT

PAGES = pages()
NAMES = [page.name for page in PAGES]
FOLDERS = ("", "orchestrator", "docs")


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    broken = [link for link in page(name).links if not _leads_somewhere(page(name), link)]
    assert broken == []


def _leads_somewhere(page: Page, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    path, _, fragment = link.partition("#")
    target = (ROOT / page.name).parent / path if path else ROOT / page.name
    if not target.exists():
        return False
    if not fragment:
        return True
    return fragment in Page(str(target), target.read_text()).anchors


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_page_exists_with_its_options(name: str) -> None:
    faults = [f"{line}: {fault}" for line in page(name).commands("orchestrator") if (fault := _fault(line))]
    assert faults == []


def _fault(line: str) -> str | None:
    """What is wrong with a command line; arguments are not looked at."""
    command: click.Command = cli
    context = click.Context(command)
    words = shlex.split(line.replace("...", ""), comments=True)[1:]
    known = {"--help", "-h"} | _options(command)
    for word in words:
        if word.startswith("-"):
            if word.strip("[]").partition("=")[0] not in known:
                return f"there is no option {word}"
        elif isinstance(command, click.Group) and word != "COMMAND":
            found = command.get_command(context, word)
            if found is None and command.invoke_without_command:
                continue  # the value of an option of its own
            if found is None:
                return f"there is no command {word}"
            command, context = found, click.Context(found, parent=context)
            known |= _options(command)
    return None


def _options(command: click.Command) -> set[str]:
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("name", NAMES)
def test_every_make_target_of_a_page_exists(name: str) -> None:
    used = {word for line in page(name).commands("make") for word in line.split()[1:] if "=" not in word}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)) if used else set()
    assert used - targets == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_file_a_page_names_exists(name: str) -> None:
    """Paths of the project in inline code: `services/halt.py`, `docs/states.md`."""
    named = {code for code in page(name).inline if re.fullmatch(r"[\w./-]+/[\w.-]*\.(?:py|md|yaml|toml|json)", code)}
    missing = {path for path in named if not any((ROOT / folder / path).exists() for folder in FOLDERS)}
    assert missing == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_a_page_names_is_a_setting(name: str) -> None:
    named = set(re.findall(r"\bORCHESTRATOR_[A-Z_]+\b", page(name).text))
    settings = {variable for variable in named if not variable.startswith(SECRETS)}
    assert settings - set(VARIABLES) == set()


def test_the_configuration_page_has_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`([^`]*)`|[^|]*?) ?\|", page("docs/configuration.md").text, re.M))
    assert set(rows) == set(VARIABLES)
    wrong = {
        name: (rows[name], f.default)
        for f in fields(Config)
        if (name := f.metadata.get("variable")) and rows[name] and f.metadata["parse"](rows[name]) != f.default
    }
    assert wrong == {}


def test_the_definition_page_has_every_key() -> None:
    text = page("docs/definition.md").text
    keys = {f.name.rstrip("_") for kind in (Definition, Step, Retry) for f in fields(kind)}
    keys = keys - {"kind", "has_output", "handlers", "code", "child_id", "literal"} | {
        "pass",
        "defaults",
        "on_success",
        "on_finish",
        "on_failure",
        "on_cancel",
    }
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_the_operations_page_explains_every_reason_as_the_product_does() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page("docs/operations.md").text, re.MULTILINE)
    assert [(name, told) for name, told in rows if name in list(Reason)] == list(REASONS.items())


def test_a_decision_record_ends_with_what_would_break_it() -> None:
    records = [page for page in PAGES if page.name.startswith("docs/adr/0")]
    assert [Path(record.name).name[:4] for record in records] == [f"{n + 1:04}" for n in range(len(records))]
    for record in records:
        last = record.text.strip().split("\n\n")[-1]
        assert last.startswith("A change breaks this decision when "), record.name
        assert len(record.text.splitlines()) <= 16, record.name


def test_every_decision_record_is_within_reach_of_the_readme() -> None:
    seen, todo = set(), ["README.md"]
    while todo:
        name = todo.pop()
        seen.add(name)
        for link in page(name).links:
            target = ((ROOT / name).parent / link.partition("#")[0]).resolve()
            found = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else ""
            if found in NAMES and found not in seen:
                todo.append(found)
    assert set(NAMES) - seen == set()
