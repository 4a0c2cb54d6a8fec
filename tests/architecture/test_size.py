"""Small functions, small files (docs/names.md)."""

from __future__ import annotations

import statistics

from tests.architecture.source import functions, read

PACKAGES = ("orchestrator", "workers", "web")
MEDIAN_LINES = 10
MOST_LINES = 35  # of nine functions in ten
FILE_LINES = 350


def sizes() -> dict[str, int]:
    """Lines of each function, its `def` and docstring included, its decorators not."""
    return {
        f"{source.name}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for package in PACKAGES
        for source in read(package)
        for node in functions(source)
    }


def test_half_of_the_functions_are_ten_lines_or_shorter() -> None:
    assert statistics.median(sizes().values()) <= MEDIAN_LINES


def test_nine_of_ten_functions_are_thirty_five_lines_or_shorter() -> None:
    found = sizes()
    long = {name: lines for name, lines in found.items() if lines > MOST_LINES}
    assert len(long) * 10 <= len(found), long


def test_no_file_is_longer_than_350_lines() -> None:
    lines = {s.name: len(s.path.read_text().splitlines()) for package in PACKAGES for s in read(package)}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}
