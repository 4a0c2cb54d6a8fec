"""How the package is built: with setuptools, and with the documentation as a site in every wheel.

Only a wheel needs MkDocs; an editable checkout (`pip install --editable .`) and an sdist are made without it, and
`make site` builds the site there. docs/adr/0030-the-site-obeys-the-policy.md tells why.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import build_editable as build_editable
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import prepare_metadata_for_build_editable as prepare_metadata_for_build_editable
from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel

SITE_NEEDS = ["mkdocs>=1.6,<2", "mkdocs-material>=9.6,<10"]
_ROOT = Path(__file__).parent
_Settings = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    """What setuptools needs, and MkDocs."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *SITE_NEEDS]


def build_wheel(wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None) -> str:
    """Build the site into `web/site`, then the wheel with it."""
    build_site()
    made: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    return made


def build_site(folder: Path = _ROOT / "web" / "site") -> None:
    """Raises `CalledProcessError` when a page has a dead link, a missing anchor, or no place in the navigation."""
    # Not --quiet: what it does not say it does not count as a warning either.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=_ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)


if __name__ == "__main__":
    try:
        build_site()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
