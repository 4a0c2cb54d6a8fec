"""Writes docs/commands.md from the commands of `orchestrator`: `make docs`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from orchestrator.cli.main import cli

PAGE = """\
# Commands and options

Made from the commands themselves by `make docs`. What scripts may rely on (JSON, exit codes, many runs at once)
is on [the command line](cli.md). `orchestrator --help` and `orchestrator COMMAND --help` tell the same in a
terminal; `--debug`, with any command, shows where an unexpected error is from.

{commands}
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(commands="\n\n".join(_command(cli, click.Context(cli, info_name="orchestrator"))))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            if not found.hidden:
                yield from _command(found, click.Context(found, parent=context, info_name=name))
        return
    path = context.command_path.removeprefix("orchestrator ")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield "\n\n".join(
        filter(None, [f"## {path}", f"```text\n{usage}\n```", _told(command), _options(command, context)])
    )


def _told(command: click.Command) -> str:
    r"""The help; what click prints as it is (after \b) as it is."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(_paragraph(text) for text in paragraphs)


def _paragraph(text: str) -> str:
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    return _escaped(text)


def _options(command: click.Command, context: click.Context) -> str:
    rows = [
        _row(option, context) for option in command.params if isinstance(option, click.Option) and not option.hidden
    ]
    return "\n".join(["| option | |", "|---|---|", *rows]) if rows else ""


def _row(option: click.Option, context: click.Context) -> str:
    names, told = option.get_help_record(context) or ("", "")
    shown = names.replace("|", "\\|")
    return f"| `{shown}` | {_escaped(told)} |"


def _escaped(text: str) -> str:
    return re.sub(r"([*<>_|])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(page())
