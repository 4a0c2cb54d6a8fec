from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis
from sqlalchemy import text

from orchestrator.data_folder import DataFolder
from orchestrator.embedded import ServerFailed, Servers, ServerUrls
from orchestrator.store.db import Database
from tests.processes import family, keep_ports, kill_all, name_of, runs
from tests.support import wait_for


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


@pytest.fixture
def servers(folder: DataFolder) -> Iterator[Servers]:
    made = Servers(folder, durable=False)
    yield made
    made.stop()


def _execute(urls: ServerUrls, statement: str) -> object:
    database = Database.connect(urls.database_url)
    with database.transaction() as conn:
        result = conn.execute(text(statement))
        value = result.scalar() if result.returns_rows else None
    database.close()
    return value


def _postmaster(folder: DataFolder) -> psutil.Process:
    return psutil.Process(int((folder.postgres / "postmaster.pid").read_text().splitlines()[0]))


def test_both_servers_answer_with_their_passwords_only(servers: Servers) -> None:
    urls = servers.start()
    assert _execute(urls, "SELECT current_database()") == "orchestrator"
    with redis.Redis.from_url(urls.broker_url) as client:
        assert client.ping()
    with pytest.raises(redis.AuthenticationError), redis.Redis.from_url(_without_password(urls.broker_url)) as client:
        client.ping()


def _without_password(url: str) -> str:
    return "redis://" + url.rpartition("@")[2]


def test_the_text_is_utf8_and_sorts_the_same_everywhere(servers: Servers) -> None:
    urls = servers.start()
    assert _execute(urls, "SHOW server_encoding") == "UTF8"
    assert _execute(urls, "SELECT datlocale FROM pg_database WHERE datname = 'orchestrator'") == "C.UTF-8"


def test_data_and_addresses_survive_a_restart(folder: DataFolder, servers: Servers) -> None:
    keep_ports(servers)
    first = servers.start()
    _execute(first, "CREATE TABLE kept AS SELECT 42 AS answer")
    servers.stop()
    again = Servers(folder, durable=False)
    second = again.start()
    answer = _execute(second, "SELECT answer FROM kept")
    again.stop()
    assert (answer, second) == (42, first)


def test_a_port_that_is_taken_meanwhile_is_left_to_its_holder(folder: DataFolder, servers: Servers) -> None:
    keep_ports(servers)
    first = servers.start()
    servers.stop()
    port = int(first.broker_url.rpartition(":")[2].partition("/")[0])
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        second = Servers(folder, postgres=False, durable=False)
        urls = second.start()
        second.stop()
    assert urls.broker_url not in ("", first.broker_url)


def test_a_server_that_died_is_revived_at_its_address(servers: Servers) -> None:
    keep_ports(servers)
    urls = servers.start()
    _execute(urls, "CREATE TABLE kept AS SELECT 42 AS answer")
    kill_all(process for pid in servers.pids.values() for process in family(psutil.Process(pid)))
    wait_for(lambda: set(servers.dead()) == {"postgres", "valkey"})
    for name in servers.dead():
        servers.revive(name)
    assert servers.urls == urls
    assert _execute(urls, "SELECT answer FROM kept") == 42


def test_servers_left_by_a_killed_owner_are_ended_and_the_data_is_kept(folder: DataFolder, servers: Servers) -> None:
    urls = servers.start()
    _execute(urls, "CREATE TABLE kept AS SELECT 42 AS answer")
    left = _postmaster(folder)
    again = Servers(folder, durable=False)
    answer = _execute(again.start(), "SELECT answer FROM kept")
    again.stop()
    assert answer == 42
    assert not runs(left)


@pytest.mark.parametrize("signal_number", [9, 15])
def test_servers_end_when_their_owner_is_killed(folder: DataFolder, signal_number: int) -> None:
    script = (
        "import sys, time; from pathlib import Path; from orchestrator.embedded import Guardian, Servers\n"
        "servers = Servers(Path(sys.argv[1]), durable=False, guardian=Guardian.start())\n"
        "servers.start(); print('up', flush=True); time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(folder.path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout as said:
        assert said.readline() == "up\n"
        started = [p for p in psutil.Process(owner.pid).children(recursive=True) if "python" not in name_of(p)]
        assert set(map(name_of, started)) >= {"postgres", "valkey-server"}
        owner.send_signal(signal_number)
        owner.wait()
    wait_for(lambda: not any(map(runs, started)), 20, what="the servers have ended")


def test_a_pid_file_whose_number_now_means_another_process_does_no_harm(folder: DataFolder, servers: Servers) -> None:
    servers.start()
    servers.stop()
    user = None if os.geteuid() else pwd.getpwnam("nobody").pw_uid
    other = subprocess.Popen(["sleep", "600"], cwd="/", user=user)
    lines = [str(other.pid), "/proc/self/cwd", "1700000000", "5432", "", "127.0.0.1", "  1 1", "ready"]
    (folder.postgres / "postmaster.pid").write_text("\n".join(lines) + "\n")
    try:
        assert _execute(servers.start(), "SELECT 1") == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_an_interrupted_first_start_is_begun_anew(folder: DataFolder, servers: Servers) -> None:
    folder.create()
    half = folder.path / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    assert _execute(servers.start(), "SELECT 1") == 1
    assert not half.exists()


def test_data_of_another_major_version_is_refused_by_name(folder: DataFolder, servers: Servers) -> None:
    folder.create()
    folder.write_private("servers.json", "{}")
    folder.postgres.mkdir()
    (folder.postgres / "PG_VERSION").write_text("17\n")
    with pytest.raises(ServerFailed, match=r"PostgreSQL 17, and this is PostgreSQL 18.*pg_dump"):
        servers.start()


def test_a_damaged_cluster_is_refused_by_name(folder: DataFolder, servers: Servers) -> None:
    servers.start()
    servers.stop()
    (folder.postgres / "global" / "pg_control").unlink()
    with pytest.raises(ServerFailed, match="pg_control is missing"):
        servers.start()


def test_a_server_that_cannot_start_shows_the_end_of_its_log(folder: DataFolder, servers: Servers) -> None:
    servers.start()
    servers.stop()
    shutil.rmtree(folder.postgres / "pg_wal")
    with pytest.raises(ServerFailed, match=r"(?s)ended while starting.*pg_wal"):
        servers.start()


def test_a_lost_password_is_said_before_anything_is_tried(folder: DataFolder, servers: Servers) -> None:
    servers.start()
    servers.stop()
    (folder.path / "servers.json").unlink()
    with pytest.raises(ServerFailed, match=r"servers\.json.*password"):
        servers.start()


def test_only_what_is_asked_for_is_started(folder: DataFolder) -> None:
    broker_only = Servers(folder, postgres=False)
    urls = broker_only.start()
    broker_only.stop()
    assert urls.database_url == ""
    assert urls.broker_url != ""
    assert not folder.postgres.exists()
