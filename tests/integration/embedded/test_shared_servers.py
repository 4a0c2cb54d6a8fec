from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import redis

from orchestrator.embedded import Guardian, servers_for_tests
from tests.support import wait_for

SCRIPT = """
import sys
from pathlib import Path
from orchestrator.embedded import servers_for_tests
with servers_for_tests(Path(sys.argv[1])) as urls:
    print(urls.database_url, urls.broker_url, flush=True)
    sys.stdin.readline()
"""
# Ends when it is killed, as a server with much to store does not end at once.
SLOW = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("up", flush=True)
signal.sigwait([signal.SIGTERM])
print("asked to end", flush=True)
signal.pause()
"""


def test_processes_that_meet_share_servers_until_the_last_has_left(tmp_path: Path) -> None:
    first = _start(tmp_path)
    addresses = _line(first)
    with servers_for_tests(tmp_path) as urls:
        assert f"{urls.database_url} {urls.broker_url}" == addresses
        first.kill()
        first.communicate()
        with redis.Redis.from_url(urls.broker_url) as client:
            assert client.ping()
    wait_for(lambda: not _answers(urls.broker_url), 20, what="the servers have ended with their last user")


def test_servers_that_ended_are_replaced(tmp_path: Path) -> None:
    first = _start(tmp_path)
    addresses = _line(first)
    users = Path(json.loads((tmp_path / "shared.json").read_text())["users"])
    first.communicate("\n")
    wait_for(lambda: _is_ended(users), what="the guardian ends them")
    second = _start(tmp_path)
    assert _line(second) != addresses
    second.communicate("\n")


def test_nobody_takes_part_while_servers_are_ended(tmp_path: Path) -> None:
    """Who did would soon be without them."""
    folder = tmp_path / "servers"
    folder.mkdir()
    users = folder / "users"
    users.touch()
    guardian = Guardian.start(until_unlocked=users, remove=folder)
    command = [sys.executable, "-c", SLOW]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as one:
        try:
            assert _line(one) == "up"
            guardian.add(one.pid, signal.SIGTERM)
            guardian.close()
            assert _line(one) == "asked to end"
            assert _is_ended(users)
        finally:
            one.kill()
            guardian.join(30)


def test_addresses_of_servers_that_a_crash_took_are_not_used(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("")
    dead = '"database_url": "postgresql://h@127.0.0.1:1/x", "broker_url": "redis://127.0.0.1:1/0"'
    (tmp_path / "shared.json").write_text(f'{{{dead}, "users": "{users}"}}')
    with servers_for_tests(tmp_path) as urls:
        assert _answers(urls.broker_url)


def _start(meeting: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(meeting)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _is_ended(users: Path) -> bool:
    """Whether nobody can take part any more: who comes before the guardian has seen that all have left still can."""
    try:
        with users.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):
        return True
    return False


def _answers(url: str) -> bool:
    with redis.Redis.from_url(url, retry=None) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
