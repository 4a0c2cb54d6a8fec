"""The whole life of an `orchestrator up`."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder, Running
from orchestrator.domain.masking import MASK
from orchestrator.embedded import Guardian, Servers
from orchestrator.embedded.ports import is_free, next_free_port
from orchestrator.errors import Conflict
from orchestrator.store.migrate import upgrade
from orchestrator.transport import ping
from orchestrator.up.admin import admin_token
from orchestrator.up.banner import facts, tries
from orchestrator.up.console import Console
from orchestrator.up.example import Example, run_example, was_shown
from orchestrator.up.known import Known, known
from orchestrator.up.lines import AllLines, SeriousLines
from orchestrator.up.ready import wait_web, wait_worker
from orchestrator.up.stack import Stack
from orchestrator.up.stops import signals_interrupt, signals_wait

_LOOK_SECONDS = 0.25
_GUARDIAN_SECONDS = 15.0
_SECRET_KEY = "secret_key"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. `host`: where the web process listens. `this_port`: on the configured port, and no other one.
    `example`: run the example (None: the first time in a folder with an embedded database). `verbose`: show all
    that the processes print.
    """

    host: str = "127.0.0.1"
    this_port: bool = False
    example: bool | None = None
    verbose: bool = False


def run_up(config: Config, options: Options, console: Console) -> None:
    """Run until Ctrl-C (or SIGTERM, SIGHUP). Server URLs missing in `config` mean embedded servers.

    Raises `Conflict` when another `up` holds the folder or another program the port, `OrchestratorError` when step
    functions cannot be loaded, `Unreachable` when a server that was given does not answer, `ServerFailed` when an
    embedded one does not start.
    """
    found = known(config)
    folder = DataFolder(config.data_dir)
    with folder.lock(), _guardian(folder) as guardian, signals_interrupt():
        _check_port(config, options)
        servers = Servers(folder, postgres=not config.database_url, valkey=not config.broker_url, guardian=guardian)
        stack = Stack(folder, servers, guardian, console)
        try:
            _start(config, options, console, folder, servers, stack, found)
            _watch(stack)
        except KeyboardInterrupt:
            console.say("\nStopping; Ctrl-C again to stop at once")
        finally:
            _stop(stack, console)


def _start(
    config: Config,
    options: Options,
    console: Console,
    folder: DataFolder,
    servers: Servers,
    stack: Stack,
    found: Known,
) -> None:
    began = time.monotonic()
    showing = options.example
    if showing is None:
        showing = not config.database_url and not was_shown(folder)
    config = _with_servers(config, console, folder, servers)
    done = upgrade(config.database_url)
    if done:
        console.say(f"Migrated the database to revision {done[-1]}")
    config = _with_web(config, options, console, folder)
    example = Example.find()
    stack.start(example.added_to(config), options.host, AllLines if options.verbose else SeriousLines)
    web_url = f"http://{_shown(options.host)}:{config.port}"
    folder.publish(Running(os.getpid(), config.database_url, config.broker_url, web_url))
    wait_web(web_url, stack.mend, console)
    wait_worker(config.database_url, time.monotonic() - began, stack.mend, console)
    token = admin_token(config, folder)
    shown = MASK if config.log_format == "json" else token  # lines as JSON are for who collects them
    console.say(facts(config, web_url, time.monotonic() - began, found, shown))
    run_id = run_example(example, config, folder, console) if showing else None
    console.say(tries(config, run_id))


def _check_port(config: Config, options: Options) -> None:
    if options.this_port and not is_free(config.port, options.host):
        raise Conflict(f"port {config.port} is taken: give another one with --port, or none for the next free one")


@contextmanager
def _guardian(folder: DataFolder) -> Iterator[Guardian]:
    guardian = Guardian.start(hold=folder.path / "guard")  # waits until what a killed `up` left has ended
    try:
        yield guardian
    finally:
        guardian.join(_GUARDIAN_SECONDS)


def _shown(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host


def _watch(stack: Stack) -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        stack.mend()


def _stop(stack: Stack, console: Console) -> None:
    try:
        stack.stop()
    except KeyboardInterrupt:
        with signals_wait():
            stack.end_now()
    console.say("Stopped; the data is kept")


def _with_servers(config: Config, console: Console, folder: DataFolder, servers: Servers) -> Config:
    """The config with the addresses of servers that answer."""
    if config.broker_url:
        ping(config.broker_url)
    if not (config.database_url and config.broker_url):
        first = " (the first time, a database is made)" if not folder.postgres.exists() else ""
        console.say(f"Starting embedded servers in {folder.path}{first}")
    urls = servers.start()
    return replace(
        config,
        database_url=config.database_url or urls.database_url,
        broker_url=config.broker_url or urls.broker_url,
    )


def _with_web(config: Config, options: Options, console: Console, folder: DataFolder) -> Config:
    """The config with a free port and a secret key that stays the same."""
    port = next_free_port(config.port, options.host)
    if port != config.port:
        console.say(f"Port {config.port} is taken; the web process uses {port}")
    secret = config.secret_key or folder.read(_SECRET_KEY)
    if secret is None:
        secret = secrets.token_hex(32)
        folder.write_private(_SECRET_KEY, secret)
    return replace(config, port=port, secret_key=secret)
