"""`celery -A APP worker ...` and `celery -A APP beat ...`, without what Celery's other commands import.

Run as a program by orchestrator/up/launch.py. Options, environment variables and exit codes are Celery's own.
"""

from __future__ import annotations

import sys

from celery import maybe_patch_concurrency

maybe_patch_concurrency()  # gevent wants to be there before anything it changes is imported

from celery.app.utils import find_app  # noqa: E402
from celery.bin.base import CLIContext  # noqa: E402
from celery.bin.beat import beat  # noqa: E402
from celery.bin.worker import worker  # noqa: E402

_COMMANDS = {"worker": worker, "beat": beat}


def main() -> None:
    """Become the command of `sys.argv`; ends the process."""
    _, _, app, name, *options = sys.argv
    context = CLIContext(app=find_app(app), no_color=False, workdir=None)
    _COMMANDS[name].main(options, f"celery {name}", obj=context, auto_envvar_prefix=f"CELERY_{name.upper()}")


if __name__ == "__main__":
    main()
