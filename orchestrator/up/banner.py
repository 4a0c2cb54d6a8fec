"""What `up` says when everything runs: where everything is, and what to try."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.config import Config
from orchestrator.config_urls import psql_url
from orchestrator.data_folder import default_folder
from orchestrator.embedded import ServerFailed
from orchestrator.embedded.binaries import postgres_programs
from orchestrator.up.known import Known

_NAMED = 5


def facts(config: Config, web_url: str, seconds: float, known: Known, token: str) -> str:
    """That everything runs, where, which functions of the user's own steps can call, and which workflows are functions.

    The token is in the fragment of the address to sign in at, which a browser sends to no server.
    """
    return "\n".join(
        [
            f"\nReady after {seconds:.1f} s.",
            f"  web        {web_url}",
            f"  sign in    {web_url}/login#token={token}",
            f"  docs       {web_url}/docs/",
            f'  database   {_psql()} "{psql_url(config.database_url)}"',
            f"  logs       {config.data_dir / 'logs'}",
            f"  functions  {_listed(known.functions) or _none(config)}",
            *([f"  workflows  {_listed(known.workflows)}"] if known.workflows else []),
        ]
    )


def tries(config: Config, run_id: str | None) -> str:
    """Commands to go on with, the run of the example in them when there was one."""
    run = run_id or "latest"
    program = _program()
    commands = [
        (f"{program} runs", "the runs so far"),
        (f"{program} show {run}", "one run, step by step"),
        (f"{program} logs {run}", "what its steps said"),
        (f"{program} start NAME --wait", "start one yourself; a document, after `register FILE`"),
        (f"{program} env", "the URLs of the database and the broker, for other programs"),
    ]
    width = max(len(command) for command, _ in commands)
    return "\n".join(
        [
            "\nTry in another terminal, in this folder:",
            *_where(config),
            *(f"  {command:{width}}  {purpose}" for command, purpose in commands),
            "\nCtrl-C stops everything; the data stays.\n",
        ]
    )


def _where(config: Config) -> list[str]:
    """What a command must be told that would look for the servers in another folder."""
    if config.data_dir == default_folder(Path.cwd()):
        return []
    return [f"  export ORCHESTRATOR_DATA_DIR={shlex.quote(str(config.data_dir))}"]


def _none(config: Config) -> str:
    modules = ", ".join(config.functions)
    return f"none of your own in {modules}" if modules else "none of your own: ORCHESTRATOR_FUNCTIONS is not set"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


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
