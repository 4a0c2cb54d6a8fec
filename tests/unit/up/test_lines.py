from __future__ import annotations

import logging

import pytest

from orchestrator.config_telling import LOG_FORMATS
from orchestrator.domain.masking import NOTHING_SECRET
from orchestrator.loglines import make_formatter
from orchestrator.up.lines import AllLines, SeriousLines

LOG = """\
 -------------- celery@here v5
[2026-11-29 17:00:00,000: INFO/MainProcess] celery@here ready.
[2026-11-29 17:00:01,000: WARNING/MainProcess] consumer: Connection to broker lost.
Traceback (most recent call last):
  File "x.py", line 1, in <module>
ConnectionError: gone

[2026-11-29 17:00:02,000: INFO/MainProcess] Connected
  more about the connection
[2026-11-29 17:00:03 +0000] [123] [ERROR] Worker failed to boot.
[2026-11-29 17:00:04 +0000] [123] [INFO] Shutting down: an ERROR was seen
Traceback (most recent call last):
ImportError: nothing here
"""


def test_warnings_are_shown_with_what_belongs_to_them() -> None:
    lines = SeriousLines()
    assert [line for line in LOG.splitlines() if lines.shows(line)] == [
        "[2026-11-29 17:00:01,000: WARNING/MainProcess] consumer: Connection to broker lost.",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in <module>',
        "ConnectionError: gone",
        "[2026-11-29 17:00:03 +0000] [123] [ERROR] Worker failed to boot.",
        "Traceback (most recent call last):",
        "ImportError: nothing here",
    ]


@pytest.mark.parametrize(("level", "shown"), [("INFO", False), ("WARNING", True), ("ERROR", True)])
def test_lines_as_our_own_worker_writes_them_are_read(level: str, shown: bool) -> None:
    lines = SeriousLines()
    lines.shows("Traceback (most recent call last):")
    record = logging.makeLogRecord({"levelname": level, "name": "orchestrator.worker", "msg": "ERROR is but a word"})
    for kind in LOG_FORMATS:
        formatter = make_formatter(kind, lambda: NOTHING_SECRET, dict)
        assert lines.shows(formatter.format(record)) is shown


def test_verbose_shows_every_line_that_says_something() -> None:
    lines = AllLines()
    assert [line for line in LOG.splitlines() if not lines.shows(line)] == [""]
