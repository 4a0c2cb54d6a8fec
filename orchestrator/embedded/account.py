"""Whom the Postgres server runs as: it refuses to be root, so for root it is an unprivileged account."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.embedded.errors import ServerFailed

_UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """A system user other than this process's own."""

    uid: int
    gid: int

    def may_enter(self, path: Path) -> bool:
        """Whether its processes can reach `path` and read it, by the permission bits."""
        return all(self._may(folder, stat.S_IXOTH) for folder in path.parents) and self._may(path, stat.S_IROTH)

    def own(self, path: Path) -> None:
        """Give the path to the account. Raises `ServerFailed` where root may not."""
        try:
            os.chown(path, self.uid, self.gid)
        except OSError as error:
            raise ServerFailed(
                f"PostgreSQL refuses to run as root, and {path} cannot be given to another user ({error.strerror}):"
                " start as another user, or set DATABASE_URL to a server of your own"
            ) from error

    def _may(self, path: Path, bit: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            bit <<= 6
        elif status.st_gid == self.gid:
            bit <<= 3
        return bool(status.st_mode & bit)


def server_account(folder: Path) -> Account | None:
    """The account for the cluster in `folder`: None for this process's own.

    For root it is the owner of a cluster that is already there, else `nobody`. Raises `ServerFailed`.
    """
    if os.geteuid() != 0:
        return None
    if folder.exists() and (status := folder.stat()).st_uid != 0:
        return Account(status.st_uid, status.st_gid)
    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        raise ServerFailed(
            f"PostgreSQL refuses to run as root, and this machine has no user '{_UNPRIVILEGED}' to run it as:"
            " start as another user, or set DATABASE_URL to a server of your own"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def run_as(account: Account | None) -> dict[str, Any]:
    """The arguments of `subprocess` that start a process as the account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
