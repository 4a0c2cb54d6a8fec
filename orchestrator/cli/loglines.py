"""One line of a step's log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from orchestrator.cli.text import clean, clock, parsed

_STYLES = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red", "DEBUG": "dim"}


def log_line(line: Mapping[str, Any], *, with_step: bool) -> Text:
    """`17:34:05.120 charge#2 WARNING what was logged`, `charge[7]#2` for its item 7; printed lines have no level.

    Further lines are indented.
    """
    at = parsed(line["at"])
    shown = Text.assemble((f"{clock(at)}.{at.microsecond // 1000:03d} " if at else "", "dim"))
    step = clean(line["step"]) if with_step else ""
    item = "" if line.get("item") is None else f"[{line['item']}]"
    shown.append(f"{step}{item}#{line['attempt']} ", "cyan")
    level = str(line["level"]).upper()
    message = clean(line["message"]).rstrip("\n").replace("\n", "\n    ")
    if line["stream"] == "log":
        return shown.append(f"{clean(level)} ", _STYLES.get(level, "")).append(message)
    return shown.append(message, "yellow" if line["stream"] == "stderr" else "")
