"""`any` and N start a step with sources still open, once."""

from __future__ import annotations

from orchestrator import testing
from tests.documents import document, on, step
from tests.scripted import FUNCTION, Script


def sources(count: int) -> list[dict[str, object]]:
    return [step(f"s{i}", function=FUNCTION) for i in range(count)]


def test_any_starts_with_the_first_satisfied_source() -> None:
    script = Script({"s0": ["failed"]})
    join = step("join", *(f"s{i}" for i in range(4)), function=FUNCTION, join="any")
    # The last message first: as soon as the join may start, it is the one that goes.
    result = testing.run(
        document(*sources(4), join), None, script.functions, pick=lambda waiting: waiting - 1 if script.ran else 0
    )
    assert script.ran == ["s0", "s3", "join", "s2", "s1"]
    assert result.steps["join"].attempts == 1


def test_n_starts_with_the_nth_satisfied_source() -> None:
    script = Script({})
    join = step("join", *(f"s{i}" for i in range(4)), function=FUNCTION, join=3)
    testing.run(document(*sources(4), join), None, script.functions, pick=lambda waiting: waiting - 1)
    assert script.ran == ["s3", "s2", "s1", "join", "s0"]


def test_several_edges_from_one_source_count_as_one() -> None:
    script = Script({})
    edges = [on("s0", "success"), on("s0", "complete"), on("s1", "success")]
    join = step("join", function=FUNCTION, depends_on=edges, join=2)
    testing.run(document(*sources(2), join), None, script.functions, pick=lambda waiting: waiting - 1)
    assert script.ran == ["s1", "s0", "join"]


def test_a_rule_that_waits_for_nothing_starts_with_the_run() -> None:
    script = Script({})
    first = step("first", "s0", function=FUNCTION, trigger_rule="always")
    testing.run(document(*sources(1), first), None, script.functions, pick=lambda waiting: waiting - 1)
    assert script.ran == ["first", "s0"]
