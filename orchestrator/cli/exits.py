"""Exit codes (docs/cli.md)."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    RUN_FAILED = 1  # or was canceled
    INVALID = 2  # usage, a document, an input, or an act that does not fit
    NOT_FOUND = 3
    UNREACHABLE = 4
    UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h: a bug
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class Ended(Exception):
    """The command is over, with an exit code; all there is to say has been said."""

    def __init__(self, code: Exit) -> None:
        self.code = code
        super().__init__(code)
