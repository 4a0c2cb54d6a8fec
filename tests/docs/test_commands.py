"""Every command that the documents show is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from orchestrator.cli.main import cli

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*orchestrator (.+)")


def _commands() -> list[str]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    lines = [line for page in pages for block in _BLOCK.findall(page.read_text()) for line in block.splitlines()]
    return sorted({found.group(1) for line in lines if (found := _COMMAND.match(line))})


@pytest.mark.parametrize("line", _commands())
def test_a_command_of_the_documents_is_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("PATH").mkdir()
    words = shlex.split(re.split(r" [|>&]+ ", line)[0], comments=True)
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    command.make_context(command.name, words)


def test_no_line_of_a_list_of_commands_is_cut() -> None:
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    lists = [cli, *(one for one in commands if isinstance(one, click.Group))]
    helps = [one.get_help(click.Context(one, info_name="orchestrator", terminal_width=80)) for one in lists]
    listed = [text.partition("\nCommands:\n")[2] for text in helps]
    assert len(listed) > 5
    assert all(listed)
    assert [line for text in listed for line in text.splitlines() if line.endswith("...")] == []
