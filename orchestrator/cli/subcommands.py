"""Commands below `orchestrator runs`, each imported when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import click

COMMANDS = {
    "delete": ("orchestrator.cli.delete", "Remove runs that have ended."),
    "export": ("orchestrator.cli.export_runs", "Write runs down as lines of JSON, with all that is theirs."),
    "import": ("orchestrator.cli.import_runs", "Bring in runs that were exported elsewhere, to look at them."),
}


class Subcommands(click.Group):
    """Those of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        found: Any = getattr(module, f"{cmd_name}_runs")
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
