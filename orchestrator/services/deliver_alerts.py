"""Messages of alerts are handed over one attempt at a time, and tried again after growing waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.alerts import Channel
from orchestrator.errors import Conflict, OrchestratorError
from orchestrator.services.alert_spec import REFERENCE, url_problem
from orchestrator.services.engine import Engine
from orchestrator.services.seal import Seal
from orchestrator.store import alert_deliveries

Claimed = Row[Any]  # a message that this process is to send
LEASE_SECONDS = 60.0  # more than an attempt takes
GIVEN_UP_SECONDS = 86_400.0
_FIRST_WAIT, _LONGEST_WAIT = 10.0, 3600.0
_REFUSALS = 5  # attempts that an endpoint may refuse, before others get their turn
_LONGEST_ERROR = 500


class Undelivered(Exception):
    """It did not arrive; why, in words without secrets. `refused`: the other side has read it and will not have it.

    `in_part`: it has arrived where it is not refused, and would come there once more with each attempt.
    """

    def __init__(self, message: str, *, refused: bool = False, in_part: bool = False) -> None:
        super().__init__(message)
        self.refused, self.in_part = refused, in_part


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt. `url` and `secret` are as they are used: not for logs."""

    id: str
    channel: Channel
    message: Mapping[str, Any]
    attempts: int
    age: float
    emails: Sequence[str]
    url: str | None = field(repr=False)
    secret: str | None = field(repr=False)


def claim_deliveries(engine: Engine, limit: int) -> Sequence[Claimed]:
    """What is to be sent now, for this process alone."""
    with engine.db.transaction() as conn:
        return alert_deliveries.claim(conn, limit, LEASE_SECONDS)


def opened(row: Claimed, seal: Seal, secrets: Mapping[str, str], hosts: Sequence[str]) -> Delivery:
    """A claimed delivery with what is needed to send it; raises `Undelivered`."""
    url = _opened(row.url, seal, secrets) if row.channel == Channel.WEBHOOK else None
    if row.channel == Channel.WEBHOOK:
        problem = "the rule has no webhook any more" if url is None else url_problem(url, hosts)
        if problem is not None:
            raise Undelivered(f"the webhook's URL: {problem}", refused=True)
    secret = _opened(row.secret, seal, secrets) if url is not None else None
    message = row.message | {"id": str(row.id)}
    return Delivery(str(row.id), Channel(row.channel), message, row.attempts, row.age, list(row.emails), url, secret)


def _opened(stored: str | None, seal: Seal, secrets: Mapping[str, str]) -> str | None:
    if stored is None:
        return None
    named = REFERENCE.fullmatch(stored)
    if named is None:
        try:
            return seal.open(stored)
        except Conflict as error:
            raise Undelivered(f"what is stored of the webhook cannot be read: {error}", refused=True) from error
    found = secrets.get(named[1].lower())
    if found is None:
        raise Undelivered(f"the coordinator has no secret '{named[1]}' (ORCHESTRATOR_SECRET_{named[1].upper()})")
    return found


def note_sent(engine: Engine, row: Claimed) -> None:
    """It has arrived."""
    with engine.db.transaction() as conn:
        alert_deliveries.note_sent(conn, row.id, row.attempts)


def note_failed(engine: Engine, row: Claimed, error: Exception) -> None:
    """It has not; it is tried again, or given up."""
    told = str(error) if isinstance(error, Undelivered | OrchestratorError) else type(error).__name__
    with engine.db.transaction() as conn:
        alert_deliveries.note_failed(conn, row.id, row.attempts, told[:_LONGEST_ERROR], _wait(row, error))


def _wait(row: Claimed, error: Exception) -> float | None:
    if not isinstance(error, Undelivered):
        return next_wait(row.attempts, row.age)
    return None if error.refused and error.in_part else next_wait(row.attempts, row.age, refused=error.refused)


def next_wait(attempts: int, age: float, *, refused: bool = False) -> float | None:
    """Seconds to the next attempt after so many; None when there is to be none, `age` seconds after the message was
    made."""
    if age >= GIVEN_UP_SECONDS or (refused and attempts >= _REFUSALS):
        return None
    return min(_FIRST_WAIT * 2.0 ** min(attempts - 1, 20), _LONGEST_WAIT)
