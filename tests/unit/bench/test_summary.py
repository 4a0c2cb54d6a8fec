from __future__ import annotations

from typing import Any

import pytest

from orchestrator.bench.goals import Goal, goals
from orchestrator.bench.sheets import sheets
from orchestrator.bench.summary import own_groups
from tests.unit.bench.results import graph_line, line, peer_line, results

KEY = ("W1", "20x50", 4)


def verdicts(found: dict[str, Any]) -> dict[str, bool | None]:
    return {f"{goal.workload}: {goal.says}": goal.met for goal in goals(found)}


def test_a_figure_is_the_median_of_the_rounds() -> None:
    lines = [graph_line(speed, number=number) for number, speed in enumerate((100.0, 300.0, 200.0))]
    group = own_groups(results(*lines))[KEY]
    assert (group.median("steps_per_s"), group.median("cpu_s", "worker"), group.median("no_such")) == (200.0, 1.5, None)


def test_rounds_in_which_others_took_the_machine_are_left_out_unless_all_were_such() -> None:
    noisy = graph_line(50.0, number=0, foreign_cpu_percent=40.0)
    mixed = own_groups(results(noisy, graph_line(100.0, number=1)))[KEY]
    assert (mixed.median("steps_per_s"), mixed.noisy) == (100.0, False)
    alone = own_groups(results(noisy))[KEY]
    assert (alone.median("steps_per_s"), alone.noisy) == (50.0, True)
    assert sheets(results(noisy))["speed"].rows[0][3] == "~50"


def test_a_very_short_measurement_is_never_called_noisy() -> None:
    assert not own_groups(results(graph_line(50.0, seconds=0.2, foreign_cpu_percent=40.0)))[KEY].noisy


def test_a_measurement_whose_check_failed_counts_for_nothing() -> None:
    failed = graph_line(900.0, ok=False, faults=["3 steps ran again"])
    assert own_groups(results(failed)) == {}
    assert sheets(results(failed)) == {}


def test_a_peer_is_compared_within_the_round_with_the_best_of_all() -> None:
    peers = (
        peer_line("ours", 300.0),
        peer_line("celery-c4", 30.0),
        peer_line("swift", 100.0),
        peer_line("ours", 500.0, round=1),
        peer_line("celery-c4", 50.0, round=1),
        peer_line("swift", 400.0, round=1),
    )
    (best, celery) = goals(results(peers=peers))
    assert best == Goal("W1 20x50", ">= 2 times the best peer", "2.12 times", True)
    assert celery == Goal("W1 20x50", ">= 8 times Celery's canvas", "10.00 times", True)


def test_other_sizes_have_goals_of_their_own() -> None:
    speeds = {"ours": 150.0, "swift": 100.0, "celery-c4": 20.0}
    peers = tuple(peer_line(label, speed, asked="200x50") for label, speed in speeds.items())
    assert verdicts(results(peers=peers)) == {
        "W1 200x50: >= 1.4 times the best peer": True,
        "W1 200x50: >= 8 times Celery's canvas": False,
    }


def test_the_gap_of_one_chain_is_compared_with_the_smallest() -> None:
    peers = (
        peer_line("ours", 9.0, "W4", "50", p50_step_gap_ms=1.0, p95_step_gap_ms=3.5),
        peer_line("swift", 9.0, "W4", "50", p50_step_gap_ms=2.0),
        peer_line("slow", 9.0, "W4", "50", p50_step_gap_ms=9.0),
    )
    assert list(verdicts(results(peers=peers)).values()) == [True, False]


def test_a_larger_graph_is_compared_with_the_fan_and_its_memory_with_its_start() -> None:
    fan, graph = graph_line(200.0, "W2", "1000"), graph_line(100.0, "W6", "100x100")
    graph |= {"again_peak_mb": {"worker": 300, "beat": 87}, "again_grown_mb": {"worker": 50, "beat": 0}}
    assert verdicts(results(fan, graph)) == {
        "W6: cost of a step <= 1.2 times W2's": False,
        "W6: memory of worker flat (a second run adds <= 10 %)": False,
        "W6: memory of beat flat (a second run adds <= 10 %)": True,
    }


def test_the_goals_of_starts_idling_and_slots_are_judged() -> None:
    idle = line("W9", "30", cpu_percent={"worker": 0.3, "beat": 0.5, "web": 0.1}, statements_per_s=31.0)
    lines = (
        line("W8", "1000", starts_per_s=900.0, transactional_starts_per_s=900.0, rest_starts_per_s=290.0),
        idle,
        line("W10", "600", use_percent=96.0, p99_queue_ms=None),
    )
    assert list(verdicts(results(*lines)).values()) == [True, False, True, False, True, None]
    assert goals(results(*lines))[-1].measured == "not measured"


def test_growth_is_judged_by_the_same_graph_measured_alike_without_the_rows() -> None:
    lines = (graph_line(500.0, "W3", "500"), graph_line(95.0, "W7", "500", empty_steps_per_s=100.0))
    assert verdicts(results(*lines)) == {"W7: >= 0.9 times its steps/s without these rows": True}
    slower = graph_line(85.0, "W7", "500", empty_steps_per_s=100.0)
    assert list(verdicts(results(slower)).values()) == [False]


def test_a_goal_that_was_judged_by_noisy_rounds_says_so() -> None:
    noisy = line("W8", "1000", starts_per_s=900.0, foreign_cpu_percent=40.0)
    assert next(iter(goals(results(noisy)))).noisy
    assert sheets(results(noisy))["goals"].rows[0][2] == "~900 starts/s"


@pytest.mark.parametrize("size", ["20x50", "4x20"])
def test_a_peer_whose_usual_size_is_smaller_shows_its_own(size: str) -> None:
    sheet = sheets(results(peers=(peer_line("ours", 100.0), peer_line("slow", 10.0, size=size))))["peers W1 20x50"]
    ours, slow = sheet.rows
    assert ours[0] == "ours"
    assert slow[0] == ("slow" if size == "20x50" else "slow (4x20)")
    assert slow[-1] == "10.00 x"
