"""The command as a process: pipes, a terminal, Ctrl-C."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.store.logs import LogLine, append_logs
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.test_following import NOW

COMMAND = [sys.executable, "-c", "from orchestrator.cli.main import main; main()"]
DEADLINE = 30.0


@pytest.fixture
def environment(database_url: str, broker_url: str, tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "PYTHONPATH")}
    return kept | {
        "DATABASE_URL": database_url,
        "REDIS_URL": broker_url,
        "ORCHESTRATOR_DATA_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "PYTHONIOENCODING": "utf-8",
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "LINES": "30",
    }


class Terminal:
    """A process on a terminal, and all it wrote so far."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process, self._fd = process, fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a part may end within a character
        self.text = ""

    def read_until(self, seen: Callable[[str], bool]) -> str:
        """Read until `seen` holds of all text so far; fails after the deadline or when the process ends before."""
        ends = time.monotonic() + DEADLINE
        while not seen(self.text):
            assert time.monotonic() < ends, f"not seen in {self.text!r}"
            if not self._read(0.1) and self.process.poll() is not None and not self._read(0.1):
                raise AssertionError(f"ended with {self.process.returncode} after {self.text!r}")
        return self.text

    def finish(self) -> int:
        """Read to the end; the exit code."""
        ends = time.monotonic() + DEADLINE
        while self._read(0.1) or self.process.poll() is None or self._read(0):  # its last words came with its end
            assert time.monotonic() < ends, f"does not end: {self.text!r}"
        return self.process.wait()

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self._fd, 65536)
        except OSError:  # the other side is closed
            return False
        self.text += self._decoder.decode(part)
        return bool(part)


@contextmanager
def terminal(environment: Mapping[str, str], *args: str) -> Iterator[Terminal]:
    """The command on a terminal of its own; it ends with the block."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environment), start_new_session=True
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def test_a_reader_that_has_enough_ends_the_command_quietly(environment: dict[str, str], hands: Hands) -> None:
    hands.start(document(step("charge"), name="order"))
    (claimed,) = hands.claim()
    lines = [LogLine(NOW, "log", "INFO", f"line {n} " + "x" * 200) for n in range(5_000)]
    with hands.db.transaction() as conn:
        append_logs(conn, claimed.step_id, claimed.token, lines)
    for args in (["logs", "latest"], ["logs", "latest", "--json"]):
        process = subprocess.Popen(
            [*COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, bufsize=0
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        assert (process.wait(DEADLINE), said) == (0, b"")


def test_ctrl_c_leaves_watch_with_130_and_the_terminal_as_it_was(environment: dict[str, str], hands: Hands) -> None:
    run_id = hands.start(document(step("charge"), name="order"))
    with terminal(environment, "watch", "latest") as shown:
        shown.read_until(lambda text: "charge" in text)
        shown.process.send_signal(signal.SIGINT)
        assert shown.finish() == 130
    assert shown.text.count("\x1b[?25l") == shown.text.count("\x1b[?25h") == 1  # the cursor is hidden, then shown
    assert shown.text.rindex("\x1b[?25h") > shown.text.rindex("\x1b[?25l")
    assert f"the run goes on: orchestrator watch {run_id}" in shown.text
    assert "Traceback" not in shown.text


def test_watch_draws_the_graph_until_the_run_ends(environment: dict[str, str], hands: Hands) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), step("mail", "charge"), name="order"))
    with terminal(environment, "watch", "latest") as shown:
        shown.read_until(lambda text: "queued" in text)
        hands.work()
        assert shown.finish() == 0
    last = without_styles(shown.text).replace("\r", "").rstrip().split("\n")
    assert [line.split()[:3] for line in last[-4:-1]] == [
        ["✓", "charge", "succeeded"],
        ["├─", "✓", "ship"],
        ["└─", "✓", "mail"],
    ]
    assert last[-1] == 'output  {"ship": {}, "mail": {}}'


def without_styles(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@pytest.mark.parametrize(("settings", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], hands: Hands, settings: dict[str, str], coloured: bool
) -> None:
    hands.start(document(step("charge", function="fail"), name="order"))
    hands.work()
    for args in (["show", "latest"], ["watch", "latest"], ["runs"]):
        with terminal(environment | settings, *args) as shown:
            shown.finish()
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", shown.text)) is coloured, args
        assert "failed" in shown.text


def test_no_line_is_wider_than_the_terminal_where_there_is_a_choice(environment: dict[str, str], hands: Hands) -> None:
    names = [f"individuals_ID{n:07}.chr{n}-{'x' * 90}" for n in range(3)]
    hands.start(document(*map(step, names), name="order"))
    with terminal(environment | {"COLUMNS": "60"}, "runs") as shown:
        assert shown.finish() == 0
    assert max(len(line) for line in without_styles(shown.text).splitlines()) <= 60
    with terminal(environment | {"COLUMNS": "60"}, "show", "latest") as shown:
        assert shown.finish() == 0
    table = [line for line in without_styles(shown.text).splitlines() if "queued" in line and "individuals" in line]
    assert len(table) == 3
    assert max(map(len, table)) <= 60


def test_a_terminal_that_knows_no_unicode_is_written_in_ascii(environment: dict[str, str], hands: Hands) -> None:
    hands.start(document(step("名前"), name="order"))
    with terminal(environment | {"PYTHONIOENCODING": "ascii"}, "show", "latest") as shown:
        assert shown.finish() == 0
    assert shown.text.isascii()
    assert "\\u540d\\u524d" in shown.text


def test_the_help_needs_neither_a_server_nor_a_database_driver() -> None:
    code = (
        "import sys; from orchestrator.cli.main import run; from orchestrator import function;"
        "assert run(['--help']) == 0; assert run(['validate', '--help']) == 0;"
        "print([m for m in ('sqlalchemy', 'celery', 'flask', 'psycopg2') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=DEADLINE)
    assert said.stdout.splitlines()[-1] == "[]"
