"""Who acts, for the audit log."""

from __future__ import annotations

import os
import pwd
from functools import cache


@cache
def acting_user(door: str) -> str:
    """`cli:anna`: the door an act came through, and the name of this process's user."""
    try:
        return f"{door}:{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # a container's user without a name
        return f"{door}:{os.getuid()}"
