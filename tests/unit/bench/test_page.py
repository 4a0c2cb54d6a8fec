from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from orchestrator.bench.page import DATA, FOLDER, as_json, markdown, write_page
from orchestrator.bench.plots import Panel, draw, plots
from orchestrator.bench.sheets import Sheet
from tests.unit.bench.results import graph_line, peer_line, results

FOUND = results(graph_line(100.0), peers=(peer_line("ours", 100.0), peer_line("<swift>", 50.0)))


def test_the_page_is_written_with_its_pictures_and_data(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "performance.md"
    written = write_page(FOUND, page)
    assert written == [page, *(tmp_path / "docs" / FOLDER / name for name in (DATA, "throughput.svg"))]
    text = page.read_text()
    assert "| W1 | 20x50 | 4 | 100 | 2.00 | 4.00 | 9.00 | 1 |" in text
    assert f"]({FOLDER}/throughput.svg)" in text
    assert "BEGIN" in text
    assert json.loads((page.parent / FOLDER / DATA).read_text()) == FOUND


def test_what_was_not_measured_is_said_to_be_so(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    write_page(results(), page)
    assert page.read_text().count("Not measured this time.") == 5


def test_the_machines_own_pace_is_told_where_it_was_measured(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    write_page(results(graph_line(1.0, additions_m_per_s=6.0), graph_line(2.0, additions_m_per_s=11.5)), page)
    assert "added up 6 to 11.5 million numbers a second" in page.read_text()


def test_the_data_is_json_with_a_measurement_a_line() -> None:
    text = as_json(results(graph_line(1.0), graph_line(2.0)))
    assert json.loads(text) == results(graph_line(1.0), graph_line(2.0))
    assert sum(line.startswith('{"workload"') for line in text.splitlines()) == 2


def test_a_bar_in_a_table_cell_does_not_end_the_cell() -> None:
    assert markdown(Sheet("t", ("a",), [("x || y",)])).splitlines()[-1] == "| x \\|\\| y |"


def test_a_picture_is_xml_whose_longest_bar_is_the_largest_value() -> None:
    root = ElementTree.fromstring(draw([Panel("<a> & b", {"ours": 10.0, "<swift>": 20.0, "none": 0.0})]))
    bars = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if "bar" in one.get("class", "")]
    ours, swift, none = (float(bar.get("width", "")) for bar in bars)
    assert swift == 2 * ours > none > 0
    assert [bar.get("class") for bar in bars] == ["bar ours", "bar", "bar"]


def test_without_peers_the_picture_shows_ours_alone() -> None:
    assert list(plots(results(graph_line(100.0)))) == ["throughput.svg"]
    assert plots(results()) == {}
