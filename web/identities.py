"""Whose a token is, remembered for some seconds: a request costs no question to the database most of the time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.services import tokens
from orchestrator.services.tokens import Identity, Verified
from orchestrator.store.db import Database
from web.bounded import Bounded

SECONDS = 5.0  # a token that another process has revoked is taken for so long
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    identity: Identity
    until: float


class Identities:
    """The identities of one database. Tokens are remembered by hash, and only those that open something."""

    def __init__(self, db: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._db, self._clock = db, clock
        self._known: Bounded[str, _Known] = Bounded(_MOST)

    def of_token(self, token: str) -> Identity | None:
        """Whose token it is; None for one that opens nothing."""
        key = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        return self._remembered(key) or self._learned(key, tokens.verify_token(self._db, token))

    def of_id(self, token_id: str) -> Identity | None:
        """The holder of the token with this id; None when it opens nothing any more."""
        return self._remembered(token_id) or self._learned(token_id, tokens.verify_id(self._db, token_id))

    def of_password(self, name: str, password: str) -> Identity | None:
        """Who logs in by this name with this password; None when that is not right. Takes a tenth of a second."""
        verified = tokens.verify_password(self._db, name, password)
        return None if verified is None else verified.identity

    def forget(self, token_id: str) -> None:
        """It was changed or revoked by this process: what is remembered no longer counts."""
        self._known.drop(lambda known: known.identity.token_id == token_id)

    def _remembered(self, key: str) -> Identity | None:
        known = self._known.get(key)
        return known.identity if known is not None and self._clock() < known.until else None

    def _learned(self, key: str, verified: Verified | None) -> Identity | None:
        if verified is None:
            return None
        seconds = SECONDS if verified.seconds is None else min(SECONDS, verified.seconds)
        self._known.put(key, _Known(verified.identity, self._clock() + seconds))
        return verified.identity
