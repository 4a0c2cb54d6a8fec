"""Ends processes whose owner was killed. The process it starts outlives the owner by the seconds that takes.

Groups, not pids: a worker's pool and a gunicorn's workers end with it. The kernel closes the pipe of an owner
that dies in any way, `kill -9` included, on every Unix.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from orchestrator.embedded import watch
from orchestrator.errors import OrchestratorError


class Guardian:
    """A small process that waits for this one to end, then ends the process groups it was told of."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def start(
        cls, *, hold: Path | None = None, until_unlocked: Path | None = None, remove: Path | None = None
    ) -> Guardian:
        """Start it. It acts when this process ends or closes it and, with `until_unlocked`, once nobody holds a
        lock on that file any more; it then deletes the folder `remove`. With `hold` it keeps a lock on that file, and
        is started only when the guardian that has it is done.
        """
        options = [str(path or "") for path in (hold, until_unlocked, remove)]
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", watch.__file__, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        if process.stdout is not None:
            process.stdout.readline()
            process.stdout.close()
        return cls(process)

    def add(self, group: int, how: signal.Signals) -> None:
        """Watch over the process group, to be asked to end with the signal `how`."""
        self._tell(f"{group} {int(how)}\n")

    def drop(self, group: int) -> None:
        """The group has ended; its number may come to mean another."""
        self._tell(f"{group} 0\n")

    def close(self) -> None:
        """Let it do its work: end what is still there, in the background."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def join(self, timeout: float) -> None:
        """Close it and wait for its end, `timeout` seconds at most."""
        self.close()
        self._process.wait(timeout)

    def disown(self) -> None:
        """Let it go on after this object is gone."""
        self._process.returncode = 0

    def _tell(self, line: str) -> None:
        pipe = self._process.stdin
        try:
            if pipe is None or pipe.closed:
                raise OrchestratorError("the guardian was closed")
            pipe.write(line.encode())
            pipe.flush()
        except BrokenPipeError:
            raise OrchestratorError("the process that ends the servers after a crash is gone; start again") from None
