"""`with_items`: make a row for each item, wait for their ends, collect what they gave.

The rows are made a portion a transaction, so that items begin while others have none yet. What the items are is written
down first: a worker that dies in the middle leaves what another goes on with. After a second the step stands in line
again, behind the items it has made, so that one worker alone gets to them too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.blobs import Blob
from orchestrator.domain.definition import Step, WithItems
from orchestrator.domain.items import expand, item_step, most_failures
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, UnstorableValue
from orchestrator.services.claim import Claimed, failed
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.half import LOST, Half, Turn
from orchestrator.services.put_away import path_of
from orchestrator.store import item_rows
from orchestrator.store.item_rows import Fan
from orchestrator.store.transition import as_text

_PORTIONS = (100, 1000)  # rows of the first one, and of the others
_SECONDS = 1.0


def with_items(half: Half) -> Turn:
    """Write down what the items are, if this is the beginning; the rest is done once that is committed."""
    if half.timeout is not None:
        return Turn(Outcome.timed_out(half.timeout))
    fan = item_rows.lock_claimed(half.conn, half.claimed.step_id, half.claimed.token)
    if fan is None:
        return Turn(LOST)
    items = _write_down(half) if fan.total is None else _written_down(half, fan)
    making = _Making(half.engine, half.claimed, _asked(half.step), half.step.name, items)
    return Turn(Outcome.succeeded([], "[]"), then=making.go_on)


def _asked(step: Step) -> WithItems:
    assert step.with_items is not None
    return step.with_items


def _write_down(half: Half) -> Sequence[Any]:
    asked, claimed = _asked(half.step), half.claimed
    blobs = half.engine.blobs
    given = half.scope.render(asked.items, pass_on=True)
    given = blobs.value(given) if type(given) is Blob else given
    items: Sequence[Any] = list(expand(given, asked.batch_size))
    try:
        items, text = storable(items, max_bytes=half.engine.most_bytes, blobs=True)
    except UnstorableValue as error:
        raise ExpressionError(f"what `with_items` gives cannot be stored: {error}") from error
    if blobs.is_large(text):
        text = str(as_text(blobs.put(path_of(claimed, "items"), text)))
    first = half.scope.plan.first_item(claimed.position)
    item_rows.note_items(half.conn, claimed.step_id, claimed.token, text, len(items), first, asked.concurrency)
    return items


def _written_down(half: Half, fan: Fan) -> Sequence[Any]:
    items: Any = item_rows.load_items(half.conn, fan.id)
    found: Sequence[Any] = half.engine.blobs.value(items) if type(items) is Blob else items
    return found


@dataclass(frozen=True, slots=True)
class _Making:
    """The step in this worker's hands, and what its items are."""

    engine: Engine
    claimed: Claimed
    asked: WithItems
    name: str
    items: Sequence[Any]

    def go_on(self) -> Turn:
        """Make items, for a second at most; collect them if all have ended."""
        until = time.monotonic() + _SECONDS
        size = _PORTIONS[0]
        while True:
            with self.engine.db.transaction(lazy=True) as conn:
                fan = item_rows.lock_claimed(conn, self.claimed.step_id, self.claimed.token)
                if fan is None:
                    return Turn(LOST)
                queues = self._portion(conn, fan, size)
                ended = self._end(conn, fan) if queues is None else None
            if ended is not None:
                return Turn(self._put_together(fan) if ended is _LARGE else ended)
            dispatch(self.engine, queues or ())
            size = _PORTIONS[1]
            if time.monotonic() > until:
                return Turn(Outcome.suspended(self._wait(), also=lambda conn: True))

    def _portion(self, conn: Connection, fan: Fan, size: int) -> set[str] | None:
        """Make the next rows, or let those begin that an operator's retry has opened; None when nothing is to do."""
        total = fan.total or 0
        if fan.cancel_requested or fan.stop is not None or self._hopeless(fan):
            return None
        if fan.made < total:
            return self._make(conn, fan, self.items[fan.made : min(fan.made + size, total)])
        begun = item_rows.begin_items(conn, fan.run_id, fan.position, size)
        return {self.claimed.queue} if begun else None

    def _make(self, conn: Connection, fan: Fan, items: Sequence[Any]) -> set[str]:
        each = item_step(self.engine.plan(self.claimed.revision_id).at(fan.position).step)
        return item_rows.make_items(conn, fan.id, fan.made, items, each)

    def _hopeless(self, fan: Fan) -> bool:
        """Whether it stopped its items because too many had failed."""
        return self.asked.fail_fast and fan.failed > most_failures(self.asked, fan.total or 0)

    def _end(self, conn: Connection, fan: Fan) -> Outcome:
        if fan.cancel_requested and fan.made < (fan.total or 0):
            return Outcome(OutcomeKind.CANCELED)
        if fan.open:
            return Outcome.suspended(self._wait(), also=_all_ended(fan))
        return _collect(conn, fan, self.asked, self.engine)

    def _put_together(self, fan: Fan) -> Outcome:
        """The list of what the items gave, written to the blob store portion by portion, in no transaction."""
        told = f"a list of {fan.total}"
        blob = self.engine.blobs.put_chunks(path_of(self.claimed, "output"), lambda: self._texts(fan), told)
        return Outcome.succeeded(blob, str(as_text(blob)))

    def _texts(self, fan: Fan) -> Iterator[bytes]:
        sign, total = b"[", 0
        blobs = self.engine.blobs
        for first in range(0, fan.made, _PORTIONS[0]):
            with self.engine.db.transaction() as conn:
                outputs = item_rows.load_outputs(conn, fan, first, _PORTIONS[0])
            for text in outputs:
                part = blobs.flat(text).encode()
                total += len(part) + 1
                if total > blobs.most:
                    raise ExpressionError(_too_large(self.engine, fan, total))
                yield sign + part
                sign = b","
        yield b"]"

    def _wait(self) -> dict[str, Any]:
        return {"for": "items", "total": len(self.items)}


