"""What pyproject.toml cannot say: the long description is README.md without its links into the checkout."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_INTO_THE_CHECKOUT = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)\s]+\)")

setup(
    long_description=_INTO_THE_CHECKOUT.sub(r"\1", Path(__file__).with_name("README.md").read_text()),
    long_description_content_type="text/markdown",
)
