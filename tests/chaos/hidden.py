"""The planted secret is in no log, no row, no message and on no page."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from urllib.parse import urlencode

from tests.chaos.world import SECRET, World


def shown_secrets(world: World) -> Iterator[str]:
    """Where it shows."""
    for process in world.processes:
        if SECRET in process.said():
            yield f"the secret is in {process.log.name}"
    for table in world.rows("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"):
        rows = world.rows(f'SELECT count(*) AS n FROM "{table.name}" t WHERE t::text LIKE :s', s=f"%{SECRET}%")
        if rows[0].n:
            yield f"the secret is in {rows[0].n} rows of {table.name}"
    with world.whole_broker() as client:
        for key in client.keys("*"):
            if SECRET.encode() in (client.dump(key) or b""):
                yield f"the secret is in the broker's {key!r}"
    yield from _answers(world)


_API = ("", "/steps", "/steps/{name}", "/steps/{name}/attempts", "/logs", "/events")
_PAGES = ("", "/steps", "/timeline", "/data", "/events", "/step/{position}", "/step/{position}/logs")


def _answers(world: World) -> Iterator[str]:
    """What the web process tells of runs that were given it."""
    found = world.rows(
        "SELECT run_id, name, position FROM workflow_run_steps WHERE name IN ('hopeless', 'caught') LIMIT 4"
    )
    if not world.webs or not found:
        return
    api, token = world.web
    site = api.removesuffix("/api/v1")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    signing_in = urllib.request.Request(f"{site}/login", urlencode({"token": token}).encode(), {"Origin": site})
    browser.open(signing_in, timeout=60).close()
    told = urllib.request.build_opener()
    told.addheaders = [("Authorization", f"Bearer {token}")]
    asked = [(browser, f"{site}{path}") for path in ("/", "/home/now", "/runs")]
    for row in found:
        place = {"name": row.name, "position": row.position}
        asked += [(told, f"{api}/runs/{row.run_id}{path.format(**place)}") for path in _API]
        asked += [(browser, f"{site}/runs/{row.run_id}{path.format(**place)}") for path in _PAGES]
    for reader, url in asked:
        with reader.open(url, timeout=60) as answer:
            assert answer.url == url, f"{url} led to {answer.url}"
            if SECRET in answer.read().decode():
                yield f"the secret is shown by {url}"
