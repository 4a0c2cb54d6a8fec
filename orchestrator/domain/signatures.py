"""Signatures of webhooks: HMAC-SHA256 with the hook's secret."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

TIMED, GITHUB = "timed", "github"
SCHEMES = (TIMED, GITHUB)
WINDOW_SECONDS = 300
DELIVERY_SECONDS = 7 * 86400  # how long a delivery of GitHub's is known again
TIME_HEADER, SIGNATURE_HEADER = "x-orchestrator-timestamp", "x-orchestrator-signature"
GITHUB_SIGNATURE, GITHUB_DELIVERY = "x-hub-signature-256", "x-github-delivery"
_SENT_AT = re.compile(r"\d{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signed:
    """A call whose signature holds. `key`: what it is known again by, for `seconds`."""

    key: str
    seconds: float


def sign(secret: str, sent_at: int, body: bytes) -> str:
    """The signature of a call at this time (seconds since 1970): `sha256=` and the HMAC of `TIME.BODY` in hex."""
    return _hmac(secret, f"{sent_at}.".encode() + body)


def sign_github(secret: str, body: bytes) -> str:
    """The same as GitHub makes it, of the body alone."""
    return _hmac(secret, body)


def check(scheme: str, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> Signed | None:
    """Whether the call is signed with the secret, and new enough; None if not. Takes as long whatever is wrong.

    `headers` by lower-case name; `now` in seconds since 1970.
    """
    if scheme == GITHUB:
        given, delivery = headers.get(GITHUB_SIGNATURE, ""), headers.get(GITHUB_DELIVERY, "")
        right = _equal(given, sign_github(secret, body))
        return Signed(delivery[:200], DELIVERY_SECONDS) if right and delivery else None
    sent_text, given = headers.get(TIME_HEADER, ""), headers.get(SIGNATURE_HEADER, "")
    sent_at = int(sent_text) if _SENT_AT.fullmatch(sent_text) else 0
    right = _equal(given, sign(secret, sent_at, body))
    if not right or abs(now - sent_at) > WINDOW_SECONDS:
        return None
    # It is refused for its age when it is forgotten, also one whose clock is ahead.
    return Signed(given, sent_at + WINDOW_SECONDS - now + 1)


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def _hmac(secret: str, message: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
