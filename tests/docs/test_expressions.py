"""The table of docs/expressions.md is true."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from orchestrator.domain.expressions import compile_template
from orchestrator.errors import ExpressionError
from tests.architecture.pages import page

PAGE = page("docs/expressions.md")
SCOPE = next(yaml.safe_load(body) for info, body in PAGE.blocks() if info == "yaml scope")
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS = [(text.replace("\\|", "|"), json.loads(value)) for text, value in ROW.findall(PAGE.text.partition("\n## ")[0])]


@pytest.mark.parametrize(("text", "value"), ROWS, ids=[text for text, _ in ROWS])
def test_the_text_on_the_left_gives_the_value_on_the_right(text: str, value: object) -> None:
    given = compile_template(text).render(SCOPE)
    assert (given, type(given)) == (value, type(value))


def test_the_table_was_read() -> None:
    assert len(ROWS) == len(re.findall(r"^\| `.*\{\{", PAGE.text, re.MULTILINE))


def test_a_missing_name_is_told_as_the_page_says() -> None:
    told = next(line for line in PAGE.text.splitlines() if "is not defined" in line)
    with pytest.raises(ExpressionError) as caught:
        compile_template("{{ input.nmae }}").render(SCOPE)
    assert re.search(r"gives `(.+)`\.$", told)[1] in str(caught.value)  # type: ignore[index]
