"""The files of docs/deploy are sound, and name what is there."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from orchestrator.cli.main import cli
from orchestrator.config import VARIABLES, Config
from tests.architecture.pages import page
from tests.architecture.source import ROOT

DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted(path for path in (DEPLOY / "systemd").iterdir() if path.suffix in (".service", ".target"))
_PROGRAM = "/srv/orchestrator/.venv/bin/orchestrator"


def understood(words: list[str]) -> None:
    """Raises what click raises for a command line that it does not take."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    command.make_context(command.name, words)


def settings_in(text: str) -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace(_PROGRAM, sys.executable))
    files = [str(tmp_path / unit.name) for unit in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_units_run_commands_there_are_with_settings_there_are() -> None:
    commands = [line for unit in UNITS for line in re.findall(r"^ExecStart=(.+)", unit.read_text(), re.MULTILINE)]
    assert len(commands) == 4
    for command in commands:
        program, *words = shlex.split(command)
        assert program == _PROGRAM
        understood(words)
    examples = list((DEPLOY / "systemd").glob("*.example"))
    assert len(examples) == 2
    for example in examples:
        assert settings_in(example.read_text()) <= set(VARIABLES)


def test_every_unit_is_hardened_and_named_by_the_target() -> None:
    target = (DEPLOY / "systemd" / "orchestrator.target").read_text()
    for unit in UNITS:
        if unit.suffix == ".service":
            assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="} <= set(
                unit.read_text().splitlines()
            ), unit.name
            assert unit.name.partition(".")[0].partition("@")[0] in target or "Type=oneshot" in unit.read_text()


def test_the_environment_of_the_example_is_a_configuration() -> None:
    lines = (DEPLOY / "systemd" / "env.example").read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert Config.from_env(env).functions == ("shop.steps",)


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return found


def test_the_compose_file_starts_each_process_after_what_it_needs() -> None:
    found = services()
    ours = {name: one for name, one in found.items() if one["image"] == "orchestrator"}
    assert set(ours) == {"release", "web", "worker", "beat"}
    for name, one in ours.items():
        program, *words = one["command"]
        assert program == "orchestrator"
        understood(words)
        assert set(one["environment"]) <= set(VARIABLES)
        assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
        for needed, how in one["depends_on"].items():
            assert needed in found, name
            assert how["condition"] != "service_healthy" or "healthcheck" in found[needed], name
    assert ours["web"]["depends_on"]["release"] == {"condition": "service_completed_successfully"}


def test_the_compose_file_says_nothing_that_compose_does_not_know() -> None:
    known = {
        *("build", "command", "depends_on", "environment", "healthcheck", "image", "init", "ports", "restart"),
        *("shm_size", "stop_grace_period", "volumes"),
    }
    whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(whole) == {"name", "services", "volumes", "x-orchestrator"}
    for name, one in services().items():
        assert set(one) <= known, name
        for volume in one.get("volumes", ()):
            assert volume.partition(":")[0] in whole["volumes"]


@pytest.mark.skipif(
    not shutil.which("docker") or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode != 0,
    reason="needs docker compose",
)
def test_compose_finds_no_fault_in_its_file() -> None:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SECRET_KEY": "k" * 32, "POSTGRES_PASSWORD": "p"}
    command = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    assert subprocess.run(command, env=env, capture_output=True, text=True, check=False).stderr == ""


def test_the_image_is_made_of_known_instructions_and_runs_as_nobody_special() -> None:
    lines = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "STOPSIGNAL", "CMD"}
    assert {line.split()[0] for line in lines} == known
    assert "USER app" in lines


def test_the_page_names_every_file() -> None:
    text = page("docs/deployment.md").text
    for name in ("systemd", "compose.yaml", "Dockerfile", "systemd/env.example"):
        assert f"docs/deploy/{name}" in text


def test_the_scaling_page_is_made_from_what_was_measured() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "generate_scaling.py"))["page"]()
    assert (ROOT / "docs" / "scaling.md").read_text() == made, "run `make docs`"
