"""What templates can call."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, url_for

from orchestrator.domain.blobs import has_references, with_words
from orchestrator.domain.roles import Role
from orchestrator.domain.times import duration
from orchestrator.domain.words import reason_in_words
from web.cookies import csrf_token
from web.lasting import between
from web.looks import ICONS, status_word
from web.pages.places import places

_STATIC = Path(__file__).parent / "static"
# The order in which a bar shows statuses.
_FIRST = ("succeeded", "failed", "upstream_failed", "canceled", "canceling", "skipped")
_ORDER = (*_FIRST, "running", "waiting", "paused", "queued", "ready", "pending")


def install_templating(app: Flask) -> None:
    """Give templates the filters and functions below, and static files addresses that change with what they hold."""
    filters: tuple[Callable[..., Any], ...] = (
        utc,
        status_word,
        pretty,
        has_references,
        compact,
        in_words,
        parts,
        short_id,
        reason_in_words,
        seconds,
        as_json,
    )
    app.jinja_env.filters.update({one.__name__: one for one in filters})
    app.jinja_env.globals.update(icons=ICONS, places=places, between=between, csrf_token=csrf_token)
    app.jinja_env.globals["product_version"] = importlib.metadata.version("orchestrator")
    app.jinja_env.globals.update(can=can, workflow_url=workflow_url, in_order=in_order)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.context_processor(lambda: {"identity": g.get("identity"), "now_ms": int(time.time() * 1000)})
    app.url_defaults(_stamp)


def utc(at: str | datetime) -> str:
    """A moment to the second: `2026-11-30 03:15:20 UTC`."""
    iso = at if isinstance(at, str) else at.isoformat()
    return f"{iso[:19].replace('T', ' ')} UTC"


def pretty(value: Any) -> str:
    """JSON for people: indented, a text as it is; a few words for what lies in the blob store."""
    value = with_words(value)
    return value if isinstance(value, str) and "\n" in value else json.dumps(value, ensure_ascii=False, indent=2)


def compact(value: Any) -> str:
    """JSON on one line; a text as it is; a few words for what lies in the blob store."""
    value = with_words(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_order(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Counts by status, the finished ones first."""
    return sorted(((name, n) for name, n in counts.items() if n), key=lambda pair: _ORDER.index(pair[0]))


def in_words(counts: Mapping[str, int]) -> str:
    """`12 succeeded, 3 failed`."""
    return ", ".join(f"{count:,} {status_word(name)}" for name, count in in_order(counts))


def parts(counts: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """The parts of a bar 100 wide; one that occurs can be seen."""
    shown = in_order(counts)
    least = min(1.5, 100 / max(len(shown), 1))
    total = sum(counts.values()) or 1
    widths = [max(least, 100 * count / total) for _, count in shown]
    scale, x = 100 / (sum(widths) or 1), 0.0
    for (name, _), width in zip(shown, widths, strict=True):
        yield {"status": name, "x": f"{x:.2f}", "width": f"{width * scale:.2f}"}
        x += width * scale


def as_json(value: Any) -> str:
    """The value as JSON, on one line, as a text: not marked safe."""
    return json.dumps(value)


def seconds(value: float | None) -> str:
    """How long that is, in words; a dash for None."""
    return "–" if value is None else duration(value)


def short_id(id: str) -> str:
    """The end of an id, which tells runs apart: their beginnings are times."""
    return id.replace("-", "")[-8:]


def can(role: str) -> bool:
    """Whether who is signed in has this role, or a higher one."""
    identity = g.get("identity")
    return identity is not None and identity.role >= Role(role)


def workflow_url(name: str, app: str | None) -> str:
    """The page of a workflow as an app sees it; its runs where there is no such page."""
    if "workflow.show" in current_app.view_functions:
        return url_for("workflow.show", name=name, app=app)
    return url_for("runs.index", workflow=name)


def _stamp(endpoint: str, values: dict[str, Any]) -> None:
    if endpoint == "static" and "filename" in values:
        values["v"] = _hash(values["filename"])


@cache
def _hash(filename: str) -> str:
    return hashlib.sha256((_STATIC / filename).read_bytes()).hexdigest()[:12]
