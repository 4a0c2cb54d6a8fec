"""The planted secret is in no log, no row, no message and on no page."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

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
    with world.broker() as client:
        for key in client.keys("*"):
            if SECRET.encode() in (client.dump(key) or b""):
                yield f"the secret is in the broker's {key!r}"
    yield from _pages(world)


def _pages(world: World) -> Iterator[str]:
    """Of a run that was given it."""
    found = world.rows("SELECT run_id, name FROM workflow_run_steps WHERE name IN ('hopeless', 'caught') LIMIT 4")
    if not world.webs or not found:
        return
    url, token = world.web
    for row in found:
        for path in ("", "/steps", f"/steps/{row.name}", f"/steps/{row.name}/attempts", "/logs", "/events"):
            request = urllib.request.Request(
                f"{url}/runs/{row.run_id}{path}", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(request, timeout=10) as answer:
                if SECRET in answer.read().decode():
                    yield f"the secret is shown by /runs/...{path}"
