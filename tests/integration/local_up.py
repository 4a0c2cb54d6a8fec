"""`orchestrator up`, as a user runs it, in a folder of a test."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import text

from orchestrator.store.db import Database
from tests.processes import OtherUser, unused_port, words_of
from tests.support import wait_for

# -P: as the installed command, which does not look for our packages in the folder it is called in.
CLI = ("-P", "-c", "from orchestrator.cli.main import main; main()")
READY = "Ready after"
SHOWN = "Ctrl-C stops everything"  # the end of what it has to say, after the example
SECONDS = 150


class Up:
    """An `orchestrator up` in a folder of its own, on a port of its own."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        user: OtherUser | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = (sys.executable, *CLI),
    ) -> None:
        self.folder = folder
        self.port = unused_port()
        self.data = folder / ".orchestrator"
        self._output = (folder / "output").open("a+")
        self._from = self._output.tell()
        prefix, arguments = (user.prefix, user.arguments) if user else ((), {})
        self.process = subprocess.Popen(
            [*prefix, *program, "up", f"--data-dir={self.data}", *options],
            cwd=folder,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "PORT": str(self.port), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            **arguments,
        )

    @property
    def said(self) -> str:
        """What it has printed since this start."""
        self._output.seek(self._from)
        return self._output.read()

    def wait_said(self, words: str) -> None:
        def found() -> bool:
            assert words in self.said or self.process.poll() is None, self.said
            return words in self.said

        wait_for(found, SECONDS, what=f"up says '{words}'; it said: {self.said}")

    @property
    def running(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "running.json").read_text())
        return found

    def get(self, path: str) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(self.running["web_url"] + path, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def wait_ready(self) -> None:
        """Wait until it could serve; a check that a busy machine is two seconds late for says that it could not."""
        wait_for(lambda: self.get("/readyz")[0] == 200, SECONDS, what="it is ready")

    def execute(self, statement: str) -> Any:
        database = Database.connect(self.running["database_url"])
        with database.transaction() as conn:
            result = conn.execute(text(statement))
            value = result.scalar() if result.returns_rows else None
        database.close()
        return value

    def child(self, word: str) -> psutil.Process:
        """The direct child with this word in its command."""
        return next(c for c in psutil.Process(self.process.pid).children() if word in words_of(c))

    def cli(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Another command in the folder."""
        return subprocess.run(
            [sys.executable, *CLI, *command],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "ORCHESTRATOR_DATA_DIR": str(self.data)},
            capture_output=True,
            text=True,
            check=False,
        )

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        print(self.said)  # noqa: T201 - pytest shows it when the test failed
        self._output.close()


@contextmanager
def up_in(
    folder: Path,
    *options: str,
    user: OtherUser | None = None,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = (sys.executable, *CLI),
) -> Iterator[Up]:
    started = Up(folder, *options, user=user, env=env, program=program)
    try:
        yield started
    finally:
        started.end()
