"""Starts a process of the product, as orchestrator/up/launch.py does, in the weather of the chaos suite."""

from __future__ import annotations

import faulthandler
import runpy
import signal
import sys
from pathlib import Path

TELL = signal.SIGRTMIN + 1  # which nobody else uses
ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    # Asked with this signal, it writes to its log where it stands; what it forks does too.
    faulthandler.register(TELL, all_threads=True)
    from tests.chaos import weather

    weather.install()
    runpy.run_path(str(ROOT / "orchestrator/up/launch.py"), run_name="__main__")
