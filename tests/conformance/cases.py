"""The cases of tests/data as documents of our format with what their steps do (tests/data/SOURCES.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.scripted import FUNCTION

DATA = Path(__file__).parents[1] / "data"
_NOT_RUN = ("skipped", "upstream_failed", "canceled")


@dataclass(frozen=True)
class Case:
    """A document, what its steps do, and how the run (None: not said) and its steps end."""

    id: str
    document: Mapping[str, Any]
    outcomes: Mapping[str, list[str]]
    run: str | None
    ends: Mapping[str, str]


@cache
def load(name: str) -> list[dict[str, Any]]:
    """The cases of a data file, as written there."""
    cases: list[dict[str, Any]] = json.loads((DATA / name).read_text())["cases"]
    return cases


def dag_outcomes() -> list[Case]:
    """Graphs of other engines: `needs` of N sources, edges on success, failure and completion."""
    return [dag_case(case) for case in load("dag_outcomes.json")]


def rule_dags() -> list[Case]:
    """Graphs of Airflow's trigger rules."""
    return [_rule_case(case) for case in load("trigger_rule_dags.json")]


def not_run(status: str, reason: str | None) -> bool:
    """Whether an end of ours is what Orquesta and Mistral call not run."""
    return status in _NOT_RUN or (status, reason) == ("failed", "unreachable")


def dag_case(case: Mapping[str, Any]) -> Case:
    """A case as written in dag_outcomes.json."""
    # Orquesta's `continue` marks an end of the graph and is no step.
    rows = [row for row in case["steps"] if row.get("command") != "continue"]
    # There a transition on completion deals with the failure; here only `on_error` does.
    edges = [edge.split() for row in rows for edge in row.get("after", ())]
    handled = {source for source, on, *condition in edges if on == "complete" and condition != ["unless"]}
    steps = [_dag_step(row) | ({"on_error": "ignore"} if row["name"] in handled else {}) for row in rows]
    fails = {row["name"]: ["failed"] for row in rows if row.get("fails") or row.get("command") == "fail"}
    ends = {row["name"]: row["ends"] for row in rows if "ends" in row}
    return Case(case["id"], {"name": case["id"], "steps": steps}, fails, case["run"], ends)


def _dag_step(row: Mapping[str, Any]) -> dict[str, Any]:
    step: dict[str, Any] = {"name": row["name"], "function": FUNCTION}
    edges = [_edge(*text.split()) for text in row.get("after", ())]
    sources = {edge["step"] for edge in edges}
    needs = row.get("needs", 1)
    if edges:
        step |= {"depends_on": edges, "join": "all" if needs >= len(sources) else needs}
    if len(sources) > 1:
        step["on_unreachable"] = "fail"
    return step


def _edge(source: str, on: str, condition: str | None = None) -> dict[str, Any]:
    edge = {"step": source, "on": on}
    return edge if condition is None else edge | {"when": "true" if condition == "if" else "false"}


def _rule_case(case: Mapping[str, Any]) -> Case:
    steps = [
        {"name": row["name"], "function": FUNCTION, "depends_on": row.get("after", []), "trigger_rule": row["rule"]}
        for row in case["steps"]
    ]
    outcomes = {row["name"]: [row["does"]] for row in case["steps"]}
    ends = {row["name"]: row["ends"] for row in case["steps"]}
    return Case(case["id"], {"name": case["id"], "steps": steps}, outcomes, None, ends)
