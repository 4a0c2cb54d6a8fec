"""What functions that speak to other programs have in common."""

from __future__ import annotations

from collections.abc import Sequence


def decoded(data: bytes | bytearray, encoding: str = "utf-8") -> str:
    """The text of what a program or a server said, with a mark in the place of what cannot be read or stored."""
    return data.decode(encoding, "replace").replace("\0", "\ufffd")


def expected(value: int | Sequence[int] | None) -> Sequence[int]:
    """The numbers of an `expect`; none where there is no wish."""
    return () if value is None else (value,) if isinstance(value, int) else value
