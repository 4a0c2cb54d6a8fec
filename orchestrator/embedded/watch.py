"""The guardian's process: a script on the standard library alone, so that it starts in milliseconds.

Arguments, each may be empty: a file to hold locked, so that the next guardian waits for this one; a file to wait for
until nobody locks it, and to hold locked from then on; a folder to delete at the end. Standard input: lines of a
process group and the signal that asks it to end (0: it has ended by itself). Prints a line when it is on watch.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from typing import IO

GRACE_SECONDS = 8.0
_POLL_SECONDS = 0.02


def read_groups(lines: Iterable[str]) -> dict[int, int]:
    """Groups still there at the end of the lines, with their signals."""
    groups: dict[int, int] = {}
    for line in lines:
        group, how = map(int, line.split())
        groups[group] = how
    return {group: how for group, how in groups.items() if how}


def end_groups(groups: dict[int, int]) -> None:
    """Ask every group to end; kill those that have not after the grace."""
    left = {group for group, how in groups.items() if send(group, how)}
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := left & living(left)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
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


def living(groups: set[int]) -> set[int]:
    """Those of the groups that have a member that runs; where nobody reaps the dead, their entries stay."""
    if not os.path.isdir("/proc/self"):
        return {group for group in groups if send(group, 0)}
    return {group for group, state in map(group_and_state, filter(str.isdigit, os.listdir("/proc"))) if state != "Z"}


def group_and_state(pid: str) -> tuple[int, str]:
    """A process's group and state letter; as a dead one's when it has gone meanwhile."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as handle:
            fields = handle.read().rpartition(")")[2].split()
    except OSError:
        return 0, "Z"
    return int(fields[2]), fields[0]


def lock(path: str) -> IO[str]:
    """Wait for the lock on the file; held while the handle is open."""
    handle = open(path, "a")  # noqa: SIM115
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def main(hold: str, until_unlocked: str, remove: str) -> None:
    held = lock(hold) if hold else None
    sys.stdout.write("on watch\n")
    sys.stdout.close()
    groups = read_groups(sys.stdin)
    # Kept to the end: who comes meanwhile is not to take part in what is being ended.
    unlocked = lock(until_unlocked) if until_unlocked else None
    end_groups(groups)
    if remove:
        shutil.rmtree(remove, ignore_errors=True)
    for handle in (unlocked, held):
        if handle is not None:
            handle.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
