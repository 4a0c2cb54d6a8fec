"""`orchestrator bench` without measuring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.bench.page import as_json
from orchestrator.cli.main import run
from tests.unit.bench.results import FACTS, graph_line, results


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
    assert told == {**results(*parts), "facts": {**FACTS, "parts": 2}}
    assert run(["bench", *files, f"--write={tmp_path / 'page.md'}"]) == 0
    assert "3 rounds in each of 2 runs:" in (tmp_path / "page.md").read_text()


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
