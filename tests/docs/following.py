"""Somebody who does what a page says, in its order: writes its files, types its commands, compares what is answered.

Of a page's blocks these are followed:

- a block with `title="FILE"` is written to that file, and a test in it is run when the page calls `pytest FILE`;
- of a `console` block, lines with `$ ` are typed, and the lines behind one are what it prints: each of them, in this
  order, among others. Ids, times, durations and process numbers may differ; `...` stands for
  other lines, and at the end of a line for its rest;
- in an `sh` block, `orchestrator up` (re)starts a worker and a beat with the variables before it; `orchestrator worker`
  and `orchestrator beat` start one more. Nothing else in an `sh` block is typed: a person reads it.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from orchestrator.cli.main import run
from tests.architecture.pages import Page
from tests.docs.test_examples import run_code
from tests.integration.workers.fleet import Fleet, Process
from tests.support import wait_for

_TITLE = re.compile(r'title="([^"]+)"')
_VARIABLES = re.compile(r"^((?:[A-Z_]+=\S+ )*)(.*)$")
_KEEP = re.compile(r"^([A-Z]+)=\$\((.+)\)$")
# Commands that change nothing, and may be typed again until they show what is to be seen.
_LOOKS = (
    "show",
    "runs",
    "logs",
    "workers",
    "approvals",
    "schedule list",
    "schedule show",
    "schedule fires",
    "db check",
    "pools",
)
_VARYING = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "TIME"),
    (r"\b\d\d:\d\d:\d\d(\.\d+)?", "TIME"),
    (r"\b\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h)\b)*", "LONG"),
    (r"\bjust now\b|\bLONG ago\b", "AGO"),
    (r"\b[A-Za-z][\w.-]*:\d{2,}\b", "PROCESS"),
    (r"\b(line|pid|process|revision) \d+", r"\1 N"),
    (r"\s+", " "),
)


class Follower:
    """Follows pages in `folder`, with the processes of `fleet`."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet, self.folder = fleet, folder
        self.worker: Process | None = None
        self.beat: Process | None = None
        self.before_worker: Callable[[], object] = lambda: None
        self._kept: dict[str, str] = {}

    def follow(self, page: Page, section: str | None = None) -> int:
        """Do what the page, or one of its sections, says; how many commands that were."""
        text = page.text if section is None else re.split(rf"^## {re.escape(section)}$", page.text, flags=re.M)[1]
        part = text if section is None else re.split(r"^## ", text, flags=re.M)[0]
        return sum(self._block(info, body) for info, body in Page(page.name, part).blocks())

    def _block(self, info: str, body: str) -> int:
        titled = _TITLE.search(info)
        if titled:
            (self.folder / titled[1]).write_text(body)
        elif info == "console":
            return self._console(body)
        elif info == "sh":
            for line in body.splitlines():
                self._up(line.partition("  #")[0])
        return 0

    def _up(self, line: str) -> None:
        found = _VARIABLES.match(line.strip())
        assert found is not None
        given = dict(part.split("=", 1) for part in found[1].split())
        settings = {name.removeprefix("ORCHESTRATOR_"): value for name, value in given.items()}
        if found[2] == "orchestrator up":
            self.stop()
            self.start(**settings)
        elif found[2] in ("orchestrator worker", "orchestrator beat"):
            self.more(found[2].split()[1], **settings)

    def start(self, **settings: str) -> None:
        """A worker and, where there is none, a beat."""
        self.more("worker", **settings)
        if self.beat is None:
            self.more("beat")

    def more(self, kind: str, **settings: str) -> None:
        """One more process."""
        if kind == "worker":
            self.before_worker()
            self.worker = self.fleet.worker(**{"QUEUES": "*", **settings})
        else:
            self.beat = self.fleet.beat()

    def stop(self) -> None:
        """End the worker in good order, if there is one."""
        if self.worker is not None and self.worker.popen.poll() is None:
            self.worker.stop()

    def _console(self, body: str) -> int:
        typed = [(lines[0], lines[1:]) for lines in (part.splitlines() for part in body.split("$ ")) if lines]
        for line, expected in typed:
            self._type(line.partition("  #")[0].strip(), [_alike(one) for one in expected if one.strip()])
        return len(typed)

    def _type(self, line: str, expected: list[str]) -> None:
        kept = _KEEP.match(line)
        command = re.sub(r"\$([A-Z]+)\b", lambda found: self._kept.get(found[1], found[0]), kept[2] if kept else line)
        said = ""

        def as_expected() -> bool:
            nonlocal said
            said = self._said(command, refused=bool(expected))
            return _all_in(expected, [_alike(one) for one in said.splitlines()])

        looks = command.removeprefix("orchestrator ").startswith(_LOOKS)
        try:
            wait_for(as_expected, 30 if looks else 0, what=command)
        except AssertionError as error:
            raise AssertionError(f"{command} was to say {expected}, and said:\n{said}") from error
        if kept:
            self._kept[kept[1]] = said.split()[0]

    def _said(self, command: str, *, refused: bool) -> str:
        program, *words = shlex.split(command)
        if program == "pytest":
            run_code((self.folder / words[0]).read_text(), words[0].removesuffix(".py"))
            return ""
        if program != "orchestrator":
            return self._shell(command)
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(output):
            code = run(words)
        assert refused or code in (0, 1), f"{command}: exit code {code}: {output.getvalue()}"
        return output.getvalue()

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env={**os.environ}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def _alike(line: str) -> str:
    """A line without what differs from one time to the other."""
    for pattern, word in _VARYING:
        line = re.sub(pattern, word, line)
    return line.strip()


def _all_in(expected: list[str], said: list[str]) -> bool:
    """Whether the expected lines are among those that were said, in their order."""
    left = iter(said)
    return all(line == "..." or any(_is_like(line, one) for one in left) for line in expected)


def _is_like(expected: str, said: str) -> bool:
    """`...` at the end of a line stands for its rest."""
    return said.startswith(expected[:-3]) if expected.endswith("...") else said == expected
