"""What real workers and coordinators count, in the database once they have stopped."""

from __future__ import annotations

import os
import signal
from collections import defaultdict

from tests.integration.workers.fleet import Fleet


def measured(fleet: Fleet) -> dict[str, tuple[int, float]]:
    """By name, over all labels: how often, and the sum."""
    rows = fleet.rows(
        "SELECT name, sum(n) AS times, sum(total) AS total"
        " FROM (SELECT name, total, (SELECT sum(c) FROM unnest(counts) c) AS n FROM measured) one GROUP BY name"
    )
    return defaultdict(lambda: (0, 0.0), {row.name: (int(row.times), row.total) for row in rows})


def claims(fleet: Fleet) -> int:
    """How many were told so far."""
    told = measured(fleet)
    return sum(told[f"claims.{way}"][0] for way in ("message", "taken", "continued"))


def test_every_attempt_is_claimed_and_settled_once(fleet: Fleet) -> None:
    beat, worker = fleet.beat(), fleet.worker(LEASE_SECONDS="60")
    given = {"journal": fleet.journal, "file": fleet.flag("never")}
    lost = fleet.start([{"name": "s", "function": "t.first_hangs", "input": given}])
    fleet.wait_event("start", "s")
    for child in worker.children():
        os.kill(child, signal.SIGKILL)
    lasting = claims(fleet)  # nothing, unless ten seconds have passed since the start of what was killed
    chain = [{"name": "a", "function": "t.add", "input": {"a": 1}}]
    chain += [{"name": n, "function": "t.add", "input": {"a": 1}, "depends_on": [o]} for o, n in ("ab", "bc", "cd")]
    items = {"name": "e", "function": "t.add", "with_items": "{{ range(20) | list }}", "input": {"a": "{{ item }}"}}
    fleet.ended(fleet.start([*chain, items]))
    fleet.ended(lost)
    (attempts,) = fleet.rows("SELECT count(*) AS n FROM workflow_step_attempts WHERE outcome <> 'lost'")
    assert (worker.stop(), beat.stop()) == (0, 0)
    told = measured(fleet)
    # The step with items has two halves. What the killed process had counted is lost with it.
    assert told["settled"][1] == attempts.n + 1
    assert claims(fleet) - lasting == attempts.n + 1
    assert told["reclaimed"] == (1, 1)
    assert told["settle"][0] == told["settled"][0]
    assert told["begun"][0] == told["claims.message"][0] + told["claims.taken"][0]
    assert told["sent"][0] == told["fetched"][0] == told["claims.message"][1]
    assert told["broker"][0] >= 1
    assert told["tick"][1] > 0
