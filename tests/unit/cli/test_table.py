"""Tables that fit their terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from orchestrator.cli.table import Column, name_column, table
from tests.unit.cli.looks import plain

COLUMNS = (name_column("NAME"), Column("STATUS"), Column("WORKER", gives_way=1), Column("", stretches=True))
ROW = ("a-rather-long-name-of-a-step-number-1", "running", "host-1:1234", "ValueError: something went wrong with it")


def rows(*texts: tuple[str, ...]) -> list[tuple[Text, ...]]:
    return [tuple(map(Text, row)) for row in texts]


def test_without_a_terminal_nothing_is_cut() -> None:
    assert plain(table(COLUMNS, rows(ROW), None))[1] == "  ".join(ROW)


def test_columns_that_matter_less_give_way_before_texts_become_unreadable() -> None:
    (head, line) = plain(table(COLUMNS, rows(ROW), 70))
    assert "WORKER" not in head
    assert line == "a-rather-lo…tep-number-1  running  ValueError: something went wr…"


def test_stretching_columns_are_cut_first() -> None:
    (_, line) = plain(table(COLUMNS, rows(ROW), 92))
    assert "host-1:1234" in line
    assert "…" in line


def test_columns_that_stretch_share_what_is_left() -> None:
    columns = (name_column("A"), name_column("B"))
    (_, line) = plain(table(columns, rows(("a" * 60, "b" * 60)), 42))
    assert (line.count("a"), line.count("b")) == (19, 19)


def test_a_column_without_content_is_left_out() -> None:
    assert plain(table(COLUMNS, rows(("a", "running", "", "")), 80)) == ["NAME  STATUS", "a     running"]


def test_wide_characters_keep_columns_straight() -> None:
    lines = table(COLUMNS, rows(("名前", "running", "", ""), ("ab", "failed", "", "")), 80)
    assert plain(lines)[1:] == ["名前  running", "ab    failed"]


TEXTS = st.text(st.sampled_from("ab名é "), max_size=40)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS), min_size=1, max_size=5), st.integers(30, 120))
def test_lines_fit_whenever_the_columns_that_may_not_give_way_do(found: list[tuple[str, ...]], width: int) -> None:
    unyielding = max(len("STATUS"), *(Text(row[1]).cell_len for row in found))
    lines = table(COLUMNS, rows(*found), width)
    if unyielding + 2 * 2 + 12 + 12 <= width:
        assert all(line.cell_len <= width for line in lines)
