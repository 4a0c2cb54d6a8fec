from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.bench.slots import queue_times_ms, used_share
from orchestrator.bench.steplog import Log, Ran, faults, gaps_ms, quantile, read
from orchestrator.bench.workloads import graph_workload

CHAIN = graph_workload("W1", "1x3")
FAN = graph_workload("W2", "2")


def written(folder: Path, *lines: str) -> Log:
    """The log of two processes that wrote the lines in turn."""
    for index, text in enumerate(lines):
        with (folder / f"log.{index % 2}").open("a") as file:
            file.write(text + "\n")
    (folder / "logger.1").write_text("0 other 1 2 \n")
    return read(str(folder / "log"))


def test_the_lines_of_all_processes_are_one_log(tmp_path: Path) -> None:
    log = written(tmp_path, "0 s0 10 20 ", "0 s1 30 40 ", "0 s2 50 60 7")
    assert log == Log({(0, "s0"): Ran(10, 20, None), (0, "s1"): Ran(30, 40, None), (0, "s2"): Ran(50, 60, 7)})
    assert faults(log, CHAIN) == []


def test_a_step_that_is_missing_or_ran_twice_is_a_fault(tmp_path: Path) -> None:
    log = written(tmp_path, "0 s0 10 20 ", "0 s0 30 40 ", "0 s1 50 60 ")
    assert faults(log, CHAIN) == ["2 of 3 steps ran", "1 steps ran again"]


@pytest.mark.parametrize(("seen", "told"), [("2", []), ("1", ["join was handed ['1'] results, not 2"])])
def test_a_join_that_was_handed_too_little_is_a_fault(tmp_path: Path, seen: str, told: list[str]) -> None:
    log = written(tmp_path, "0 source 1 2 ", "0 leaf0 3 4 ", "0 leaf1 3 5 ", f"0 join 9 9 {seen}")
    assert faults(log, FAN) == told


def test_a_gap_is_the_time_from_the_end_of_the_last_source_to_the_start(tmp_path: Path) -> None:
    log = written(
        tmp_path, "0 source 0 1000000 ", "0 leaf0 2000000 3000000 ", "0 leaf1 4000000 5000000 ", "0 join 9000000 9 2"
    )
    assert gaps_ms(log, FAN) == [1.0, 3.0, 4.0]


def test_a_quantile_is_one_of_the_values() -> None:
    assert [quantile([3.0, 1.0, 2.0], share) for share in (0, 0.5, 0.95)] == [1.0, 2.0, 3.0]


def test_the_share_of_slots_in_use_is_counted_until_nothing_is_left_to_start() -> None:
    log = Log({(0, "source"): Ran(0, 1, None), (0, "a"): Ran(100, 200, None), (0, "b"): Ran(100, 150, None)})
    log.steps[0, "c"] = Ran(200, 900, None)
    assert used_share(log, 2) == pytest.approx(0.75)
    assert used_share(Log(), 2) == 0.0


def test_a_queue_time_counts_from_the_end_of_the_first_step() -> None:
    log = Log({(0, "source"): Ran(0, 1_000_000, None), (0, "n0"): Ran(3_000_000, 4_000_000, None)})
    assert queue_times_ms(log, ["n0", "missing"]) == [2.0]
