"""A Valkey server: the broker. It keeps nothing on disk, since Postgres is the truth and a message is only a hint."""

from __future__ import annotations

import signal
from pathlib import Path

import redis

from orchestrator.embedded.binaries import valkey_program
from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.ports import LOOPBACK
from orchestrator.embedded.server import Server, launch

_START_SECONDS = 15.0


def start_valkey(
    folder: Path, port: int, password: str, log: Path, *, databases: int, guardian: Guardian | None
) -> Server:
    """Start it on a loopback port and wait until it answers. Raises `ServerFailed`."""
    folder.mkdir(parents=True, exist_ok=True)
    # As standard input, so that the password shows in no process list.
    place = str(folder).replace("\\", r"\\").replace('"', r"\"")
    settings = (
        f'bind {LOOPBACK}\nport {port}\nrequirepass {password}\ndir "{place}"\ndatabases {databases}\n'
        'save ""\nappendonly no\ndaemonize no\nmaxmemory-policy noeviction\nalways-show-logo no\nloglevel notice\n'
    )
    server = launch(
        "valkey",
        [str(valkey_program()), "-"],
        log=log,
        stop_signal=signal.SIGTERM,
        cwd=folder,
        given=settings.encode(),
        guardian=guardian,
    )
    server.wait_ready(lambda: _answers(port, password), _START_SECONDS)
    return server


def _answers(port: int, password: str) -> bool:
    client = redis.Redis(host=LOOPBACK, port=port, password=password, socket_timeout=1, socket_connect_timeout=1)
    try:
        return bool(client.ping())
    except (redis.ConnectionError, redis.TimeoutError):
        return False
    finally:
        client.close()
