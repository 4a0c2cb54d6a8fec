"""The Celery app of workers and beat."""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Exchange, Queue

from orchestrator.config import ALL_QUEUES, Config
from orchestrator.domain.masking import Masker
from orchestrator.services.engine import DEFAULT_QUEUE
from workers import beat, consumer
from workers.console import Console
from workers.lifecycle import Lifecycle
from workers.tasks import register_tasks
from workers.waking import Waking


def make_app(config: Config) -> Celery:
    """A Celery app that connects to nothing yet; its workers run steps, and its beat coordinates."""
    app = Celery("orchestrator")
    app.conf.update(celery_settings(config))
    lifecycle = Lifecycle(app, config)
    lifecycle.connect()
    app.steps["consumer"].add(Waking)
    Console(config.log_level, config.log_format, Masker(config.secrets.values())).connect()
    register_tasks(app, lifecycle)
    return app


def celery_settings(config: Config) -> dict[str, Any]:
    """Celery's settings: no results, JSON, one message at a time, acknowledged as it is taken."""
    return {
        beat.CONFIG: config,
        "broker_url": config.broker_url,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # for as long as it takes
        # Also what the broker itself answers: a failover (READONLY), no memory left. Celery would end the worker.
        "broker_channel_error_retry": True,
        "broker_transport_options": _transport_options(config.broker_url),
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_acks_late": False,
        "task_default_queue": DEFAULT_QUEUE,
        "task_queues": [Queue(name, Exchange(name), name) for name in _first_queues(config)],
        "worker_consumer": f"{consumer.__name__}:{consumer.SoonBack.__name__}",
        "worker_cancel_long_running_tasks_on_connection_loss": True,  # there are none: no task acknowledges late
        "worker_prefetch_multiplier": 1,
        "worker_proc_alive_timeout": 60.0,  # a fresh interpreter on a busy machine needs more than Celery's 4 s
        "worker_send_task_events": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "beat_schedule": beat.schedule(config.tick_seconds),
        "beat_scheduler": f"{beat.__name__}:{beat.CoordinatingScheduler.__name__}",
        "beat_max_loop_interval": max(config.tick_seconds, 0.05),
    }


def _first_queues(config: Config) -> list[str]:
    """The queues a worker begins with; it adds others in use itself (workers/queues.py)."""
    return [name for name in config.queues if name != ALL_QUEUES] or [DEFAULT_QUEUE]


def _transport_options(broker_url: str) -> dict[str, Any]:
    if broker_url.startswith("amqp"):
        return {}
    # One list a queue: priority is decided in Postgres.
    return {"priority_steps": [0], "socket_keepalive": True, "socket_connect_timeout": 5}
