"""The project speaks of itself by its own pages: no text points to one that a reader does not have."""

from __future__ import annotations

import re

from tests.architecture.pages import pages
from tests.architecture.source import ROOT, read

ELSEWHERE = re.compile(r"\b(?:SPEC|DESIGN|STYLE)(?:\.md\b|\b(?= sections?\b)|\b(?=[,)]))|\bspecification\b")
# To be rid of with the next change of each.
STILL = {"orchestrator/domain/rules.py", "orchestrator/services/scope.py"}


def test_no_text_points_to_papers_outside_the_project() -> None:
    files = {source.name: source.path for name in ("orchestrator", "workers", "web", "tests") for source in read(name)}
    files |= {page.name: ROOT / page.name for page in pages()}
    del files["tests/architecture/test_words.py"]
    faults = {name for name, path in files.items() if ELSEWHERE.search(path.read_text())}
    assert faults - STILL == set()


def test_a_page_that_the_code_points_to_is_there() -> None:
    pointed = {
        (source.name, name)
        for folder in ("orchestrator", "workers", "web", "tests")
        for source in read(folder)
        for name in re.findall(r"(?<![/\w])docs/[\w/.-]*\w", source.path.read_text())
    }
    assert pointed
    missing = {(file, name) for file, name in pointed if not (ROOT / name).exists() and not list(ROOT.glob(f"{name}*"))}
    assert missing == set()
