"""Random graphs of the kind that Orquesta and Mistral run, against a plain model of how those end.

The model: a step starts once edges from `needs` of its sources have fired. A failed step whose edges on failure or
completion all stay silent fails the run, as does a `fail` command, and a join with some of its edges fired but not
enough. It is first held to the cases that were asserted or observed there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator import testing
from tests.conformance.cases import Case, dag_case, load, not_run
from tests.reference import Reference
from tests.scripted import Script

Row = Mapping[str, Any]


def model(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    """How the run and its steps end; rows in an order in which sources come first."""
    ends: dict[str, str] = {}
    silent = {row["name"] for row in rows if row.get("command") == "continue"}
    failed = False
    for row in rows:
        fired = {edge.split()[0] for edge in row.get("after", ()) if _fires(edge, ends)}
        needs = min(row.get("needs", 1), len({edge.split()[0] for edge in row.get("after", ())}))
        starts = len(fired) >= needs
        failed |= bool(fired) and not starts
        does_fail = bool(row.get("fails")) or row.get("command") == "fail"
        ends[row["name"]] = "not_run" if not starts else "failed" if does_fail else "succeeded"
    for name in (name for name, end in ends.items() if end == "failed"):
        heard = [row for row in rows if row["name"] not in silent and _is_heard_by(name, row, ends)]
        failed |= not heard
    return "failed" if failed else "succeeded", {n: e for n, e in ends.items() if n not in silent}


def _fires(edge: str, ends: Mapping[str, str]) -> bool:
    source, on, *condition = edge.split()
    wanted = {"success": ("succeeded",), "failure": ("failed",), "complete": ("succeeded", "failed")}[on]
    return condition != ["unless"] and ends[source] in wanted


def _is_heard_by(name: str, row: Row, ends: Mapping[str, str]) -> bool:
    return any(edge.split()[0] == name and _fires(edge, ends) for edge in row.get("after", ()))


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Sources before those that depend on them."""
    left, done = list(rows), list[Row]()
    while left:
        names = {row["name"] for row in left}
        free = [row for row in left if not names & {edge.split()[0] for edge in row.get("after", ())}]
        done += free
        left = [row for row in left if row not in free]
    return done


def random_rows(chance: random.Random) -> list[dict[str, Any]]:
    """Forks, joins with counts, failure handlers with a later join, `noop` and `fail` commands, conditions."""
    rows: list[dict[str, Any]] = []
    for i in range(chance.randint(2, 12)):
        row: dict[str, Any] = {"name": f"t{i}"}
        sources = chance.sample(range(i), min(i, chance.choices([0, 1, 2, 3], [1, 6, 3, 2])[0]))
        ons = ["success"] * 5 + ["failure"] * 2 + ["complete"]
        # A join out of reach has failed with us, and is not there at all for them.
        joins = {s for s in sources if rows[s].get("needs", 1) > 1}
        edges = [[f"t{s} {'success' if s in joins else chance.choice(ons)}"] for s in sources]
        for source, several in zip(sources, edges, strict=True):
            if source not in joins and chance.random() < 0.15:
                several.append(f"{several[0].split()[0]} failure")
        conditions = [""] * 8 + [" if", " unless"]
        # Started by another source, a step with a silent failure edge still counts as handling the failure with us.
        plain = list(dict.fromkeys(edge for several in edges for edge in several))
        after = [e if e.endswith("failure") else e + chance.choice(conditions) for e in plain]
        if after:
            row["after"] = after
            row["needs"] = chance.choice([1, len(sources), chance.randint(1, len(sources))])
        command = chance.choice(["", "", "", "", "noop", "fail"])
        row |= {"command": command} if command else {}
        row |= {"fails": True} if chance.random() < 0.25 else {}
        rows.append(row)
    return rows


def random_cases(seed: int, count: int) -> list[Case]:
    cases = []
    for number in range(count):
        rows = random_rows(random.Random(f"{seed}/{number}"))
        run, ends = model(rows)
        rows = [row | {"ends": ends[row["name"]]} for row in rows]
        cases.append(dag_case({"id": f"random {seed}/{number}", "run": run, "steps": rows}))
    return cases


def as_seen(statuses: Mapping[str, tuple[str, str | None]]) -> dict[str, str]:
    return {n: "not_run" if not_run(status, reason) else status for n, (status, reason) in statuses.items()}


def test_the_model_ends_the_known_cases_as_they_do() -> None:
    for case in load("dag_outcomes.json"):
        ends = {row["name"]: row["ends"] for row in case["steps"] if row.get("command") != "continue"}
        assert model(in_order(case["steps"])) == (case["run"], ends), case["id"]


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_agrees_with_the_model(seed: int) -> None:
    """The reference that the engine is held to, in a random order of ends."""
    for case in random_cases(seed, 200):
        chance = random.Random(case.id)
        run = Reference(case.document, case.outcomes)
        while run.runnable:
            run.attempt(chance.choice(sorted(run.runnable)))
        assert (run.run, as_seen({n: (s, run.reason[n]) for n, s in run.status.items()})) == (case.run, case.ends), case


@pytest.mark.parametrize("case", random_cases(0, 60), ids=lambda case: case.id)
def test_the_engine_agrees_with_the_model(case: Case) -> None:
    result = testing.run(case.document, None, Script(case.outcomes).functions)
    assert (result.status, as_seen({s.name: (s.status, s.reason) for s in result.steps.values()})) == (
        case.run,
        case.ends,
    )
