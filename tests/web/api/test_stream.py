"""A run as a stream of events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from werkzeug.test import TestResponse

from orchestrator.domain.roles import Role
from orchestrator.services.follow import Cursor
from tests.documents import step
from tests.support import wait_for
from tests.web.api.conftest import Api


class Reader:
    """Reads a stream in a thread of its own; `events` are what came."""

    def __init__(self, api: Api, run_id: str, last: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api.tokens[Role.VIEWER]}"} | ({"Last-Event-ID": last} if last else {})
        client = api.checked.app.test_client()
        self.answer = client.get(f"/api/v1/runs/{run_id}/stream", headers=headers, buffered=False)
        self.events: list[dict[str, Any]] = []
        self.over = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events if event["event"] == kind]

    def _read(self) -> None:
        for event in parsed(self.answer):
            self.events.append(event)
        self.over.set()


def parsed(answer: TestResponse) -> Iterator[dict[str, Any]]:
    for chunk in answer.response:
        for block in cast(bytes, chunk).decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "data" in lines:
                yield lines | {"data": json.loads(lines["data"])}


def test_a_run_is_followed_to_its_end_and_from_where_the_last_stream_was_left(api: Api) -> None:
    secret = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}
    api.register(step("a", input={"x": "{{ input.pin }}"}), step("b", "a"), name="streamed", input_schema=secret)
    run_id = api.start("streamed", {"pin": "geheim-1234"})
    reader = Reader(api, run_id)
    assert reader.answer.mimetype == "text/event-stream"
    wait_for(lambda: reader.of("run"), what="the run is told")
    assert [(s["step"], s["status"]) for s in reader.of("step")] == [("a", "ready")]
    api.work()
    wait_for(reader.over.is_set, what="the stream ends with the run")
    # A look may come between the two ends: `b` is then told once more, as it stands meanwhile.
    assert [s["step"] for s in reader.of("step") if s["status"] == "succeeded"] == ["a", "b"]
    assert [e["kind"] for e in reader.of("history")] == ["run.started", "run.succeeded"]
    assert (reader.of("run")[-1]["counts"], reader.events[-1]["event"]) == ({"succeeded": 2}, "end")
    assert "geheim" not in json.dumps(reader.events)

    assert "id" not in reader.events[0]  # what is told together ends with its id
    last = reader.events[-1]["id"]
    cursor = Cursor.read(last)
    assert cursor is not None
    assert cursor.end
    assert Reader(api, run_id, last).answer.status_code == 204
    again = Reader(api, run_id, str(Cursor(0, cursor.at)))
    wait_for(again.over.is_set, what="a stream of a run that is over ends")
    assert [s["step"] for s in again.of("step")] == ["a", "b"]
    late = Reader(api, run_id, str(Cursor(1 << 50, cursor.at + 3_600_000)))
    wait_for(late.over.is_set, what="a stream of a run that is over ends")
    assert (late.of("step"), late.of("history"), late.events[-1]["event"]) == ([], [], "end")


def test_streams_are_so_many_at_a_time_and_hold_no_connection_while_they_wait(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(api.checked.app.extensions, "orchestrator.streams", threading.BoundedSemaphore(1))
    api.register(name="few streams")
    run_id = api.start("few streams")
    reader = Reader(api, run_id)
    wait_for(lambda: reader.of("run"), what="the run is told")
    refused = api.call("GET", f"/runs/{run_id}/stream")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    wait_for(lambda: api.db.engine.pool.status().endswith("Checked out connections: 0"), what="no connection is held")
    api.work()
    wait_for(reader.over.is_set, what="the stream ends with the run")
    reader.answer.close()
    assert api.call("GET", f"/runs/{run_id}/stream").status_code == 200


@pytest.mark.parametrize("text", ["", "x", "1", "1.2.3", "-1.2", "1.2.end.end", "9" * 40 + ".1", "١.١"])
def test_a_cursor_that_is_none_begins_anew(text: str) -> None:
    assert Cursor.read(text) is None
