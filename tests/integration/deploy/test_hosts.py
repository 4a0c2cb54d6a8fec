"""Workers on hosts of their own, which reach Postgres and the broker over a network that is cut."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from orchestrator.ids import new_token
from orchestrator.up import launch
from tests.integration.deploy.hosts import Host, host
from tests.integration.deploy.tunnel import tunnel
from tests.integration.workers.fleet import Fleet, Process
from tests.integration.workers.forks import Forks
from tests.support import wait_for


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    made = Fleet(database_url, broker_url, tmp_path, forks)
    yield made
    made.end()


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    with ExitStack() as made:
        yield [made.enter_context(host(number)) for number in range(2)]


@pytest.mark.timeout(180)
def test_a_host_that_is_cut_off_loses_its_steps_to_others_and_comes_back(fleet: Fleet, hosts: list[Host]) -> None:
    with ExitStack() as open_:
        fleet.beat()
        first = _worker(fleet, hosts[0], open_, lease=9)  # long enough for a machine that stands still for a moment
        given = {"journal": fleet.journal, "file": fleet.flag("go")}
        run_id = fleet.start([{"name": "held", "function": "t.wait", "input": given}])
        fleet.wait_event("start")
        second = _worker(fleet, hosts[1], open_, lease=60)

        hosts[0].unplug()
        fleet.wait_event("start", count=2)
        assert (_held(fleet, first), _held(fleet, second)) == (0, 1)
        fleet.raise_flag("go")
        assert fleet.ended(run_id, 60)["status"] == "succeeded"

        hosts[0].plug()
        wait_for(lambda: _heard(fleet, first), 90, what="it has come back")
        second.stop()
        after = fleet.start([{"name": "after", "function": "t.add", "input": {"a": 1}}])
        assert fleet.ended(after, 90)["output"] == {"after": 2}
    (lost,) = fleet.rows("SELECT count(*) AS n FROM workflow_step_attempts WHERE outcome = 'lost'")
    assert lost.n == 1


def _worker(fleet: Fleet, one: Host, open_: ExitStack, *, lease: int) -> Process:
    """A worker on the host, which reaches the servers of this machine at its end of the cable."""
    own = {"ORCHESTRATOR_LEASE_SECONDS": str(lease)}
    for variable, known in (("DATABASE_URL", fleet.database_url), ("REDIS_URL", fleet.broker_url)):
        url = make_url(known)
        assert url.port is not None
        port = open_.enter_context(tunnel(url.port, host=one.here))
        own[variable] = url.set(host=one.here, port=port).render_as_string(hide_password=False)
    log = fleet.folder / f"{len(fleet.processes)}-{one.name}.log"
    size = ["-c", "2", "-P", "prefork", "--without-gossip", "--without-mingle", "-n", f"{new_token()}@{one.name}"]
    command = one.command(sys.executable, str(launch.__file__), "-A", "workers.app", "worker", *size)
    with log.open("wb") as output:
        popen = subprocess.Popen(command, env={**os.environ, **fleet.environment, **own}, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    fleet.processes.append(Process(popen, log))
    return fleet._ready(fleet.processes[-1])


def _held(fleet: Fleet, worker: Process) -> int:
    """How many steps the worker holds."""
    (row,) = fleet.rows(
        "SELECT count(*) AS n FROM workflow_run_steps s JOIN workers w ON w.id = s.worker_id"
        " WHERE s.status = 'running' AND w.pid = :pid",
        pid=worker.pid,
    )
    return int(row.n)


def _heard(fleet: Fleet, worker: Process) -> bool:
    return bool(fleet.rows("SELECT FROM workers WHERE pid = :pid AND seen_at > now() - interval '1 s'", pid=worker.pid))
