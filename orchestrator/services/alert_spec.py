"""What a person may say of an alert rule, checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from orchestrator.domain.alerts import OF_RUNS, OF_SCHEDULES, Kind, Severity
from orchestrator.domain.describe import clean_text
from orchestrator.errors import InvalidInput, Problem
from orchestrator.services.seal import Seal

DEFAULTS: Mapping[str, Any] = {
    "kinds": (),
    "severity": Severity.WARNING.value,
    "workflow": None,
    "tags": (),
    "queue": None,
    "late_seconds": None,
    "stuck_seconds": 300,
    "group_seconds": 60,
    "repeat_seconds": 3600,
    "resolved": True,
    "emails": (),
}
# Given as they are, never shown: a URL, and what signs; each may be `secrets.NAME`.
HIDDEN = ("webhook", "secret")
REFERENCE = re.compile(r"secrets\.([A-Za-z_][A-Za-z0-9_]*)")
_YEAR = 366 * 86_400
_RANGES = {
    "late_seconds": (1, _YEAR),
    "stuck_seconds": (10, 86_400),
    "group_seconds": (0, 3600),
    "repeat_seconds": (60, _YEAR),
}
_MOST_TAGS, _MOST_EMAILS, _LONGEST_URL = 50, 20, 2000
_EMAIL = re.compile(r"[^@\s<>,;:\"\\()\[\]]{1,64}@[A-Za-z0-9.-]{1,190}")


def said(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What holds with what is given now; what is not given stays as before."""
    held = {name: (before or DEFAULTS)[name] for name in DEFAULTS}
    return held | {name: value for name, value in given.items() if name in DEFAULTS}


def check_said(name: str, said: Mapping[str, Any], given: Mapping[str, Any], hosts: Sequence[str]) -> None:
    """Raises `InvalidInput` with all that is wrong. `hosts`: those that webhooks may go to; none named: all."""
    problems = [
        *_name_problems(name),
        *_kind_problems(said),
        *_number_problems(said),
        *_filter_problems(said),
        *_email_problems(said["emails"]),
        *_webhook_problems(given, hosts),
    ]
    if problems:
        raise InvalidInput(problems, "the alert rule is invalid")


def channels(seal: Seal, given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`webhook` (what is shown), `url` and `secret` as they are stored. Raises `Conflict` without a SECRET_KEY for what
    is not a reference to a secret."""
    held = {name: (before or {}).get(name) for name in ("webhook", "url", "secret")}
    if "webhook" in given:
        url = given["webhook"]
        held |= {"webhook": _shown(url), "url": _stored(seal, url)}
        if url is None:
            held["secret"] = None
    if "secret" in given and held["url"] is not None:
        held["secret"] = _stored(seal, given["secret"])
    return held


def fits(host: str, hosts: Sequence[str]) -> bool:
    """Whether webhooks may go to this host: `*.example.com` stands for all below it, no name at all for any."""
    return not hosts or any(fnmatchcase(host.lower(), pattern.lower()) for pattern in hosts)


def url_problem(url: str, hosts: Sequence[str]) -> str | None:
    """What is wrong with the URL of a webhook; it is not repeated, as it may hold a secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return "must be an http:// or https:// URL"
    if len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        return f"must be {_LONGEST_URL} characters of ASCII at most, without spaces"
    if "@" in parts.netloc:
        return "must have no user and password in it"
    if not fits(host, hosts):
        return f"leads to {host}, which ORCHESTRATOR_ALERT_HOSTS does not name"
    return None


def _shown(url: str | None) -> str | None:
    if url is None or REFERENCE.fullmatch(url):
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def _stored(seal: Seal, value: str | None) -> str | None:
    return value if value is None or REFERENCE.fullmatch(value) else seal.close(value)


def _name_problems(name: str) -> Iterator[Problem]:
    if not name.strip() or len(name) > 255 or not name.isprintable():
        yield Problem("name", "must be 1 to 255 printable characters")


def _kind_problems(said: Mapping[str, Any]) -> Iterator[Problem]:
    kinds = said["kinds"]
    if not _are_texts(kinds, len(Kind)) or not kinds or any(kind not in list(Kind) for kind in kinds):
        yield Problem("kinds", f"must be one or more of {', '.join(Kind)}")
        return
    if said["late_seconds"] is not None and Kind.RUN_LATE not in kinds:
        yield Problem("late_seconds", f"is for {Kind.RUN_LATE}")
    if said["queue"] is not None and Kind.QUEUE_STUCK not in kinds:
        yield Problem("queue", f"is for {Kind.QUEUE_STUCK}")
    if (said["workflow"] is not None or said["tags"]) and not set(kinds) & {*OF_RUNS, *OF_SCHEDULES}:
        yield Problem("workflow" if said["workflow"] is not None else "tags", "is not for queues")


def _number_problems(said: Mapping[str, Any]) -> Iterator[Problem]:
    for name, (least, most) in _RANGES.items():
        value = said[name]
        if value is None and name == "late_seconds":
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            yield Problem(name, f"must be a whole number from {least} to {most}")
    if not isinstance(said["resolved"], bool):
        yield Problem("resolved", "must be true or false")


def _filter_problems(said: Mapping[str, Any]) -> Iterator[Problem]:
    if said["severity"] not in list(Severity):
        yield Problem("severity", f"must be one of {', '.join(Severity)}")
    for name in ("workflow", "queue"):
        value = said[name]
        if value is not None and not (isinstance(value, str) and value.strip() and value.isprintable()):
            yield Problem(name, f"must be the name of a {name}")
    if not _are_texts(said["tags"], _MOST_TAGS) or any(clean_text(tag, 255) != tag for tag in said["tags"]):
        yield Problem("tags", f"must be {_MOST_TAGS} texts at most, of 255 characters at most")


def _email_problems(emails: Any) -> Iterator[Problem]:
    if not _are_texts(emails, _MOST_EMAILS):
        yield Problem("emails", f"must be {_MOST_EMAILS} addresses at most")
        return
    for address in emails:
        if not _EMAIL.fullmatch(address) or not address.isprintable():
            yield Problem("emails", "holds what is not a plain address (somebody@example.com)")


def _webhook_problems(given: Mapping[str, Any], hosts: Sequence[str]) -> Iterator[Problem]:
    url, secret = given.get("webhook"), given.get("secret")
    if url is not None and not (isinstance(url, str) and REFERENCE.fullmatch(url)):
        problem = url_problem(url, hosts) if isinstance(url, str) else "must be text"
        if problem is not None:
            yield Problem("webhook", problem)
    if secret is not None and not (isinstance(secret, str) and 0 < len(secret) <= 1000 and secret.isprintable()):
        yield Problem("secret", "must be 1 to 1000 printable characters")


def _are_texts(value: Any, most: int) -> bool:
    return isinstance(value, list | tuple) and len(value) <= most and all(isinstance(one, str) for one in value)
