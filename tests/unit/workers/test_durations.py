"""How many attempts may share a hand."""

from __future__ import annotations

from workers.durations import HAND_SECONDS, MOST, SHORT_SECONDS, TINY_SECONDS, Durations


def known(**seconds: float) -> Durations:
    durations = Durations()
    for function, took in seconds.items():
        durations.note(function, took, repeatable=True)
    return durations


def test_an_unknown_function_is_alone() -> None:
    assert known(tiny=0.0).peers("never seen") == (1, [])


def test_a_slow_function_is_alone() -> None:
    assert known(slow=SHORT_SECONDS * 1.1, tiny=0.0).peers("slow") == (1, [])


def test_tiny_functions_share_with_tiny_ones() -> None:
    assert known(a=0.0, b=TINY_SECONDS, c=SHORT_SECONDS).peers("a") == (MOST, ["a", "b"])


def test_short_functions_share_with_short_and_tiny_ones_and_fewer_at_a_time() -> None:
    room, functions = known(a=0.0, b=SHORT_SECONDS, c=1.0).peers("b")
    assert (room, functions) == (int(HAND_SECONDS / SHORT_SECONDS), ["a", "b"])


def test_a_function_that_must_not_run_twice_is_alone() -> None:
    durations = known(a=0.0)
    durations.note("once", 0.0, repeatable=False)
    assert durations.peers("once") == (1, [])
    assert durations.peers("a")[1] == ["a"]


def test_one_slow_call_is_remembered_and_fades() -> None:
    durations = known(a=0.1)
    calls = 0
    while durations.peers("a") == (1, []):
        durations.note("a", 0.0, repeatable=True)
        calls += 1
    assert 20 < calls < 200
