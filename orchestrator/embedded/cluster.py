"""A PostgreSQL cluster in a folder: made once, started, and mended after a crash."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from orchestrator.embedded.account import Account, run_as, server_account
from orchestrator.embedded.binaries import postgres_programs
from orchestrator.embedded.errors import ServerFailed
from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.ports import LOOPBACK
from orchestrator.embedded.server import ENVIRONMENT, Server, launch

SUPERUSER = "orchestrator"
MAJOR = "18"
_START_SECONDS = 60.0  # crash recovery after a kill may take a while
_LEFTOVER_SECONDS = 10.0
_POLL_SECONDS = 0.02
# A folder under /root, which the server's account may not enter by its path, but may be started in.
_HERE = "/proc/self/cwd"
_INITDB = (
    f"--username={SUPERUSER}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
    # The password is random and long: stretching it would only make every connection slower.
    "--set=scram_iterations=1",
)
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "200",
    "io_method": "sync",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Containers often have 64 MB of /dev/shm, too little for parallel queries.
    "max_parallel_workers_per_gather": "0",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
    "timezone": "UTC",
    "cluster_name": "orchestrator",
}
_THROWAWAY = {"fsync": "off", "full_page_writes": "off", "autovacuum_naptime": "10s"}


def make_cluster(folder: Path, password: str) -> None:
    """Make the cluster unless it is there. It appears whole or not at all; raises `ServerFailed`."""
    if folder.exists():
        _check(folder)
        return
    account = server_account(folder)
    made = folder.with_name(folder.name + ".new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o700)
    if account is not None:
        account.own(made)
    with _password_file(password, account) as file:
        _run_initdb(made, file, account)
    made.rename(folder)


def start_cluster(folder: Path, port: int, log: Path, *, durable: bool, guardian: Guardian | None) -> Server:
    """Start the server of the cluster on a loopback port and wait until it takes connections.

    `durable=False` gives up safety against a crash of the machine, for tests. Raises `ServerFailed`.
    """
    account = server_account(folder)
    _end_leftovers(folder)
    settings = _SETTINGS | {"port": str(port)} | ({} if durable else _THROWAWAY)
    command = [str(postgres_programs(account) / "postgres"), "-D", _place(folder, account)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    server = launch(
        "postgres", command, log=log, stop_signal=signal.SIGINT, cwd=folder, account=account, guardian=guardian
    )
    server.wait_ready(lambda: _is_ready(folder, server.process.pid), _START_SECONDS)
    return server


def _check(folder: Path) -> None:
    try:
        version = (folder / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise ServerFailed(
            f"{folder} holds no PostgreSQL data that can be read ({error.strerror}): move it away, or choose another"
            " folder"
        ) from error
    if version != MAJOR:
        raise ServerFailed(
            f"{folder} holds data of PostgreSQL {version}, and this is PostgreSQL {MAJOR}: dump it with version"
            f" {version}'s pg_dump and load it into a new folder, or choose another folder"
        )
    if not (folder / "global" / "pg_control").exists():
        raise ServerFailed(f"the PostgreSQL data in {folder} is damaged: global/pg_control is missing")


def _run_initdb(folder: Path, password_file: Path, account: Account | None) -> None:
    program = postgres_programs(account) / "initdb"
    command = [str(program), "-D", _place(folder, account), f"--pwfile={password_file}", *_INITDB]
    try:
        done = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, start_new_session=True, **run_as(account),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerFailed(f"cannot run PostgreSQL's initdb: {error}") from error
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise ServerFailed(f"PostgreSQL's initdb failed:\n{done.stderr.strip() or done.stdout.strip()}")


@contextmanager
def _password_file(password: str, account: Account | None) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "w") as handle:
            handle.write(password + "\n")
        if account is not None:
            account.own(Path(name))
        yield Path(name)
    finally:
        os.unlink(name)


def _place(folder: Path, account: Account | None) -> str:
    """The folder as the server can reach it: by its path, or as the place it is started in."""
    if account is None or all(account.may_enter(parent) for parent in folder.parents):
        return str(folder)
    if not Path(_HERE).exists():
        raise ServerFailed(f"the server's account cannot enter {folder}; choose another folder with --data-dir")
    return _HERE


def _is_ready(folder: Path, pid: int) -> bool:
    lines = _pid_file(folder)
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _pid_file(folder: Path) -> Sequence[str]:
    try:
        return (folder / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def _end_leftovers(folder: Path) -> None:
    """End what a crash left running on this cluster, and drop a pid file whose number now means another process."""
    lines = _pid_file(folder)
    if not lines:
        return
    postmaster = int(lines[0]) if lines[0].strip().isdigit() else 0
    for process in _servers_in(folder):
        _signal(process, signal.SIGINT if process.pid == postmaster else signal.SIGQUIT)
    if not _all_gone(folder):
        for process in _servers_in(folder):
            _signal(process, signal.SIGKILL)
        _all_gone(folder)
    if psutil.pid_exists(postmaster):
        (folder / "postmaster.pid").unlink(missing_ok=True)


def _all_gone(folder: Path) -> bool:
    deadline = time.monotonic() + _LEFTOVER_SECONDS
    while left := bool(_servers_in(folder)):
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    return not left


def _servers_in(folder: Path) -> list[psutil.Process]:
    real = os.path.realpath(folder)
    found = []
    for process in psutil.process_iter(["name"]):
        try:
            if str(process.info["name"]).startswith("postgres") and process.cwd() == real:
                found.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
    return found


def _signal(process: psutil.Process, how: signal.Signals) -> None:
    try:
        process.send_signal(how)
    except psutil.NoSuchProcess:
        return
