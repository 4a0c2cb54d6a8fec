"""Pictures: every name is only text, every state is in words, and the lines are where the steps are."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from orchestrator.domain.draw import draw
from orchestrator.domain.drawing.layout import lay_out
from orchestrator.domain.drawing.looks import shortened, width
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.domain.parse import parse
from orchestrator.domain.states import StepStatus
from tests.documents import document, on, step

SVG = "{http://www.w3.org/2000/svg}"
ODD = [
    'a"b',
    "a#b<c>&amp;d",
    "it's `code` **b** 1. - +",
    "\\n \\N \\G \\",
    "%%{init: {}}%%",
    "</svg><script>alert(1)</script>",
    "]]> --> <!--",
    "end",
    "a;b|c{d}[e](f)",
    "日本語のステップ名はとても長いので省略されます",
    "مرحلة الدفع",
    "👩‍👩‍👧 family",
    "x" * 124,
    "javascript:alert(1)",
    "{{ x }}",
]


def plan_of(*steps: dict[str, object], **keys: object) -> Plan:
    return make_plan(parse(document(*steps, **keys)))


def odd_plan() -> Plan:
    return plan_of(*[step(name, *ODD[max(i - 1, 0) : i]) for i, name in enumerate(ODD)], label='<">&')


def svg_texts(drawn: str) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def svg_titles(drawn: str) -> list[str]:
    return [(found.text or "").split("\n")[0] for found in ElementTree.fromstring(drawn).iter(f"{SVG}title")]


def test_svg_is_xml_that_holds_every_name_in_full_as_text() -> None:
    drawn = draw(odd_plan(), "svg")
    assert set(ODD) < set(svg_titles(drawn))
    kinds = {found.tag.removeprefix(SVG) for found in ElementTree.fromstring(drawn).iter()}
    assert kinds == {"svg", "title", "style", "defs", "marker", "path", "rect", "text", "g"}


def test_svg_shows_the_ends_of_long_names() -> None:
    first, second = "x" * 60 + "-1", "x" * 60 + "-2"
    shown = svg_texts(draw(plan_of(step(first), step(second)), "svg"))
    assert any(text.endswith("-1") for text in shown)
    assert any(text.endswith("-2") for text in shown)
    assert not any(width(text) > 30 for text in shown)


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
@pytest.mark.parametrize("status", StepStatus)
def test_every_state_is_in_words(form: str, status: StepStatus) -> None:
    drawn = draw(plan_of(step("a"), on_finish={"function": "f"}), form, {"a": status, "on_finish": status})
    assert drawn.count(status.value.replace("_", " ")) >= 2


def test_a_dot_label_ends_where_it_should() -> None:
    """Graphviz ends a text at a quote that no backslash stands before; entities and escapes are its own."""
    drawn = draw(odd_plan(), "dot")
    quoted = re.compile(r'"(?:[^"\\]|\\.)*"')
    for line in drawn.splitlines():
        rest = quoted.sub("", line)
        assert '"' not in rest
        assert re.fullmatch(r"[\w\s\[\]{}=,;>#-]*", rest), rest
    labels = [
        found.replace('\\"', '"').replace("\\\\", "\\").replace("&amp;", "&")
        for found in re.findall(r'tooltip="((?:[^"\\]|\\.)*)"', drawn)
    ]
    assert sorted(labels) == sorted(ODD)


def test_a_mermaid_label_holds_no_character_with_a_meaning() -> None:
    drawn = draw(odd_plan(), "mermaid")
    labels = re.findall(r'^  s\d+\["(.*)"\]$', drawn, re.MULTILINE)
    decoded = [re.sub(r"#(\d+);", lambda found: chr(int(found.group(1))), label) for label in labels]
    assert sorted(decoded) == sorted(ODD)
    for label in labels:
        assert not re.search(r"[^\w #;\u0080-\U0010ffff]", label, re.ASCII)


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_edges_say_what_they_ask_for(form: str) -> None:
    plan = plan_of(
        step("a"),
        step("b", depends_on=[on("a", "failure")]),
        step("c", depends_on=[on("a", "skipped"), on("a", "failure")], join=1),
        step("d", depends_on=[{"step": "a", "when": "true"}]),
        step("e", "a", "b", trigger_rule="one_done"),
    )
    drawn = draw(plan, form)
    for words in ("failure", "skipped or failure", "if", "join 1", "one done"):
        assert words in drawn


def test_there_is_one_line_for_each_pair_of_steps() -> None:
    plan = plan_of(
        step("a"), step("b", "a"), step("c", "a", "b"), step("d", depends_on=[on("c", "failure"), on("c", "success")])
    )
    assert len(re.findall(r"^  s\d+ -", draw(plan, "mermaid"), re.MULTILINE)) == 4
    assert len(re.findall(r"^  s\d+ -> s\d+", draw(plan, "dot"), re.MULTILINE)) == 4
    assert draw(plan, "svg").count('<path class="edge') == 4


def test_an_unknown_form_is_told() -> None:
    with pytest.raises(ValueError, match="there is no form 'png', but dot, mermaid, svg"):
        draw(plan_of(step("a")), "png")


def test_steps_stand_right_of_their_sources_and_apart_from_each_other() -> None:
    layers = 8
    steps = [step(f"s{i}", *[f"s{j}" for j in {(i * 7) % max(i, 1), i // 2} if j < i]) for i in range(60)]
    steps.append(step("last", "s0", f"s{layers}"))
    layout = lay_out(plan_of(*steps))
    for route in layout.routes:
        assert [item.column for item in route.items] == sorted({item.column for item in route.items})
    for column in layout.columns:
        for above, below in pairwise(column):
            assert below.y - above.y >= (above.size + below.size) / 2 - 1e-9
    assert min(item.y for column in layout.columns for item in column) == 0


def test_lines_of_a_ladder_do_not_cross() -> None:
    steps = [step(f"{lane}{row}", *([f"{lane}{row - 1}"] if row else [])) for row in range(5) for lane in "dacb"]
    layout = lay_out(plan_of(*steps))
    for column in layout.columns[1:]:
        assert [item.before[0].y for item in column] == sorted(item.before[0].y for item in column)


def test_two_thousand_steps_are_drawn() -> None:
    steps = [
        step(f"s{i}", *[f"s{j}" for j in sorted({(i // 50 - 1) * 50 + (i * k) % 50 for k in (1, 3)}) if i >= 50])
        for i in range(2000)
    ]
    drawn = draw(plan_of(*steps), "svg")
    assert drawn.count('class="step"') == 2000


def test_text_is_shortened_in_its_middle_by_the_columns_it_takes() -> None:
    assert shortened("abcdefghij", 7) == "abc…hij"
    assert shortened("abc", 7) == "abc"
    assert width(shortened("日本語のステップ名", 9)) <= 9
    assert width("é") == width("e\u0301") == 1
