"""`orchestrator bench` without measuring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.bench.page import as_json
from orchestrator.cli.main import run
from tests.unit.bench.results import FACTS, graph_line, line, results


def stored(folder: Path, *lines: dict[str, object], name: str = "results.json", **facts: object) -> str:
    path, made = folder / name, results(*lines)
    made["facts"] |= facts
    path.write_text(as_json(made))
    return f"--from={path}"


def test_results_of_before_are_shown_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", stored(tmp_path, graph_line(1234.0))]) == 0
    out = capsys.readouterr().out
    assert "1,234" in out
    assert "Cost of a step" in out


def test_results_of_before_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--json", stored(tmp_path, graph_line(1234.0))]) == 0
    assert json.loads(capsys.readouterr().out) == results(graph_line(1234.0))


def test_results_of_before_become_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "docs" / "performance.md"
    assert run(["bench", stored(tmp_path, graph_line(1234.0)), f"--write={page}"]) == 0
    assert page.read_text().startswith("# Performance")
    assert f"wrote {page}" in capsys.readouterr().err


def test_what_was_measured_in_parts_becomes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [graph_line(1234.0), graph_line(2345.0, size="200x50")]
    files = [stored(tmp_path, part, name=f"{number}.json") for number, part in enumerate(parts)]
    assert run(["bench", "--json", *files]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {**results(parts[0], {**parts[1], "round": 3}), "facts": {**FACTS, "parts": 2}}
    assert run(["bench", *files, f"--write={tmp_path / 'page.md'}"]) == 0
    assert "3 rounds in each of 2 runs:" in (tmp_path / "page.md").read_text()


def test_figures_of_two_parts_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cost of an item of W5 is one of W2's steps, in the same round."""
    steps = stored(tmp_path, graph_line(1000.0, "W2", "1000"), name="1.json")
    items = stored(tmp_path, graph_line(1000.0, "W5", "10000"), name="2.json")
    assert run(["bench", steps, items, f"--write={tmp_path / 'page.md'}"]) == 0
    assert (
        "| W5 | cost of an item <= 1.2 times that of W2's steps | not measured | - |"
        in (tmp_path / "page.md").read_text()
    )


def test_the_rows_beside_a_workload_are_those_of_the_part_that_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = stored(tmp_path, line("W9", "30"), name="1.json", old_rows=0, waiting_rows=1000)
    beside = stored(tmp_path, graph_line(2.0, "W7", "500"), name="2.json", old_rows=5000, waiting_rows=1000)
    assert run(["bench", "--json", idle, beside]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (facts["old_rows"], facts["waiting_rows"]) == (5000, 1000)
    fewer = stored(tmp_path, graph_line(2.0, "W7", "500"), name="3.json", old_rows=5000, waiting_rows=10)
    assert run(["bench", idle, fewer]) == 2
    assert "waiting_rows differs: 1000, 10" in capsys.readouterr().err


def test_a_page_of_parts_can_be_joined_with_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [
        stored(tmp_path, graph_line(1.0, size=f"{n}x50"), name=f"{n}.json", measured_at=f"2026-11-0{n}") for n in (1, 2)
    ]
    assert run(["bench", *sizes, f"--write={tmp_path / 'page.md'}"]) == 0
    capsys.readouterr()
    third = stored(tmp_path, graph_line(1.0, size="3x50"), name="3.json", measured_at="2026-11-01")
    assert run(["bench", "--json", f"--from={tmp_path / 'performance' / 'results.json'}", third]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["facts"]["parts"], told["facts"]["measured_at"]) == (3, "2026-11-01 and 2026-11-02")
    assert [line["round"] for line in told["lines"]] == [0, 3, 6]


def test_parts_that_would_mix_figures_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = stored(tmp_path, graph_line(1.0), name="1.json")
    again = stored(tmp_path, graph_line(2.0), name="2.json")
    elsewhere = stored(tmp_path, graph_line(2.0, "W2", "50"), name="3.json", cores=8)
    assert run(["bench", one, again]) == 2
    assert "--from: W1 20x50 on 4 slots stands in more than one" in capsys.readouterr().err
    assert run(["bench", one, elsewhere]) == 2
    assert "cores differs: 2, 8" in capsys.readouterr().err


def test_a_measurement_that_failed_its_check_makes_exit_code_1(tmp_path: Path) -> None:
    assert run(["bench", stored(tmp_path, graph_line(1.0, ok=False, faults=["1 steps ran again"]))]) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workloads=W1,W11"], "W11: is not one of W1, W2"),
        (["--sizes=W1=3"], "W1: a size is written like 20x50, not '3'"),
        (["--slots=0"], "--slots: wants numbers separated by commas, not '0'"),
        (["--peers=."], "--peers: names no suite of peers"),
        (["--from=no-such-file"], "--from: cannot read no-such-file"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_started(
    options: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", *options]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
