"""The commands as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from orchestrator.cli.main import COMMANDS, cli, run

DOCS = Path(__file__).parents[3] / "docs" / "cli.md"
WITHOUT_JSON = {
    "alert",
    "blobs",
    "up",
    "worker",
    "beat",
    "web",
    "db",
    "pack",
    "token",
    "hook",
    "schedule",
    "retention",
}  # of those that are groups the commands in them have it


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_says_of_each_command_what_its_own_help_says(name: str) -> None:
    assert COMMANDS[name][1] == (command(name).help or "").split("\n")[0].strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_in_which_each_option_is_explained(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    assert "Usage: orchestrator" in capsys.readouterr().out
    options = [p for p in command(name).params if isinstance(p, click.Option) and not p.hidden]
    assert [o.name for o in options if not o.help and o.name not in ("form", "help")] == []


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - WITHOUT_JSON))
def test_every_command_that_tells_something_tells_it_as_json_too(name: str) -> None:
    assert "as_json" in {param.name for param in command(name).params}


def test_the_page_of_the_command_line_names_every_command_and_exit_code() -> None:
    page = DOCS.read_text()
    assert [name for name in COMMANDS if not re.search(rf"`{name}[ `]", page)] == []
    for name in COMMANDS.keys() - WITHOUT_JSON:
        assert re.search(rf"`{name}`", page.split("## JSON")[1]), f"docs/cli.md does not say what `{name} --json` gives"
    assert all(f"| {code} |" in page for code in (0, 1, 2, 3, 4, 70, 130))


@pytest.mark.parametrize(
    ("typed", "meant"), [("shwo", "show"), ("RUNS", "runs"), ("cancle", "cancel"), ("regsiter", "register")]
)
def test_a_misspelt_command_is_recognised(capsys: pytest.CaptureFixture[str], typed: str, meant: str) -> None:
    assert run([typed]) == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"orchestrator, version \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def test_a_module_of_step_functions_needs_no_database_driver_broker_or_web_framework() -> None:
    code = (
        "import sys, orchestrator; from orchestrator import function, RetryPolicy, RetryLater, Fail, Skip\n"
        "print([m for m in ('sqlalchemy', 'celery', 'kombu', 'flask', 'psycopg2', 'jinja2') if m in sys.modules])\n"
        "print(orchestrator.Orchestrator.__name__, 'sqlalchemy' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.splitlines() == ["[]", "Orchestrator True"]


@pytest.mark.parametrize("command", ["show", "runs", "watch", "logs", "workers"])
def test_a_command_that_only_looks_loads_nothing_that_checks_documents_or_sends(command: str) -> None:
    heavy = (
        "marshmallow",
        "jsonschema",
        "jinja2",
        "celery",
        "kombu",
        "structlog",
        "opentelemetry",
        "prometheus_client",
    )
    code = f"import sys, orchestrator.cli.{command}; print([m for m in {heavy} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == "[]\n"
