"""Starts a process of the product, as orchestrator/up/launch.py does, in the weather of the chaos suite."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    from tests.chaos import weather

    weather.install()
    runpy.run_path(str(ROOT / "orchestrator/up/launch.py"), run_name="__main__")
