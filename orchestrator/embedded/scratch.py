"""A database of this process's own for tests that ask for none, on servers shared with whoever tests beside it."""

from __future__ import annotations

import atexit
import hashlib
import os
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from orchestrator.embedded.shared import locked, servers_for_tests
from orchestrator.ids import new_token
from orchestrator.store.databases import copy_database, ensure_database
from orchestrator.store.migrate import upgrade

TEMPLATE = "orchestrator_template"


def meeting_folder() -> Path:
    """Where the test processes of this user and this copy of the package meet, to share servers."""
    here = hashlib.sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"orchestrator-meeting-{os.getuid()}-{here}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def template_database(server_url: str, meeting: Path) -> str:
    """The URL of a migrated database to copy from; nobody stays connected to it."""
    url = server_url.rpartition("/")[0] + "/" + TEMPLATE
    with locked(meeting / "template"):
        ensure_database(url)
        upgrade(url)
    return url


def fresh_database(template_url: str, meeting: Path) -> str:
    """The URL of a new copy of the template; Postgres copies it for one client at a time."""
    name = "test_" + new_token().replace("-", "")
    with locked(meeting / "copying"):
        return copy_database(template_url, name)


@cache
def scratch_database() -> str:
    """The URL of this process's database: made at the first call, gone with the servers when the last process leaves."""
    stack = ExitStack()
    meeting = meeting_folder()
    urls = stack.enter_context(servers_for_tests(meeting))
    atexit.register(stack.close)
    return fresh_database(template_database(urls.database_url, meeting), meeting)
