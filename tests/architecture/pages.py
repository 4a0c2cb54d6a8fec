"""The project's pages, read as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.architecture.source import ROOT

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_SETTINGS = re.compile(r"^(?:[A-Z_]+=\S+ )+")
_HEADING = re.compile(r"^#+\s+(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One Markdown file; `name` is its path from the project's root."""

    name: str
    text: str

    @property
    def prose(self) -> str:
        """Without fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        return _LINK.findall(_INLINE.sub("", self.prose))

    @property
    def anchors(self) -> set[str]:
        return {anchor(title) for title in _HEADING.findall(self.prose)}

    @property
    def inline(self) -> list[str]:
        """Inline code."""
        return _INLINE.findall(self.prose)

    def blocks(self) -> Iterator[tuple[str, str]]:
        """Fenced blocks: what stands behind the fence (`yaml workflow`), and the text."""
        for found in _FENCE.finditer(self.text):
            yield found["info"].strip(), found["body"]

    def commands(self, program: str) -> Iterator[str]:
        """Command lines of a program, in blocks of shell text and in inline code."""
        shells = (
            line for info, body in self.blocks() if info in ("sh", "bash", "console") for line in body.splitlines()
        )
        lines = [line.removeprefix("$ ").strip() for line in shells] + self.inline
        for line in lines:
            command = _SETTINGS.sub("", line.partition("  #")[0].strip()).removeprefix(".venv/bin/")
            if command == program or command.startswith(program + " "):
                yield command


def anchor(title: str) -> str:
    """The anchor that GitHub gives to a heading."""
    plain = re.sub(r"[`*]", "", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def pages() -> list[Page]:
    """Every page of the project."""
    docs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
    return [page(name) for name in ("README.md", "CHANGELOG.md", *docs)]


def page(name: str) -> Page:
    """The page of this name."""
    return Page(name, (ROOT / name).read_text())
