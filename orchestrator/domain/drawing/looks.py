"""What a picture says about steps and edges, in words, so that it can be read without colour."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from orchestrator.domain.definition import Edge, EdgeOn, Step

SIGNS = {
    "pending": "·",
    "ready": "○",
    "queued": "◌",
    "running": "▸",
    "waiting": "◔",
    "succeeded": "✓",
    "failed": "✗",
    "canceled": "⊘",
    "skipped": "»",
    "upstream_failed": "!",
}
Statuses = Mapping[str, str]

# Characters that XML 1.0 cannot hold, and line breaks.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def shown(text: str) -> str:
    """`text` on one line, without characters that no file format holds."""
    return _UNSHOWN.sub(" ", text)


def title(step: Step) -> str:
    """What a step is called in a picture."""
    return shown(step.label or step.name)


def status_words(status: str | None) -> str:
    """`✓ succeeded`; nothing for none."""
    return f"{SIGNS.get(status, '?')} {status.replace('_', ' ')}" if status else ""


def start_words(step: Step) -> str:
    """How the step's dependencies decide its start, where that is not the default; and whether it has a condition."""
    words = []
    if step.trigger_rule is not None and step.trigger_rule != "all_success":
        words.append(step.trigger_rule.value.replace("_", " "))
    elif step.join != "all":
        words.append(f"join {step.join}")
    if step.when is not None:
        words.append("when")
    return ", ".join(words)


def edge_words(edges: list[Edge]) -> str:
    """What the edges from one source ask for: nothing for plain success."""
    words = []
    for edge in edges:
        on = "" if edge.on is EdgeOn.SUCCESS and len(edges) == 1 else edge.on.value
        words.append(f"{on} if" if edge.when is not None and on else "if" if edge.when is not None else on)
    return " or ".join(dict.fromkeys(word for word in words if word))


def width(text: str) -> int:
    """How many columns of a fixed-width font the text takes."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """`text` in at most so many columns, its middle left out: names often differ at their ends."""
    if width(text) <= columns:
        return text
    tail = (columns - 1) // 2
    return f"{_head(text, columns - 1 - tail)}…{_head(text[::-1], tail)[::-1]}"


def _head(text: str, columns: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:index]
    return text
