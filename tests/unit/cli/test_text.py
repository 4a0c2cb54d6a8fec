"""Texts for a terminal."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from orchestrator.cli.text import ago, clean, cut, cut_middle, json_line, one_line, plural, shell_argument, shell_option
from orchestrator.domain.times import duration


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("a\rb\x9b", "a\\x0db\\x9b"),
        ("abc\u202edef\u2028", "abc\\u202edef\\u2028"),
        ("half \ud800", "half \\ud800"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("[bold]x[/] :smile: 名前 👩‍👩‍👧 نص", "[bold]x[/] :smile: 名前 👩‍👩‍👧 نص"),
    ],
)
def test_what_could_steer_a_terminal_is_shown_as_an_escape_and_the_rest_is_left(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_only_the_first_line_that_says_something_is_taken() -> None:
    assert one_line("\n  ValueError\nmore\n") == "ValueError ..."
    assert one_line("alone\n") == "alone"
    assert one_line("") == ""


def test_a_json_line_is_one_line_whatever_it_holds() -> None:
    assert json_line({"a": "x\ny\x1b\u202e"}) == '{"a": "x\\ny\\u001b\\u202e"}'


WIDE = st.text(st.sampled_from("ab名前é👩."), max_size=30)


@given(WIDE, st.integers(0, 40))
def test_a_cut_text_never_takes_more_cells_than_it_may(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width
    assert cell_len(cut_middle(text, width)) <= width


@given(WIDE, st.integers(0, 40))
def test_a_text_that_fits_is_not_cut(text: str, width: int) -> None:
    if cell_len(text) <= width:
        assert cut(text, width) == cut_middle(text, width) == text


def test_a_name_keeps_its_end_where_names_differ() -> None:
    assert cut_middle("individuals_ID0000017.chr1n-1", 15) == "individ…chr1n-1"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7620, "2 h 07 min"),
        (273_600, "3 d 4 h"),
    ],
)
def test_durations_are_told_with_the_units_that_matter(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (59, "59 s ago"), (60, "1 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")],
)
def test_times_are_told_by_how_long_ago_they_were(seconds: float, words: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == words


def test_numbers_of_things_agree_with_their_noun() -> None:
    assert (plural(1, "step"), plural(1200, "step")) == ("1 step", "1,200 steps")


@pytest.mark.parametrize("name", ["-x", "a b", "it's", "$(rm)", "名前", "a#b%c/d:e", "--", "x" * 124])
def test_a_name_in_a_hint_can_be_pasted_into_a_shell(name: str) -> None:
    assert shlex.split(shell_argument(name))[-1] == name
    option = shlex.split(shell_option("--step", name))
    assert option in ([f"--step={name}"], ["--step", name])
    assert option[-1].startswith("--step=") or not name.startswith("-")
