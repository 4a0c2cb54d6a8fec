"""The line of a problem in a document's text."""

from __future__ import annotations

import pytest

from orchestrator.domain.load import load_text
from orchestrator.domain.loading.places import line_said, lines_of
from orchestrator.domain.parse import parse
from orchestrator.errors import InvalidDefinition

TEXT = """name: x
vars:
  a.b: 1
  'it''s': 2
steps:
  - name: one
    pass: true
  - name: two
    function: f
    retry: {max_attempts: 3,
      delay: -1}
"""


def test_a_path_leads_to_the_line_of_its_key() -> None:
    paths = ["name", "vars['a.b']", "vars['it\\'s']", "steps[1]", "steps[1].retry.delay", "steps[0].name"]
    assert lines_of(TEXT, paths) == [1, 3, 4, 8, 11, 6]


def test_what_is_not_there_has_the_line_of_what_is_around_it() -> None:
    assert lines_of(TEXT, ["", "steps[7].name", "steps[1].queue", "label"]) == [1, 5, 8, 1]


def test_json_has_lines_too() -> None:
    assert lines_of('{"name": "x",\n "steps": [\n {"name": "a"}]}', ["steps[0].name"]) == [3]


def test_the_problems_of_a_document_find_their_lines() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        parse(load_text(TEXT))
    paths = [problem.path for problem in refused.value.problems]
    assert dict(zip(paths, lines_of(TEXT, paths), strict=True))["steps[1].retry.delay"] == 11


def test_a_text_that_cannot_be_read_says_its_line_itself() -> None:
    for text in ("a: [", "\t- x: {", "a: *b", "[" * 3000):
        assert lines_of(text, ["steps[0]"]) in ([None], [1])
    with pytest.raises(InvalidDefinition) as refused:
        load_text("name: x\nsteps: [")
    assert line_said(refused.value.problems[0].message) is not None
    assert line_said("has 3 steps") is None
