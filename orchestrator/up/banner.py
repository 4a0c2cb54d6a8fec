"""What `up` says when everything runs: where to look, and what to try."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from orchestrator.config import Config
from orchestrator.config_urls import psql_url
from orchestrator.embedded import ServerFailed
from orchestrator.embedded.binaries import postgres_programs


def banner(config: Config, web_url: str, seconds: float, run_id: str | None) -> str:
    """The text, with the run of the example when there was one."""
    run = run_id or "latest"
    program = _program()
    tries = [
        (f"{program} runs", "the runs so far"),
        (f"{program} show {run}", "one run, step by step"),
        (f"{program} logs {run}", "what its steps said"),
        (f"{program} start NAME --wait", "start one yourself, after `register FILE`"),
    ]
    width = max(len(command) for command, _ in tries)
    return "\n".join(
        [
            f"\nReady after {seconds:.1f} s.",
            f"  web       {web_url}",
            f'  database  {_psql()} "{psql_url(config.database_url)}"',
            f"  logs      {config.data_dir / 'logs'}",
            "\nTry in another terminal, in this folder:",
            *(f"  {command:{width}}  {purpose}" for command, purpose in tries),
            "\nCtrl-C stops everything; the data stays.\n",
        ]
    )


def _psql() -> str:
    """psql by name when it is on the PATH, else the one that came with the embedded server."""
    if shutil.which("psql"):
        return "psql"
    try:
        return os.path.relpath(postgres_programs(None) / "psql")
    except ServerFailed:
        return "psql"


def _program() -> str:
    """How this person calls the command: by name when it is on the PATH, else by where it is."""
    if shutil.which("orchestrator"):
        return "orchestrator"
    beside = Path(sys.executable).parent / "orchestrator"
    return min(str(beside), os.path.relpath(beside), key=len)
