"""Random workflows and what their steps do, for property tests (hypothesis strategies)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from orchestrator.domain.definition import EdgeOn, FailureMode, OnError, TriggerRule
from tests.scripted import FUNCTION

_HANDLERS = ("on_success", "on_failure", "on_cancel", "on_finish")
# Mostly nothing at all; conditions are those the reference knows.
_EDGE_WHEN = st.sampled_from([None] * 6 + ["true", "false", "error", "not error", "1 / 0"])
_STEP_WHEN = st.sampled_from([None] * 12 + ["true", "false", "1 / 0"])
_DONE = st.sampled_from(["succeeded"] * 3 + ["failed"] * 3 + ["skipped", "fatal", "later"])


@dataclass(frozen=True)
class Workflow:
    """A document and what attempts 1, 2, ... of each step do."""

    document: dict[str, Any]
    outcomes: dict[str, list[str]]


@st.composite
def workflows(draw: st.DrawFn, *, most: int = 8, stops: bool = True, retries: bool = True) -> Workflow:
    """Graphs of up to `most` steps with every kind of edge, join and rule. `stops`: failures may stop the run."""
    steps: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, most))):
        names = [step["name"] for step in steps]
        steps.append(draw(_step(f"s{i}", names, stops=stops, retries=retries)))
    document: dict[str, Any] = {"name": "w", "steps": draw(st.permutations(steps))}
    if stops:
        document["failure_mode"] = draw(st.sampled_from(FailureMode)).value
    document |= {name: draw(_body(retries)) for name in draw(st.sets(st.sampled_from(_HANDLERS), max_size=2))}
    scripted = [*(step["name"] for step in steps), *(name for name in _HANDLERS if name in document)]
    outcomes = {name: draw(st.lists(_DONE, max_size=3 if retries else 1)) for name in scripted}
    return Workflow(document, outcomes)


@st.composite
def _step(draw: st.DrawFn, name: str, above: list[str], *, stops: bool, retries: bool) -> dict[str, Any]:
    step = {"name": name} | draw(_body(retries))
    if draw(st.integers(0, 9)) == 0:
        step = {"name": name, "pass": True}
    errors = [on.value for on in OnError if stops or on is not OnError.ABORT]
    step |= draw(st.sampled_from([{}, {"on_error": draw(st.sampled_from(errors))}]))
    when = draw(_STEP_WHEN)
    step |= {} if when is None else {"when": when}
    return step | (draw(_dependence(above)) if above else {})


@st.composite
def _body(draw: st.DrawFn, retries: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"function": FUNCTION}
    if retries and draw(st.booleans()):
        body["retry"] = {"max_attempts": draw(st.integers(1, 3)), "delay": draw(st.sampled_from([0, 0, 5]))}
    return body


@st.composite
def _dependence(draw: st.DrawFn, above: list[str]) -> dict[str, Any]:
    """Nothing, plain edges with a trigger rule, or edges of all kinds with a join."""
    names = draw(st.lists(st.sampled_from(above), unique=True, max_size=4))
    kind = draw(st.sampled_from(["rule", "join", "join"]))
    if not names:
        return {}
    if kind == "rule":
        return {"depends_on": names, "trigger_rule": draw(st.sampled_from(TriggerRule)).value}
    edges = [draw(_edge(name)) for name in names]
    edges += draw(st.lists(_twin(edges), max_size=1))
    joins: list[str | int] = ["all", "all", "any", *range(1, len(names) + 1)]
    return {
        "depends_on": edges,
        "join": draw(st.sampled_from(joins)),
        "on_unreachable": draw(st.sampled_from(["skip", "fail"])),
    }


@st.composite
def _edge(draw: st.DrawFn, source: str) -> dict[str, Any] | str:
    on = draw(st.sampled_from([EdgeOn.SUCCESS] * 3 + list(EdgeOn)))
    when = draw(_EDGE_WHEN)
    if on is EdgeOn.SUCCESS and when is None and draw(st.booleans()):
        return source
    return {"step": source, "on": on.value} | ({} if when is None else {"when": when})


@st.composite
def _twin(draw: st.DrawFn, edges: list[Any]) -> dict[str, Any]:
    """A second edge from the source of one of `edges`, on another end and with no condition of its own."""
    first = draw(st.sampled_from(edges))
    source = first if isinstance(first, str) else first["step"]
    taken = "success" if isinstance(first, str) else first["on"]
    return {"step": source, "on": draw(st.sampled_from([on.value for on in EdgeOn if on.value != taken]))}
