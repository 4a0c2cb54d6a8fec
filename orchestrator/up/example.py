"""The example that a first `up` runs, through the same commands that a person would type."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.up.commands import cli_command
from orchestrator.up.console import Console

_NAME = "order"
_INPUT = {"id": "1001", "amount": 129.5}
_PACKAGE = "orchestrator.examples"
_SHOWN = "example"  # the file that says it has been shown, with its run's id
_COMMAND_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Example:
    """A workflow document of the package and the module with its functions."""

    document: Path
    module: str

    @classmethod
    def find(cls) -> Example:
        return cls(Path(str(files(_PACKAGE) / f"{_NAME}.yaml")), f"{_PACKAGE}.{_NAME}")

    def added_to(self, config: Config) -> Config:
        """The config of workers that know the example's functions too."""
        functions = dict.fromkeys((*config.functions, self.module))
        return replace(config, functions=tuple(functions))


def was_shown(folder: DataFolder) -> bool:
    """Whether an earlier `up` in this folder has run it."""
    return folder.read(_SHOWN) is not None


def run_example(example: Example, config: Config, folder: DataFolder, console: Console) -> str | None:
    """Register it, start it and show it until it ends; its run's id, or None when it could not be started."""
    env = example.added_to(config).environment()
    console.say(f"\nThis is {example.document.name}, a workflow that came with the package:\n")
    if _said(("register", str(example.document), "--json"), env, console) is None:
        return None
    started = _said(("start", _NAME, "--input", json.dumps(_INPUT), "--json"), env, console)
    if started is None:
        return None
    run_id = str(json.loads(started)["id"])
    folder.write_private(_SHOWN, run_id)
    _show(run_id, env, console)
    return run_id


def _said(command: tuple[str, ...], env: Mapping[str, str], console: Console) -> str | None:
    done = subprocess.run(
        cli_command(*command), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_COMMAND_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return done.stdout
    console.warn(f"the example could not be run: `orchestrator {' '.join(command)}` said: {done.stderr.strip()}")
    return None


def _show(run_id: str, env: Mapping[str, str], console: Console) -> None:
    try:
        subprocess.run(
            cli_command("watch", run_id), env=env, stdin=subprocess.DEVNULL, timeout=_COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        console.warn(f"the example goes on; see it with `orchestrator watch {run_id}`")
