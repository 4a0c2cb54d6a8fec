"""Where the data of servers for tests is kept: in memory where there is room for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

_MEMORY = Path("/dev/shm")
_DISK = "/tmp"
_FREE_BYTES = 4 << 30  # of the filesystem and of the machine's memory: many containers give /dev/shm 64 MB


def folder_for_tests() -> str:
    """The folder to make temporary folders of servers in.

    Linux's memory filesystem where 4 GiB of it and of the memory are free, for a database is copied there in a
    fraction of the time; else, and where TMPDIR names another folder than /tmp, the usual temporary folder.
    """
    usual = tempfile.gettempdir()
    return str(_MEMORY) if usual == _DISK and _has_room() else usual


def _has_room() -> bool:
    if not os.access(_MEMORY, os.W_OK | os.X_OK):
        return False
    return min(shutil.disk_usage(_MEMORY).free, psutil.virtual_memory().available) >= _FREE_BYTES
