"""What only a process knows, counted in its memory until it is added to what the database has (docs/adr/0029)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from orchestrator.store.db import Database
from orchestrator.store.measured import Measure, add_measured, known_labels

_WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_WORK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_STEPS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
# The upper bounds of each histogram's buckets; a counter has none. One name stands for one meaning of its label.
BOUNDS: Mapping[str, tuple[float, ...]] = {
    "sent": _WAITS,
    "fetched": _WAITS,
    "begun": _WAITS,
    "claims.message": (),
    "claims.taken": (),
    "claims.continued": (),
    "settle": _WORK,
    "settled": _STEPS,
    "broker": _WORK,
    "tick": _WORK,
    "fire": _WAITS,
    "turns": (),
    "resent": (),
    "reclaimed": (),
}
MOST_LABELS = 300  # of one name; what comes with others is counted together
OTHER = "(other)"


class Tally:
    """Counts of one process. Thread-safe; an observation costs less than a microsecond."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str], list[float]] = {}  # the buckets, and the sum of all values
        self._known: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def observe(self, name: str, value: float, label: str = "") -> None:
        """A value for the histogram `name`."""
        self._add((name, label), bisect_left(BOUNDS[name], value), 1, value)

    def count(self, name: str, label: str = "", times: int = 1) -> None:
        """So many more of the counter `name`."""
        self._add((name, label), 0, times, times)

    def _add(self, key: tuple[str, str], bucket: int, times: int, total: float) -> None:
        with self._lock:
            cell = self._cells.get(key) or self._new_cell(key)
            cell[bucket] += times
            cell[-1] += total

    def _new_cell(self, key: tuple[str, str]) -> list[float]:
        cell: list[float] = [0] * (len(BOUNDS[key[0]]) + 2)
        if len(self._cells) < 10 * MOST_LABELS:  # else nobody takes what this process counts
            self._cells[key] = cell
        return cell

    def take(self) -> list[Measure]:
        """What was counted, which is then no longer here."""
        with self._lock:
            cells, self._cells = self._cells, {}
        return [Measure(*key, tuple(map(int, cell[:-1])), float(cell[-1])) for key, cell in cells.items()]

    def put_back(self, measures: Sequence[Measure]) -> None:
        """What was taken and could not be stored."""
        for measure in measures:
            for bucket, times in enumerate(measure.counts):
                self._add((measure.name, measure.label), bucket, times, 0.0)
            self._add((measure.name, measure.label), 0, 0, measure.total)

    def store(self, db: Database) -> None:
        """Add what was counted to what the database has; raises `Unreachable`, and nothing is lost."""
        measures = self.take()
        if not measures:
            return
        try:
            add_measured(db, self._bounded(db, measures))
        except BaseException:
            self.put_back(measures)
            raise

    def _bounded(self, db: Database, measures: Sequence[Measure]) -> list[Measure]:
        """With the labels there is room for, and in one order: two processes do not wait for each other."""
        if any((m.name, m.label) not in self._known for m in measures):
            self._known = known_labels(db)
        told: dict[tuple[str, str], Measure] = {}
        for measure in measures:
            named = self._labelled(measure)
            key = (named.name, named.label)
            told[key] = named if key not in told else told[key].plus(named)
        return sorted(told.values())

    def _labelled(self, measure: Measure) -> Measure:
        if (measure.name, measure.label) not in self._known:
            if sum(name == measure.name for name, _ in self._known) >= MOST_LABELS:
                return measure._replace(label=OTHER)
            self._known.add((measure.name, measure.label))
        return measure
