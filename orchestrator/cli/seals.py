"""What seals secrets that a command stores."""

from __future__ import annotations

from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.services.seal import Seal


def read_seal() -> Seal:
    """With the key of the settings; else of the `orchestrator up` whose data folder this is."""
    config = Config.from_env(need=())
    return Seal(config.secret_key or DataFolder(config.data_dir).read("secret_key"))
