"""The command lines of the three kinds of process, the same for `up`, the Procfile and the CLI."""

from __future__ import annotations

import sys

from orchestrator.config import Config


def worker_command(config: Config) -> list[str]:
    """A Celery worker for the configured queues."""
    return _celery(
        "worker",
        f"--loglevel={config.log_level}",
        f"--concurrency={config.concurrency}",
        f"--queues={','.join(config.queues)}",
        # Chatter between workers that nothing here needs.
        "--without-gossip",
        "--without-mingle",
    )


def beat_command(config: Config) -> list[str]:
    """The coordinator's clock. Its state file holds nothing that matters: what is due is in Postgres."""
    return _celery("beat", f"--loglevel={config.log_level}", f"--schedule={config.data_dir / 'beat'}", "--pidfile=")


def web_command(config: Config, *, host: str, threads: int = 8) -> list[str]:
    """Gunicorn on `config.port`; the number of its processes is WEB_CONCURRENCY, 1 by default."""
    return [
        sys.executable,
        "-m",
        "gunicorn",
        "web.app:create_app()",
        f"--bind={host}:{config.port}",
        f"--threads={threads}",
        "--no-control-socket",  # it would be one for all servers of this user
        f"--log-level={config.log_level.lower()}",
    ]


def _celery(program: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "workers.app", program, *options]
