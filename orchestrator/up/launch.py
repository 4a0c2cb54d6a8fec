"""Runs a worker, beat or gunicorn with our own packages, whatever the user's folders are called.

    python launch.py -A workers.app worker ...      workers/command.py
    python launch.py web.app:create_app() ...       gunicorn

Both import first from the current folder, as they must to find the user's step functions; one that is called
`workers` or `web` would be taken for ours. A script that imports nothing of ours: gevent wants to be first. Its own
command line starts it again, as both programs do on a signal.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
WEB = "web.app:create_app()"
_OBJECTS = 50_000  # made since it was last looked for garbage


class OwnPackages:
    """Finds packages of these names beside this one, before anything else looks for them."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Raises `ModuleNotFoundError` for a module that only the package has that ours hides."""
        package, _, inner = name.partition(".")
        if package not in self._names:
            return None
        found = PathFinder.find_spec(name, path if inner else [ROOT])
        if found is None and (hidden := _hidden(package)):
            why = f"'{package}' is a package of the orchestrator, which hides {hidden}: give yours another name"
            raise ModuleNotFoundError(f"No module named '{name}': {why}", name=name)
        return found


def _hidden(package: str) -> str | None:
    """Where the import would have found a package of this name."""
    others = [entry for entry in sys.path if str(Path(entry).resolve()) != ROOT]
    spec = PathFinder.find_spec(package, others)
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)


def main() -> None:
    """Become the program, as `python -m` would."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()  # in the place of this script's folder
    _look_for_garbage_less()
    try:
        runpy.run_module("gunicorn" if WEB in sys.argv else "workers.command", run_name="__main__")
    except KeyboardInterrupt:  # while it starts; later both take the signal themselves
        sys.exit(130)


def _look_for_garbage_less() -> None:
    """What is imported is no garbage: looking through it is a fifth of the time to start, and most of it to end."""
    if WEB in sys.argv:
        gc.set_threshold(_OBJECTS)  # for good: nobody's functions run there
    else:
        gc.disable()  # until the step functions are there (workers/lifecycle.py)
    atexit.register(gc.freeze)


# A pool process that is a fresh interpreter (macOS) runs this file too, under another name.
if __name__ in ("__main__", "__mp_main__"):
    sys.meta_path.insert(0, OwnPackages("orchestrator", "web" if WEB in sys.argv else "workers"))
if __name__ == "__main__":
    main()
