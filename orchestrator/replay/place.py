"""Where in a user's file something was asked for."""

from __future__ import annotations

import sys
from pathlib import Path

_OURS = str(Path(__file__).parent)


def users_line() -> str:
    """The innermost line that is not of this package: `orders.py:12`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
