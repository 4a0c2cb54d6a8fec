"""A database of this process's own for tests that ask for none, on servers shared with whoever tests beside it."""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from orchestrator.embedded.errors import ServerFailed
from orchestrator.embedded.shared import locked, servers_for_tests
from orchestrator.store.databases import copy_database, ensure_database, is_sealed, seal_database
from orchestrator.store.migrate import SCRIPTS, upgrade


def meeting_folder() -> Path:
    """Where the test processes of this user and this copy of the package meet, to share servers."""
    here = _digest(str(Path(__file__).resolve()).encode())
    folder = Path(tempfile.gettempdir()) / f"orchestrator-meeting-{os.getuid()}-{here}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise ServerFailed(f"{folder} belongs to someone else; remove it, or set TMPDIR to a folder of your own")
    return folder


def template_database(server_url: str, meeting: Path) -> str:
    """The URL of a migrated database to copy from; nobody can connect to it, for then it could not be copied.

    Its name is a digest of the migrations: servers may outlive an edit of them.
    """
    name = "template_" + _digest(*(path.read_bytes() for path in sorted(SCRIPTS.glob("versions/*.py"))))
    url = server_url.rpartition("/")[0] + "/" + name
    with locked(meeting / "template"):
        if not is_sealed(url):
            ensure_database(url)
            upgrade(url)
            seal_database(url)
    return url


def fresh_database(template_url: str, meeting: Path) -> str:
    """The URL of a new copy of the template; Postgres copies it for one client at a time."""
    name = "test_" + secrets.token_hex(8)
    with locked(meeting / "copying"):
        return copy_database(template_url, name)


@cache
def scratch_database() -> str:
    """The URL of this process's database: made at the first call, gone with the servers as the last process leaves."""
    stack = ExitStack()
    meeting = meeting_folder()
    urls = stack.enter_context(servers_for_tests(meeting))
    atexit.register(stack.close)
    return fresh_database(template_database(urls.database_url, meeting), meeting)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
