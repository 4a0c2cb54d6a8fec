"""A page of a list, as every command that lists something shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from orchestrator.cli.output import console, note, print_json, print_lines
from orchestrator.store.reads import Page


def show_page(page: Page, as_json: bool, lines: Callable[[Console], Iterable[Text]], remark: str | None) -> None:
    """Print the page as JSON, or its lines for the screen, with a remark and how to come to what follows."""
    if as_json:
        print_json({"items": page.items, "next": page.next})
        return
    screen = console()
    print_lines(screen, lines(screen))
    if remark is not None:
        note(remark)
    if page.next:
        note(f"there are more: --after {page.next}")
