"""Store the outcomes of several attempts of one process: plain successes in one statement, others each by themselves.

What a crash before the commit repeats is bounded by who calls: a worker hands over what it did within a few
milliseconds (docs/adr/0013).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from orchestrator.domain.outcome import Outcome, OutcomeKind
from orchestrator.services.after_commit import now_or_later
from orchestrator.services.attempt_lines import store_lines
from orchestrator.services.begun import site_of
from orchestrator.services.claim import Claimed, counted
from orchestrator.services.engine import Engine
from orchestrator.services.put_away import put_away
from orchestrator.services.settle import settle
from orchestrator.services.tell import tell_parent
from orchestrator.store import batch
from orchestrator.store.batch import Batch, NotPlain, Success, Take
from orchestrator.store.logs import LogLine


@dataclass(frozen=True, slots=True)
class Done:
    """An attempt that was performed and is not settled yet.

    `took`: seconds the call took; `ended`: when it was over, by the machine's monotonic clock. Of many `lines` the
    first are stored, and taken from it, before the rest is with the outcome.
    """

    claimed: Claimed
    outcome: Outcome
    input_json: str | None = None
    lines: list[LogLine] = field(default_factory=list)
    took: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class SettledAll:
    """`stale`: step ids whose claim no longer held: nothing of them was stored. `next`: claimed for the worker.

    `found`: some of these were ready before. `looked`: who was to be left with nothing got what its queue had.
    """

    next: tuple[Claimed, ...] = ()
    queues: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    found: bool = False
    looked: bool = False


def settle_all(engine: Engine, done: Sequence[Done], take: Take | None = None) -> SettledAll:
    """Settle them; with `take`, claim steps they made ready. Raises `Unreachable`; calling again does no harm."""
    if engine.blobs:
        done = [_put_away(engine, one) for one in done]
    began = time.monotonic()
    for one in done:
        store_lines(engine.db, one.claimed.step_id, one.claimed.token, one.lines, leave=True)
    plain = {d.claimed.step_id: success for d in done if (success := _success(engine, d)) is not None}
    stored = _settle_plain(engine, list(plain.values()), take) if plain else Batch()
    queues = stored.queues.union(*(_told(engine, run_id) for run_id in stored.children_over))
    looked = take is not None and stored.looked
    settled = SettledAll(_claimed(engine, stored), queues, stored.stale, found=bool(stored.taken), looked=looked)
    for one in done:
        if one.claimed.step_id not in plain or one.claimed.step_id in stored.hard:
            settled = _settle_one(engine, one, take, settled)
    engine.tally.observe("settle", time.monotonic() - began)
    engine.tally.observe("settled", len(done))
    return settled


def _put_away(engine: Engine, done: Done) -> Done:
    outcome, input_json = put_away(engine, done.claimed, done.outcome, done.input_json)
    same = outcome is done.outcome and input_json is done.input_json
    return done if same else replace(done, outcome=outcome, input_json=input_json)


def _claimed(engine: Engine, stored: Batch) -> tuple[Claimed, ...]:
    for one in stored.continued:
        engine.tally.count("claims.continued", one.queue)
    return (*(Claimed(*one) for one in stored.continued), *counted(engine.tally, "taken", stored.taken))


def _told(engine: Engine, run_id: str) -> frozenset[str]:
    return now_or_later(lambda: tell_parent(engine, run_id))


def _success(engine: Engine, done: Done) -> Success | None:
    """The attempt as a plain success, or None."""
    claimed, outcome = done.claimed, done.outcome
    if outcome.kind is not OutcomeKind.SUCCEEDED or outcome.output_json is None:
        return None
    site = site_of(engine, claimed)
    if site is None or site.dependants is None:
        return None
    return Success(
        step_id=claimed.step_id,
        token=claimed.token,
        run_id=claimed.run_id,
        position=claimed.position,
        dependants=site.dependants,
        output_json=outcome.output_json,
        input_json=done.input_json,
        took=done.took,
        ago=max(0.0, time.monotonic() - done.ended) if done.ended else 0.0,
        lines=done.lines,
        owner=site.owner,
    )


def _settle_plain(engine: Engine, plain: Sequence[Success], take: Take | None) -> Batch:
    try:
        limit = min(engine.settings.max_output_bytes, engine.blobs.over)
        return batch.settle_plain(engine.db, plain, take, limit)
    except NotPlain:
        return Batch(hard=frozenset(success.step_id for success in plain))


def _settle_one(engine: Engine, done: Done, take: Take | None, before: SettledAll) -> SettledAll:
    """Settle an attempt that follows the rules; it may take one step if nothing was taken yet."""
    wanted = take.lease if take is not None and take.anything and not before.next else None
    settled = settle(engine, done.claimed, done.outcome, input_json=done.input_json, lines=done.lines, take_next=wanted)
    return replace(
        before,
        next=(*before.next, settled.next) if settled.next else before.next,
        queues=before.queues | settled.queues,
        stale=before.stale | {done.claimed.step_id} if settled.stale else before.stale,
    )
