"""What a worker started here would have, imported once in a process of its own, as a worker imports it."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.functions import BUILT_IN, ENTRY_POINTS
from orchestrator.up.commands import cli_command

_PATIENCE_SECONDS = 120
_PREFIX = "orchestrator: "


@dataclass(frozen=True, slots=True)
class Known:
    """The names of the user's functions and code-first workflows."""

    functions: Sequence[str] = ()
    workflows: Sequence[str] = ()


def known(config: Config) -> Known:
    """What the user's modules have; raises `OrchestratorError` saying which module cannot be loaded, and why."""
    if not config.functions and not importlib.metadata.entry_points(group=ENTRY_POINTS):
        return Known()
    try:
        done = subprocess.run(
            cli_command("functions", "--local", "--json"), env=config.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        modules = ", ".join(config.functions)
        raise OrchestratorError(f"importing {modules} took more than {_PATIENCE_SECONDS} s") from None
    if done.returncode:
        raise OrchestratorError(done.stderr.strip().rpartition(_PREFIX)[2] or "step functions could not be loaded")
    told = json.loads(done.stdout)
    functions = [item["name"] for item in told["items"] if not item["module"].startswith(f"{BUILT_IN}.")]
    return Known(functions, [item["name"] for item in told["workflows"]])
