"""The processes of one `up`: started in order, started again when they die, stopped in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.embedded import Guardian, Servers
from orchestrator.embedded.errors import log_tail
from orchestrator.errors import OrchestratorError
from orchestrator.up.child import Child, Filter, Spec
from orchestrator.up.commands import beat_command, web_command, worker_command
from orchestrator.up.console import Console
from orchestrator.up.restarts import Restarts

# The worker may finish what it has begun; what takes longer is reclaimed by its lease at the next start.
_STOP_SECONDS = {"beat": 2.0, "web": 2.0, "worker": 5.0}


class Stack:
    """Beat, web and worker over servers that may be embedded."""

    def __init__(self, folder: DataFolder, servers: Servers, guardian: Guardian, console: Console) -> None:
        self._folder = folder
        self._servers = servers
        self._guardian = guardian
        self._console = console
        self._children: list[Child] = []
        self._restarts: dict[str, Restarts] = {}

    def start(self, config: Config, host: str, lines: Callable[[], Filter]) -> None:
        """Start the three processes. Raises `OrchestratorError`."""
        commands = {
            "worker": worker_command(config),
            "beat": beat_command(config),
            "web": web_command(config, host=host),
        }
        env = config.environment() | {"PYTHONUNBUFFERED": "1"}
        for name, command in commands.items():
            spec = Spec(name, command, env, self._folder.logs / f"{name}.log")
            child = Child(spec, self._console, self._guardian, lines())
            child.start()
            self._children.append(child)
            self._restarts[name] = Restarts()

    def mend(self) -> None:
        """Look once at everything, and start again what has died and is due."""
        for name, how in self._servers.dead().items():
            self._mend(name, how, partial(self._servers.revive, name))
        for child in self._children:
            if not child.alive:
                self._mend(child.name, child.ended(), partial(_restart, child))

    def stop(self) -> None:
        """Stop everything in order, within a few seconds: no new work, no new requests, the worker, the servers."""
        for name in _STOP_SECONDS:
            for child in self._named(name):
                child.ask_to_stop()
        self._finish(time.monotonic())
        self._servers.stop()

    def end_now(self) -> None:
        """End everything now; the servers still write what they must."""
        for child in self._children:
            child.finish()
        self._servers.stop()

    def _finish(self, asked: float) -> None:
        for name, seconds in _STOP_SECONDS.items():
            for child in self._named(name):
                if not child.wait(max(0.0, asked + seconds - time.monotonic())):
                    after = ", and its steps go on at the next start" if name == "worker" else ""
                    self._console.say(f"{name} is still busy; it is stopped now{after}")
                child.finish()

    def _mend(self, name: str, how: str, start: Callable[[], None]) -> None:
        restarts = self._restarts.setdefault(name, Restarts())
        delay = restarts.died()
        if delay is not None:
            log = self._folder.logs / f"{name}.log"
            said = "" if name in _STOP_SECONDS else log_tail(log, 6)  # a child's last words were shown as they came
            self._console.warn(f"{name} {how}; starting it again in {delay:g} s. Its log is {log}{said}")
        if restarts.due():
            restarts.started()
            self._try(name, start)

    def _try(self, name: str, start: Callable[[], None]) -> None:
        try:
            start()
        except OrchestratorError as error:
            self._console.warn(f"{name} could not be started: {error}")
        else:
            self._console.say(f"{name} was started again")

    def _named(self, name: str) -> list[Child]:
        return [child for child in self._children if child.name == name]


def _restart(child: Child) -> None:
    child.finish()
    child.start()
