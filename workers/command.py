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

from orchestrator.config import Config  # noqa: E402
from workers.beat import CONFIG  # noqa: E402

_COMMANDS = {"worker": worker, "beat": beat}


def _is_quiet(config: Config | None) -> bool:
    """Whether Celery is to leave out its banner, which is no line of a log."""
    return config is not None and config.log_format == "json"


def main() -> None:
    """Become the command of `sys.argv`; ends the process."""
    _, _, app, name, *options = sys.argv
    found = find_app(app)
    context = CLIContext(app=found, no_color=False, workdir=None, quiet=_is_quiet(found.conf.get(CONFIG)))
    _COMMANDS[name].main(options, f"celery {name}", obj=context, auto_envvar_prefix=f"CELERY_{name.upper()}")


if __name__ == "__main__":
    main()
