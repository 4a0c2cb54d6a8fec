"""`shell.run`, which is off unless ORCHESTRATOR_ENABLE_SHELL says otherwise."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from orchestrator.config import Config
from orchestrator.errors import Fail
from orchestrator.functions import function
from workers.functions.texts import decoded, expected

_CHUNK = 65_536
_SHOWN_CHARACTERS = 500


class CommandFailed(Exception):
    """The command ended with an exit code the step does not expect."""


class CommandTimeout(TimeoutError):
    """The command ran longer than `timeout`; it and its children were killed."""


@function(name="shell.run")
def run(
    argv: Sequence[str],
    input: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300.0,
    expect: int | Sequence[int] = 0,
    max_bytes: int = 65_536,
) -> dict[str, Any]:
    """Run a program: `exit_code`, `stdout`, `stderr` (each its first `max_bytes` bytes, as text).

    `argv` is the program and its arguments; no shell reads them (for one, say so: ["sh", "-c", ...]). `env` is added
    to the worker's environment, of which it gets no setting or secret of the orchestrator. `timeout` in seconds.
    """
    if not Config.from_env(need=()).enable_shell:
        raise Fail("shell.run is off on this worker; ORCHESTRATOR_ENABLE_SHELL=1 turns it on")
    if isinstance(argv, str) or not argv:
        raise Fail("`argv` must be a list: the program, then its arguments")
    process = _start(argv, cwd, env or {}, input)
    try:
        stdout, stderr = _gather(process, time.monotonic() + timeout, max_bytes)
    except TimeoutError as error:
        _kill(process)
        raise CommandTimeout(f"{argv[0]} ran longer than {timeout:g} s") from error
    except BaseException:  # the attempt was interrupted
        _kill(process)
        raise
    if process.returncode not in expected(expect):
        raise CommandFailed(f"{argv[0]} ended with exit code {process.returncode}: {stderr[-_SHOWN_CHARACTERS:]}")
    return {"exit_code": process.returncode, "stdout": stdout, "stderr": stderr}


def _start(argv: Sequence[str], cwd: str | None, env: Mapping[str, str], given: str | None) -> subprocess.Popen[bytes]:
    """In a process group of its own, so that its children can be killed with it."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write((given or "").encode())
        stdin.seek(0)
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**Config.foreign_environment(), **env},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def _gather(process: subprocess.Popen[bytes], ends: float, max_bytes: int) -> tuple[str, str]:
    """Read both outputs to their ends, keeping the first bytes of each."""
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_left(ends)):
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fileobj)
                buffer = kept[key.fileobj]  # type: ignore[index]
                buffer += data[: max_bytes - len(buffer)]
        process.wait(_left(ends))
    stdout, stderr = kept.values()
    return decoded(stdout), decoded(stderr)


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
