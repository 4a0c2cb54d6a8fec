"""How each state looks: a sign that can be told apart without colour, a word, a colour."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from orchestrator.domain.states import RunStatus, StepStatus


@dataclass(frozen=True, slots=True)
class Mark:
    sign: str
    ascii: str
    style: str


MARKS: dict[str, Mark] = {
    "pending": Mark("·", ".", "dim"),
    "ready": Mark("○", "o", "cyan"),
    "queued": Mark("◌", "o", "cyan"),
    "running": Mark("▸", ">", "bold blue"),
    "waiting": Mark("◔", "~", "cyan"),
    "paused": Mark("‖", "=", "yellow"),
    "canceling": Mark("⊘", "/", "yellow"),
    "succeeded": Mark("✓", "+", "green"),
    "failed": Mark("✗", "x", "bold red"),
    "canceled": Mark("⊘", "/", "yellow"),
    "skipped": Mark("»", "-", "dim"),
    "upstream_failed": Mark("!", "!", "red"),
    # Of processes.
    "alive": Mark("✓", "+", "green"),
    "silent": Mark("!", "!", "bold red"),
    "stopped": Mark("·", ".", "dim"),
}


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters a terminal can show."""

    unicode: bool = True

    @classmethod
    def of(cls, console: Console) -> Signs:
        return cls(unicode=console.encoding.lower().replace("-", "").startswith("utf"))

    def mark(self, status: str) -> str:
        return MARKS[status].sign if self.unicode else MARKS[status].ascii

    def marked(self, status: str) -> tuple[str, str]:
        """The sign with a blank, and its style: a part of a line."""
        return f"{self.mark(status)} ", MARKS[status].style

    def status(self, status: RunStatus | StepStatus | str) -> Text:
        """`✓ succeeded`."""
        return Text(f"{self.mark(status)} {word(status)}", MARKS[status].style)

    @property
    def branch(self) -> tuple[str, str, str, str]:
        """Guides of a tree: a branch, the last branch, and what runs on below each."""
        return ("├─ ", "└─ ", "│  ", "   ") if self.unicode else ("|- ", "`- ", "|  ", "   ")

    @property
    def dots(self) -> str:
        return "…" if self.unicode else "..."

    def bar(self, done: float, width: int) -> str:
        """A bar of `width` cells, `done` (0 to 1) of it filled; full only when all is done."""
        filled = min(int(max(done, 0.0) * width), width)
        full, rest = ("█", "░") if self.unicode else ("#", ".")
        return full * filled + rest * (width - filled)


def word(status: str) -> str:
    """The state as people write it."""
    return status.replace("_", " ")
