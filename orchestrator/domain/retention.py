"""How long what has ended is kept: rules, and which of them holds for a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

RUNS = "runs"
MOST_NEWEST = 1_000_000
MOST_SECONDS = 100 * 366 * 86400


@dataclass(frozen=True, slots=True)
class Rule:
    """How long runs (or the history that `what` names) are kept; for ever where it gives no bound.

    `app` and `workflow` are keys of names, `status` how the run ended; an empty text means any. With both bounds a run
    is kept as long as either keeps it: while it ended less than `keep_seconds` ago, or is among the `keep_newest` that
    were started last of those of its workflow and app the rule holds for.
    """

    what: str = RUNS
    app: str = ""
    workflow: str = ""
    status: str = ""
    keep_seconds: int | None = None
    keep_newest: int | None = None

    @property
    def removes(self) -> bool:
        return self.keep_seconds is not None or self.keep_newest is not None

    def concerns(self, workflow: str) -> bool:
        """Whether it may hold for runs of this workflow."""
        return self.what == RUNS and self.workflow in ("", workflow)

    def holds_for(self, workflow: str, app: str, status: str) -> bool:
        return self.concerns(workflow) and self.app in ("", app) and self.status in ("", status)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that no step of another started, and that has ended `age` seconds ago."""

    id: str
    app: str
    status: str
    age: float


@dataclass(slots=True)
class Sieve:
    """Tells which runs of one workflow are to go; it is shown them newest first.

    Of the rules that hold for a run the most particular one counts: one that names the workflow goes before one that
    does not, then one that names the app, then one that names the status.
    """

    workflow: str
    rules: Sequence[Rule]
    _seen: Counter[tuple[Rule, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, workflow: str, rules: Iterable[Rule]) -> Sieve:
        concerned = (rule for rule in rules if rule.concerns(workflow))
        return cls(workflow, sorted(concerned, key=lambda r: (r.workflow == "", r.app == "", r.status == "")))

    @property
    def removes(self) -> bool:
        """Whether it may let any go."""
        return any(rule.removes for rule in self.rules)

    @property
    def youngest(self) -> int:
        """How old a run is at least that may go, in seconds; 0 where the newest have to be counted."""
        bounds = (0 if rule.keep_newest is not None else rule.keep_seconds for rule in self.rules if rule.removes)
        return min((bound for bound in bounds if bound is not None), default=0)

    def lets_go(self, run: Ended) -> float | None:
        """None to keep the run; else how many seconds ago all that belongs to it must have ended for it to go."""
        rule = next((r for r in self.rules if r.holds_for(self.workflow, run.app, run.status)), None)
        if rule is None or not rule.removes:
            return None
        self._seen[rule, run.app] += 1
        if rule.keep_newest is not None and self._seen[rule, run.app] <= rule.keep_newest:
            return None
        keep = rule.keep_seconds or 0
        return keep if run.age >= keep else None
