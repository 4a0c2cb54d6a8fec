"""Writes docs/commands.md from the commands of `orchestrator`: `make docs`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
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
    """A command, and those below it."""
    group = command if isinstance(command, click.Group) else None
    if context.parent is not None and (group is None or group.invoke_without_command):
        yield _itself(command, context)
    for name in group.list_commands(context) if group else ():
        found = command.get_command(context, name)  # type: ignore[attr-defined]
        if not found.hidden:
            yield from _command(found, click.Context(found, parent=context, info_name=name))


def _itself(command: click.Command, context: click.Context) -> str:
    path = context.command_path.removeprefix("orchestrator ")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = (f"## {path}", f"```text\n{usage}\n```", _told(command), _options(command, context))
    return "\n\n".join(filter(None, parts))


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
    plain = escape(" ".join(text.split()), quote=False)
    return re.sub(r"([*_|])", r"\\\1", plain)


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(page())
