"""What a run must end as, worked out the slow and plain way from the pages of docs/.

Written from the words of docs/definition.md and docs/silent.md and Airflow's published table of trigger rules, with no
line of the engine in use: a document, what each attempt does, and the order in which attempts ended go in; ends come
out. After every event everything is decided again from nothing but the statuses.

`eager` says when a step with a join that will not run is told so: False, once all its sources have ended; True, as
soon as no end of the open ones could change it (found by trying them all). The pages allow both, and they
differ only in runs that are stopped half way.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.airflow_rules import EARLY, RUN, WAIT, Verdict, rule_verdict
from tests.past import OPEN, Past, needed

ENDS = ("succeeded", "failed", "skipped", "upstream_failed")
_HANDLERS = {"succeeded": "on_success", "failed": "on_failure", "canceled": "on_cancel"}

# The conditions that generated graphs use: whether each holds, given how the edge's source ended.
CONDITIONS: dict[str, Callable[[str], bool]] = {
    "true": lambda end: True,
    "false": lambda end: False,
    "error": lambda end: end == "failed",
    "not error": lambda end: end != "failed",
    "1 / 0": lambda end: 1 // 0 == 0,
    "nothing.here": lambda end: 1 // 0 == 0,
}


class NotAllowed(AssertionError):
    """The engine ran what the pages say may not run now."""


@dataclass
class Reference:
    """One run. Feed it what happened to attempts in its order, then ask for the ends."""

    document: Mapping[str, Any]
    outcomes: Mapping[str, Sequence[str]]  # succeeded, failed, skipped, fatal (Fail), later (RetryLater)
    eager: bool = False
    patient: bool = False  # eager, but not for a step with an edge that has a condition
    max_lost: int = 3
    status: dict[str, str] = field(default_factory=dict)
    reason: dict[str, str | None] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)  # how often the function was called
    used: Counter[str] = field(default_factory=Counter)  # attempts since the last operator's retry, lost ones apart
    lost: Counter[str] = field(default_factory=Counter)
    started: set[str] = field(default_factory=set)
    stopped: str | None = None  # the reason that keeps everything else from starting
    canceled: bool = False
    paused: bool = False
    run: str | None = None

    def __post_init__(self) -> None:
        self.steps = {step["name"]: _full(step, self.document) for step in self.document["steps"]}
        for name in self.steps:
            self._set(name, "pending")
        self._settle()

    # Events.

    def attempt(self, name: str) -> None:
        """The next attempt of `name` has begun and ended."""
        self.begin(name)
        self.finish(name)

    def begin(self, name: str) -> None:
        """A worker has taken the step."""
        if self.status.get(name) != "ready":
            raise NotAllowed(f"{name} ran while it was {self.status.get(name)}")
        self.started.add(name)
        self._set(name, "running")

    def finish(self, name: str) -> None:
        """The attempt has called the function and ended; nothing is kept of it if the step is not its any more."""
        self.calls[name] += 1
        if self.status[name] != "running":
            return
        self.used[name] += 1
        script = self.outcomes.get(name, ())
        self._after(name, script[self.calls[name] - 1] if self.calls[name] <= len(script) else "succeeded")
        self._settle()

    def lose(self, name: str) -> None:
        """The worker of the running attempt died."""
        self.lost[name] += 1
        if self.canceled and name in self.steps:
            self._set(name, "canceled", "canceled")
        elif self._step(name).get("on_lost") == "fail":
            self._set(name, "failed", "lost")
        elif self.lost[name] >= self.max_lost:
            self._set(name, "failed", "poison")
        else:
            self._set(name, "ready")
        self._settle()

    def pause(self) -> None:
        """An operator pauses the run: what runs goes on, but the run does not end."""
        self.paused = True

    def resume(self) -> None:
        """An operator lets the paused run go on."""
        self.paused = False
        self._settle()

    def cancel(self, *, force: bool = False) -> None:
        """An operator cancels the run."""
        if self.run is None and not self._handling():
            self.canceled, self.paused = True, False
            self._stop("canceled", running=force)
            self._settle()

    def retry(self) -> None:
        """An operator lets the failed or canceled run go on."""
        again = {name for name in self.steps if self.status[name] in ("failed", "canceled")}
        while True:
            below = {n for n in self.steps if n not in again and self.status[n] in ("skipped", "upstream_failed")}
            more = {n for n in below if again & {e["step"] for e in self.steps[n]["depends_on"]}}
            if not more:
                break
            again |= more
        handlers = set(self.status) - set(self.steps)
        for name in again | handlers:
            self._set(name, "pending")
            self.started.discard(name)
            self.used[name] = self.lost[name] = 0
        for name in handlers:
            del self.status[name]
        self.stopped, self.canceled, self.run = None, False, None
        self._settle()

    # What is asked of it.

    @property
    def runnable(self) -> set[str]:
        """Steps that may run now."""
        return {name for name, status in self.status.items() if status == "ready"}

    @property
    def ends(self) -> dict[str, tuple[str, str | None]]:
        """Status and reason of every step, handlers included."""
        return {name: (status, self.reason[name]) for name, status in self.status.items()}

    # How attempts end.

    def _after(self, name: str, done: str) -> None:
        step = self._step(name)
        if done == "succeeded":
            self._set(name, "succeeded")
        elif done == "skipped":
            self._set(name, "skipped", "function")
        elif done == "fatal" or self._last_attempt(name, step):
            self._set(name, "failed", "error")
        else:
            self._set(name, "ready")

    def _last_attempt(self, name: str, step: Mapping[str, Any]) -> bool:
        """A run that is stopping tries nothing again."""
        stopping = self.stopped is not None and name in self.steps
        return stopping or self.used[name] >= step.get("retry", {}).get("max_attempts", 1)

    def _step(self, name: str) -> dict[str, Any]:
        return self.steps[name] if name in self.steps else _full(self.document[name], self.document)

    def _set(self, name: str, status: str, reason: str | None = None) -> None:
        self.status[name], self.reason[name] = status, reason

    # What follows.

    def _settle(self) -> None:
        """Decide everything that is decided now, stop what is to be stopped, and end the run."""
        while self._decide_one():
            pass
        if self.stopped in (None, "drain") and not self._handling():
            self._stop_if_failed()
        if self.run is None and not self.paused and not any(status in OPEN for status in self.status.values()):
            self._close()

    def _decide_one(self) -> bool:
        for name, step in self.steps.items():
            if self.status[name] != "pending":
                continue
            verdict = self.verdict(step)
            if verdict is WAIT:
                continue
            if verdict is RUN:
                self._start(name, step)
            else:
                self._set(name, verdict.status, verdict.reason)
            return True
        return False

    def _start(self, name: str, step: Mapping[str, Any]) -> None:
        try:
            holds = CONDITIONS[step.get("when", "true")]("succeeded")
        except ZeroDivisionError:
            self._set(name, "failed", "condition_error")
            return
        if not holds:
            self._set(name, "skipped", "condition")
        elif "pass" in step:
            self.started.add(name)
            self._set(name, "succeeded")
        else:
            self._set(name, "ready")

    def _stop_if_failed(self) -> None:
        failed = [name for name in self.steps if self.status[name] == "failed"]
        if any(self.steps[name]["on_error"] == "abort" for name in failed):
            self._stop("abort")  # cuts a drain short, too
        mode = self.document.get("failure_mode", "run_on")
        if self.stopped is None and mode != "run_on" and any(self._lost_hope(name) for name in failed):
            self._stop("drain" if mode == "drain" else "run_failed", running=mode == "cancel")

    def _lost_hope(self, name: str) -> bool:
        """Whether the failure is unhandled whatever happens next."""
        return self._unhandled(name) and not any(self.status[c] in OPEN for c in self._catchers(name))

    def _unhandled(self, name: str) -> bool:
        if self.steps[name]["on_error"] in ("ignore", "continue"):
            return False
        return not any(catcher in self.started for catcher in self._catchers(name))

    def _catchers(self, name: str) -> Iterator[str]:
        for other, step in self.steps.items():
            if any(edge["step"] == name and edge["on"] == "failure" for edge in step["depends_on"]):
                yield other

    def _stop(self, reason: str, *, running: bool = True) -> None:
        self.stopped = reason
        self.paused &= reason == "drain"  # a run that is over does not stay paused
        for name in self.steps:
            if self.status[name] in OPEN and (running or self.status[name] != "running"):
                self._set(name, "canceled", reason)

    def _handling(self) -> bool:
        return any(name not in self.steps for name in self.status)

    def _close(self) -> None:
        """All steps have ended: the handler that is due, else the end of the run."""
        for handler in (_HANDLERS[self.outcome], "on_finish"):
            if handler in self.document and handler not in self.status:
                self._set(handler, "pending")
                self._start(handler, self._step(handler))
                self._settle()
                return
        self.run = self.outcome

    @property
    def outcome(self) -> str:
        if self.canceled:
            return "canceled"
        failed = [name for name in self.steps if self.status[name] == "failed"]
        if self.stopped is not None or any(self._unhandled(name) for name in failed):
            return "failed"
        return "succeeded"

    # The decision about one step.

    def verdict(self, step: Mapping[str, Any]) -> Verdict:
        """From the statuses of the step's sources, whether and how it is decided."""
        sources = list(dict.fromkeys(edge["step"] for edge in step["depends_on"]))
        ends = {name: self.status[name] for name in sources if self.status[name] not in OPEN}
        if len(ends) == len(sources):
            return self._final(step, ends)
        if self._already_met(step, ends):
            return RUN
        eager = self.eager and not (self.patient and any("when" in edge for edge in step["depends_on"]))
        return self._certain(step, sources, ends) if eager and "trigger_rule" not in step else WAIT

    def _certain(self, step: Mapping[str, Any], sources: Sequence[str], ends: Mapping[str, str]) -> Verdict:
        unknown = [name for name in sources if name not in ends]
        tried = itertools.product(ENDS, repeat=len(unknown))
        futures = {self._final(step, {**ends, **dict(zip(unknown, future, strict=True))}) for future in tried}
        return futures.pop() if len(futures) == 1 and RUN not in futures else WAIT

    def _final(self, step: Mapping[str, Any], ends: Mapping[str, str]) -> Verdict:
        if "trigger_rule" not in step:
            return self._join_verdict(step, ends)
        seen = {name: self.as_seen(name, end) for name, end in ends.items()}
        if step["trigger_rule"] == "all_success" and Past(self).skip_first(seen):
            return Verdict("skipped", "not_triggered")
        return rule_verdict(step["trigger_rule"], list(seen.values()))

    def _already_met(self, step: Mapping[str, Any], ends: Mapping[str, str]) -> bool:
        """Whether the step starts with sources still open: `any`, N and the rules that say so."""
        if "trigger_rule" in step:
            seen = {self.as_seen(name, end) for name, end in ends.items()}
            return bool(seen & set(EARLY.get(step["trigger_rule"], ()))) or step["trigger_rule"] == "always"
        wanted = needed(step)
        return wanted is not None and sum(self._satisfied(step, n, e)[0] for n, e in ends.items()) >= wanted

    def as_seen(self, name: str, end: str) -> str:
        """A failure that is to be gone on from counts as a success for those who depend on it."""
        return "succeeded" if end == "failed" and self.steps[name]["on_error"] == "continue" else end

    def _join_verdict(self, step: Mapping[str, Any], ends: Mapping[str, str]) -> Verdict:
        edges = {name: self._satisfied(step, name, end) for name, end in ends.items()}
        met = [name for name, (satisfied, _) in edges.items() if satisfied]
        error = any(broken for _, broken in edges.values())
        wanted = needed(step) or len(ends)
        if len(met) >= wanted and not (error and wanted == len(ends)):
            return RUN
        if error:
            return Verdict("failed", "condition_error")
        if met and step.get("on_unreachable") == "fail":
            return Verdict("failed", "unreachable")
        if any(ends[name] in ("failed", "upstream_failed") for name in ends if name not in met):
            return Verdict("upstream_failed", "upstream")
        return Verdict("skipped", "not_triggered")

    def _satisfied(self, step: Mapping[str, Any], source: str, end: str) -> tuple[bool, bool]:
        """Whether any edge from `source` is satisfied, and whether the condition of one could not be evaluated."""
        satisfied, broken = False, False
        for edge in step["depends_on"]:
            if edge["step"] != source or not self._matches(edge["on"], source, end):
                continue
            try:
                satisfied |= CONDITIONS[edge.get("when", "true")](end)
            except ZeroDivisionError:
                broken = True
        return satisfied, broken

    def _matches(self, on: str, source: str, end: str) -> bool:
        if on == "success":
            return self.as_seen(source, end) == "succeeded"
        return end in {"failure": ("failed",), "complete": ("succeeded", "failed"), "skipped": ("skipped",)}[on]


def agree(status: str, ends: Mapping[str, tuple[str, str | None]], references: Sequence[Reference]) -> bool:
    """Whether a run ended as the references allow, which may differ about steps of a run stopped half way."""
    same = [reference.ends for reference in references if reference.run == status]
    return ends.keys() in [one.keys() for one in same] and all(
        any(one.get(name) == end for one in same) for name, end in ends.items()
    )


def _full(step: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """The step with the document's defaults, plain edges written out."""
    full = {"on_error": "fail", **document.get("defaults", {}), **step}
    edges = full.get("depends_on", [])
    full["depends_on"] = [{"step": e} if isinstance(e, str) else dict(e) for e in edges]
    for edge in full["depends_on"]:
        edge.setdefault("on", "success")
    return full
