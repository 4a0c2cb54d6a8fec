"""The cases of Orquesta and Mistral as documents of Orquesta, to be imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.scripted import FUNCTION

_WHEN = {"success": "succeeded()", "failure": "failed()", "complete": "completed()"}
_TRUTH = {"if": " and 1 = 1", "unless": " and 1 = 2"}


def orquesta_document(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case as written in dag_outcomes.json, in the words of the engine it was observed in."""
    commands = {row["name"]: row["command"] for row in case["steps"] if "command" in row}
    rows = {row["name"]: row for row in case["steps"] if row["name"] not in commands}
    tasks: dict[str, dict[str, Any]] = {name: {"action": FUNCTION} for name in rows}
    for row in case["steps"]:
        name = row["name"]
        edges = [text.split() for text in row.get("after", ())]
        for source, on, *truth in edges:
            when = "<% " + _WHEN[on] + "".join(_TRUTH[word] for word in truth) + " %>"
            tasks[source].setdefault("next", []).append({"when": when, "do": [commands.get(name, name)]})
        sources = {source for source, *_ in edges}
        if len(sources) > 1 and name in tasks:
            needs = row.get("needs", 1)
            tasks[name]["join"] = "all" if needs >= len(sources) else needs
    return {"version": 1.0, "tasks": tasks}
