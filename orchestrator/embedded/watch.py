"""The guardian's process: a script on the standard library alone, so that it starts in milliseconds.

Arguments: a file to wait for until nobody locks it, a folder to delete afterwards; either may be empty.
Standard input: lines of a process group and the signal that asks it to end (0: it has ended by itself).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable

GRACE_SECONDS = 8.0
_POLL_SECONDS = 0.02


def read_groups(lines: Iterable[str]) -> dict[int, int]:
    """Groups still there at the end of the lines, with their signals."""
    groups: dict[int, int] = {}
    for line in lines:
        group, how = map(int, line.split())
        groups[group] = how
    return {group: how for group, how in groups.items() if how}


def end_groups(groups: dict[int, int], grace: float = GRACE_SECONDS) -> None:
    """Ask every group to end; kill those that have not after `grace` seconds."""
    left = {group for group, how in groups.items() if send(group, how)}
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = {group for group in left if send(group, 0)}
    for group in left:
        send(group, signal.SIGKILL)


def send(group: int, how: int) -> bool:
    """Send the signal to the group (0: only look); whether it is there."""
    try:
        os.killpg(group, how)
    except ProcessLookupError:
        return False
    except PermissionError:  # a group of this number that is not ours
        return False
    return True


def wait_unlocked(path: str) -> None:
    with open(path) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)


def main(until_unlocked: str, remove: str) -> None:
    groups = read_groups(sys.stdin)
    if until_unlocked:
        wait_unlocked(until_unlocked)
    end_groups(groups)
    if remove:
        shutil.rmtree(remove, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