def _all_ended(fan: Fan) -> Any:
    def come(conn: Connection) -> bool:
        now = item_rows.lock_owner(conn, fan.run_id, fan.position)
        return now is not None and now.open == 0

    return come


# Stands for the list of what items gave where that is to be put into the blob store.
_LARGE = Outcome.succeeded(None, "null")


def _collect(conn: Connection, fan: Fan, asked: WithItems, engine: Engine) -> Outcome:
    """The list of what the items gave, made by the database; or why there is none."""
    counts, size = item_rows.count_items(conn, fan)
    total, allowed = fan.total or 0, most_failures(asked, fan.total or 0)
    if counts.get("canceled") and fan.cancel_requested:
        return Outcome(OutcomeKind.CANCELED)
    if fan.failed > allowed or counts.get("canceled"):
        return failed("ItemsFailed", _told(conn, fan, counts, allowed))
    if total and counts.get("skipped") == total:
        told = f"all of its {total} items were skipped"
        return Outcome(OutcomeKind.SKIPPED, error=ErrorInfo("Skip", told, classes=("Skip",)))
    if size > engine.most_bytes:
        return failed("UnstorableValue", _too_large(engine, fan, size))
    if size > max(engine.blobs.over, engine.settings.max_output_bytes):
        return _LARGE
    outputs = item_rows.join_outputs(conn, fan)
    return _LARGE if engine.blobs.is_large(outputs) else Outcome.succeeded(None, outputs)


def _too_large(engine: Engine, fan: Fan, size: int) -> str:
    told = f"what its {fan.total} items returned cannot be stored: it takes {size} bytes or more"
    return f"{told}, the limit is {engine.most_bytes} ({engine.limit_in_words})"


def _told(conn: Connection, fan: Fan, counts: dict[str, int], allowed: int) -> str:
    canceled = counts.get("canceled")
    told = f"{fan.failed} of {fan.total} items failed" + (f", {canceled} were canceled" if canceled else "")
    told += f" ({allowed} may fail)" if allowed else ""
    first = item_rows.first_error(conn, fan)
    return told if first is None else f"{told}; first item {first[0]}: {first[1].type}: {first[1].message}"
