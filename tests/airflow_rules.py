"""Airflow's twelve trigger rules, written down from its published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """How a step ends, or that it may start (`status` "run")."""

    status: str
    reason: str | None = None


WAIT, RUN = Verdict("wait"), Verdict("run")

# The ends of one source by which Airflow knows at once that a step does not run.
DECISIVE = {
    "all_success": ("failed", "upstream_failed", "skipped"),
    "all_failed": ("succeeded", "skipped"),
    "all_done_min_one_success": ("skipped",),
    "all_skipped": ("succeeded", "failed", "upstream_failed"),
    "none_failed": ("failed", "upstream_failed"),
    "none_failed_min_one_success": ("failed", "upstream_failed"),
    "none_skipped": ("skipped",),
}

# The ends of one source that start a step at once, whatever the others do.
EARLY = {
    "one_success": ("succeeded",),
    "one_failed": ("failed", "upstream_failed"),
    "one_done": ("succeeded", "failed"),
}


def rule_verdict(rule: str, ends: Sequence[str]) -> Verdict:
    """Airflow's table, for a step all of whose sources have ended."""
    good, skipped = ends.count("succeeded"), ends.count("skipped")
    bad = ends.count("failed") + ends.count("upstream_failed")
    skip, upstream = Verdict("skipped", "not_triggered"), Verdict("upstream_failed", "upstream")
    if not ends:
        return RUN
    table: dict[str, Verdict] = {
        "all_success": upstream if bad else skip if skipped else RUN,
        "all_failed": RUN if bad == len(ends) else skip,
        "all_done": RUN,
        "all_done_min_one_success": skip if skipped else RUN if good else upstream,
        "all_skipped": RUN if skipped == len(ends) else skip,
        "one_success": RUN if good else upstream if bad else skip,
        "one_failed": RUN if bad else skip,
        "one_done": RUN if good or "failed" in ends else skip,
        "none_failed": upstream if bad else RUN,
        "none_failed_min_one_success": upstream if bad else RUN if good else skip,
        "none_skipped": skip if skipped else RUN,
        "always": RUN,
    }
    return table[rule]
