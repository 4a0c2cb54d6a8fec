"""The command lines of the three kinds of process, the same for `up`, the Procfile and the CLI."""

from __future__ import annotations

import sys

from orchestrator.config import Config
from orchestrator.up import launch
from orchestrator.up.launch import WEB

_LAUNCH = (sys.executable, str(launch.__file__))
_CLI = (sys.executable, "-P", "-c", "from orchestrator.cli.main import main; main()")  # -P: not from this folder


def cli_command(*arguments: str) -> list[str]:
    """A command of ours, as a person would type it."""
    return [*_CLI, *arguments]


def worker_command(config: Config) -> list[str]:
    """A Celery worker for the configured queues; one that serves all finds them itself."""
    return _celery(
        "worker",
        f"--loglevel={config.log_level}",
        f"--concurrency={config.concurrency}",
        *([] if config.all_queues else [f"--queues={','.join(config.queues)}"]),
        # Chatter between workers that nothing here needs.
        "--without-gossip",
        "--without-mingle",
    )


def beat_command(config: Config) -> list[str]:
    """The coordinator's clock. It keeps nothing in files: what is due is in Postgres."""
    return _celery("beat", f"--loglevel={config.log_level}", "--pidfile=")


def web_command(config: Config, *, host: str, threads: int = 8) -> list[str]:
    """Gunicorn on `config.port`; the number of its processes is WEB_CONCURRENCY, 1 by default.

    Each has `threads` for requests, and one more for each stream that it may serve.
    """
    return [
        *_LAUNCH,
        WEB,
        "--config=python:web.serving",
        f"--bind={host}:{config.port}",
        f"--threads={threads + config.api_streams}",
        "--graceful-timeout=5",  # streams do not end by themselves
        "--no-control-socket",  # it would be one for all servers of this user
        f"--log-level={config.log_level.lower()}",
        "--logger-class=web.lines.Lines",
        *(["--access-logfile=-"] if config.access_log else []),
    ]


def _celery(program: str, *options: str) -> list[str]:
    return [*_LAUNCH, "-A", "workers.app", program, *options]
