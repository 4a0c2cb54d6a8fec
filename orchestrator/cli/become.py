"""Turns a command of ours into the process it stands for, so that signals reach that process directly."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from orchestrator.blobstore import check_blobs
from orchestrator.config import Config


def become(command: Sequence[str], config: Config) -> NoReturn:
    """Replace this process by `command`, with the servers and settings of `config` in its environment."""
    check_blobs(config)
    for warning in config.warnings:
        click.secho(str(warning), fg="yellow", err=True)
    sys.stdout.flush()
    os.execve(command[0], list(command), config.environment())
