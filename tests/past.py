"""Which of two ends certainly came first, for the reference of tests/reference.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tests.airflow_rules import DECISIVE, EARLY

OPEN = ("pending", "ready", "running")


class Run(Protocol):
    """What is asked of a run."""

    steps: dict[str, dict[str, Any]]
    status: dict[str, str]
    reason: dict[str, str | None]
    started: set[str]

    def as_seen(self, name: str, end: str) -> str: ...


class Past:
    """Which of two steps certainly ended first, found by leaving one out and looking whether the other could end.

    A step whose rule or join may start it at the first of several sources could start after any of them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def skip_first(self, seen: Mapping[str, str]) -> bool:
        """Whether some skip came before every failure, whatever the order (Airflow then skips at once)."""
        skips = [name for name, end in seen.items() if end == "skipped"]
        failures = [name for name, end in seen.items() if end in ("failed", "upstream_failed")]
        return bool(skips and failures) and all(any(self.before(s, f) for s in skips) for f in failures)

    def before(self, early: str, late: str) -> bool:
        if self._attempted(early):
            return not self._ends_without(late, early, at_once=True)
        return any(all(self.before(name, late) for name in group) for group in self._deciding(early))

    def _ends_without(self, name: str, missing: str, *, at_once: bool = False) -> bool:
        """Whether `name` can end while `missing` has not; `at_once` allows the very moment that `missing` ends."""
        if self._attempted(name):
            return (at_once or name != missing) and self._starts_without(name, missing)
        groups = self._deciding(name)
        return not groups or any(all(self._ends_without(n, missing, at_once=at_once) for n in g) for g in groups)

    def _starts_without(self, name: str, missing: str) -> bool:
        step, above = self.run.steps[name], self._sources(name)
        if step.get("trigger_rule") == "always" or not above:
            return True
        if len(above) > 1 and (step.get("trigger_rule") in EARLY or (needed(step) or len(above)) < len(above)):
            return any(self._loosely_without(source, missing) for source in above)
        return all(self._ends_without(source, missing) for source in above)

    def _loosely_without(self, name: str, missing: str) -> bool:
        if name == missing:
            return False
        above = [] if self.run.steps[name].get("trigger_rule") == "always" else self._sources(name)
        return not above or any(self._loosely_without(source, missing) for source in above)

    def _deciding(self, name: str) -> list[list[str]]:
        """Groups of sources each of which alone tells a step with a trigger rule that it does not run."""
        rule = self.run.steps[name].get("trigger_rule")
        if rule is None or self.run.reason[name] not in ("not_triggered", "upstream"):
            return []
        seen = {source: self.run.as_seen(source, self.run.status[source]) for source in self._sources(name)}
        alone = [[source] for source, end in seen.items() if end in DECISIVE.get(rule, ())]
        return alone or [list(seen)]

    def _sources(self, name: str) -> list[str]:
        return list(dict.fromkeys(edge["step"] for edge in self.run.steps[name]["depends_on"]))

    def _attempted(self, name: str) -> bool:
        return name in self.run.started and self.run.status[name] not in OPEN


def needed(step: Mapping[str, Any]) -> int | None:
    """How many sources must be satisfied; None for all of them."""
    join = step.get("join", "all")
    return None if join == "all" else 1 if join == "any" else int(join)
