"""The targets of the Makefile do what `make help` says of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.source import ROOT, Source, imports, read, within

MAKEFILE = (ROOT / "Makefile").read_text()
# Fixtures and modules that start servers.
FIXTURES = {"db", "module_db", "database_url", "broker_url"}
MODULES = ("orchestrator.testing", "orchestrator.embedded", "tests.hands")
# Functions of code-first workflows are rehearsed without one; the conftest of the folder sees to that.
REHEARSED = "tests/unit/replay/"


def test_help_tells_of_every_target() -> None:
    targets = set(re.findall(r"^\.PHONY: (\S+)$", MAKEFILE, re.MULTILINE))
    told = set(re.findall(r"^([a-z-]+):.*## \S", MAKEFILE, re.MULTILINE))
    assert targets
    assert told == targets


def recipe(target: str) -> str:
    """The commands of a target."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None, f"there is no target {target}"
    return found.group(1)


def test_the_unit_tests_need_no_servers() -> None:
    folders = re.findall(r"\btests/\w+", recipe("unit"))
    assert folders
    assert [fault for folder in folders for source in read(folder) for fault in servers_of(source)] == []


def servers_of(source: Source) -> list[str]:
    """What a file of tests uses that starts a server."""
    functions = (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef))
    asked = {argument.arg for function in functions for argument in function.args.args}
    fixtures = [name for name in asked if name in FIXTURES or name.startswith("orchestrator_")]
    whole = {f"{found.target}.{found.name}" if found.name else found.target for found in imports(source)}
    servers = [module for module in MODULES if not source.name.startswith(REHEARSED) or module != MODULES[0]]
    modules = [name for name in whole if any(within(name, module) for module in servers)]
    return [f"{source.name}: {name}" for name in sorted(fixtures + modules)]


def test_every_page_made_from_code_says_how_it_is_made() -> None:
    makers = sorted(Path(ROOT / "docs").glob("generate_*.py"))
    assert makers
    assert "docs/generate_*.py" in recipe("docs")
    for maker in makers:
        page = ROOT / "docs" / f"{maker.stem.removeprefix('generate_')}.md"
        assert "by `make docs`" in page.read_text(), page.name
