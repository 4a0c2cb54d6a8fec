"""A run as it goes on: server-sent events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from flask import Response, current_app, request

from orchestrator.errors import Unreachable
from orchestrator.services.follow import Change, Cursor, Follow
from web.api.noun import Noun
from web.api.use import looking_at
from web.application import database
from web.auth import current_identity
from web.errors import TooManyRequests
from web.identities import Identities

stream = Noun("stream", "A run as it goes on.")

_LOOK_SECONDS = 0.5
_LOOK_SHARE = 0.1  # looking takes at most this share of the time, however big the run
_HEARTBEAT_SECONDS = 15.0
_PATIENCE_SECONDS = 60.0  # with a database that is away
_LONGEST_SECONDS = 1800.0
_AGAIN_MILLISECONDS = 2000
_EVENTS = "text/event-stream"
_EVENT = {
    "type": "object",
    "description": "One event; `data` is JSON.",
    "properties": {
        "event": {"enum": ["run", "step", "history", "end"]},
        "id": {"type": "string"},
        "data": {"type": "string"},
        "retry": {"type": "integer"},
    },
}
_LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Go on from here: the `id` of the last event that came.",
    "schema": {"type": "string"},
}


@stream.get(
    "/runs/<run_id>/stream",
    _EVENT,
    content_type=_EVENTS,
    refused=(404,),
    doc={"parameters": [_LAST], "responses": {"204": {"description": "The run is over, and all was told"}}},
)
def follow(query: dict[str, Any], run_id: str) -> Response:
    """Follow a run to its end

    Server-sent events. `step` and `run` tell how one stands now, `history` an event of the run; `end` is the last. At
    first all that has begun is told; a client that comes back with `Last-Event-ID` is told what has changed since, and
    some of it may come twice. Comments come every 15 seconds, so that nobody takes a quiet run for a lost one.
    """
    since = Cursor.read(request.headers.get("Last-Event-ID", ""))
    followed = Follow(database(), run_id, since)
    with looking_at(run_id):
        slots: threading.BoundedSemaphore = current_app.extensions["orchestrator.streams"]
    if not slots.acquire(blocking=False):
        raise TooManyRequests("this process serves as many streams as it may", retry_after=5)
    try:
        first = followed.look()
    except BaseException:
        slots.release()
        raise
    if since is not None and since.end and followed.cursor.end:
        slots.release()
        return Response(status=204)
    told = _told(followed, first, current_app.extensions["orchestrator.identities"], current_identity().token_id)
    response = Response(told, mimetype=_EVENTS, headers={"X-Accel-Buffering": "no"})
    response.call_on_close(slots.release)
    return response


def _told(followed: Follow, changes: list[Change], identities: Identities, token_id: str) -> Iterator[str]:
    """The text of the stream. Between looks it holds nothing of the database."""
    yield f"retry: {_AGAIN_MILLISECONDS}\n\n"
    began = said = answered = time.monotonic()
    spent = 0.0
    while True:
        if changes:
            said = time.monotonic()
            yield _events(changes, followed.cursor)
        elif time.monotonic() - said >= _HEARTBEAT_SECONDS:
            said = time.monotonic()
            yield ": still here\n\n"
        if followed.cursor.end or time.monotonic() > min(began + _LONGEST_SECONDS, answered + _PATIENCE_SECONDS):
            return
        time.sleep(max(_LOOK_SECONDS, spent / _LOOK_SHARE))
        looked = time.monotonic()
        try:
            if identities.of_id(token_id) is None:
                return
            changes = followed.look()
            answered, spent = time.monotonic(), time.monotonic() - looked
        except Unreachable:
            changes = []


def _events(changes: list[Change], cursor: Cursor) -> str:
    """The last one carries the id: who has not got them all goes on from before them."""
    told = [f"event: {change.kind}\ndata: {json.dumps(change.data, ensure_ascii=False)}\n\n" for change in changes]
    return "".join(told[:-1]) + f"id: {cursor}\n{told[-1]}"


def streams(most: int) -> threading.BoundedSemaphore | threading.Semaphore:
    """So many streams at a time; a bounded semaphore takes no 0."""
    return threading.BoundedSemaphore(most) if most else threading.Semaphore(0)
