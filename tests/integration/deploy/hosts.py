"""Hosts of their own: network namespaces of this machine, each behind a cable of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.support import program


@dataclass(frozen=True)
class Host:
    """`here`: the address under which it reaches this machine."""

    name: str
    here: str

    def command(self, *words: str) -> list[str]:
        """The command, as it runs there."""
        return [program("ip"), "netns", "exec", self.name, *words]

    def unplug(self) -> None:
        """Nothing comes or goes any more, and nobody is told."""
        _ip("link", "set", f"{self.name}o", "down")

    def plug(self) -> None:
        _ip("link", "set", f"{self.name}o", "up")


@contextmanager
def host(number: int) -> Iterator[Host]:
    """A host that sees this machine and nothing else. It needs root: without, its test is skipped, but not in CI."""
    if os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip("network namespaces need root")
    name, net = f"orc{os.getpid()}n{number}", f"10.213.{os.getpid() % 125 * 2 + number}"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", f"{name}o", "type", "veth", "peer", "name", f"{name}i", "netns", name)
        _ip("address", "add", f"{net}.1/24", "dev", f"{name}o")
        _ip("link", "set", f"{name}o", "up")
        _ip("-n", name, "address", "add", f"{net}.2/24", "dev", f"{name}i")
        _ip("-n", name, "link", "set", f"{name}i", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        yield Host(name, f"{net}.1")
    finally:
        _ip("netns", "delete", name)  # the cable goes with it


def _ip(*words: str) -> None:
    done = subprocess.run([program("ip", "iproute2"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
