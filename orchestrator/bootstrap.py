"""An engine from the settings: what every process of the product begins with."""

from __future__ import annotations

from orchestrator.blobstore import blobs_of
from orchestrator.config import Config
from orchestrator.functions import load_modules, registry
from orchestrator.services.documents import document_limits
from orchestrator.services.engine import Engine, Settings, Transport
from orchestrator.services.gather import Gathered
from orchestrator.services.ring import Ring
from orchestrator.store.db import Database
from orchestrator.transport import CeleryTransport, NullTransport

_GATHER_SECONDS = 0.01


def make_engine(
    config: Config,
    *,
    load_functions: bool = True,
    pool_size: int = 5,
    name: str = "orchestrator",
    lock_timeout: float | None = None,
) -> Engine:
    """The engine of this process; connects to nothing yet. `name` is what Postgres shows of its connections;
    `lock_timeout` (seconds) bounds how long a transaction waits for one lock.

    `load_functions` is for workers, and for beat, which settles lost attempts: they alone hold secrets. Raises
    `InvalidConfig` naming every function module that cannot be loaded.
    """
    functions = load_modules(config.functions) if load_functions else registry
    return Engine(
        Database.connect(config.database_url, pool_size=pool_size, application_name=name, lock_timeout=lock_timeout),
        functions,
        _transport(config),
        settings_of(config),
        starts=Gathered(_GATHER_SECONDS),
        blobs=blobs_of(config),
        secrets=config.secrets if load_functions else {},
        ring=Ring(config.notify),
    )


def _transport(config: Config) -> Transport:
    """Without a broker what is ready waits for the coordinator, which has one."""
    return CeleryTransport(config.broker_url) if config.broker_url else NullTransport()


def settings_of(config: Config) -> Settings:
    """The engine's knobs as the configuration sets them."""
    return Settings(
        app=config.app,
        lease=config.lease_seconds,
        max_lost=config.max_lost,
        resend=config.resend_seconds,
        window=config.window,
        timeout_grace=config.timeout_grace_seconds,
        max_output_bytes=config.max_output_bytes,
        batch=config.batch,
        celery_timeout=config.celery_timeout_seconds,
        max_depth=config.max_depth,
        documents=document_limits(config),
        public_url=config.public_url,
        alert_hosts=config.alert_hosts,
    )
