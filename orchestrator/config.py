"""Settings. `Config.from_env` is the only reader of the environment; it reports every fault at once."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from orchestrator import config_urls
from orchestrator.config_telling import Traces, log_format, log_level, read_traces, trace_url
from orchestrator.data_folder import DataFolder, default_folder
from orchestrator.errors import InvalidConfig, Problem

SERVERS = ("database", "broker")
ALL_QUEUES = "*"  # among a worker's queues: all that are in use, whenever they come into use
_WORKERS = "workers"
_PREFIX = "ORCHESTRATOR_"
BLOB_URL, BLOB_OVER, BLOB_MAX = (f"{_PREFIX}BLOB_{name}" for name in ("URL", "OVER", "MAX"))
SECRETS = _PREFIX + "SECRET_"  # and the name of a secret of templates
_UNITS = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _seconds(*, least: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value: float = _number(text, float, "a number of seconds")
        if not math.isfinite(value) or value < least:
            raise ValueError(f"must be {least:g} seconds or more, not {text}")
        return value

    return parse


def _rate(text: str) -> float:
    value: float = _number(text, float, "a number")
    if not 0 <= value <= 1e9:
        raise ValueError(f"must be from 0 to 1000000000, not {text}")
    return value


def _count(*, least: int, most: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value: int = _number(text, int, "a whole number")
        if value < least or (most is not None and value > most):
            bounds = f"{least} or more" if most is None else f"from {least} to {most}"
            raise ValueError(f"must be {bounds}, not {text}")
        return value

    return parse


def _number(text: str, kind: type[Any], words: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"must be {words}, not '{text}'") from None


def _bytes(text: str) -> int:
    for unit, size in _UNITS.items():
        if text.lower().endswith(unit):
            return _count(least=1)(text[: -len(unit)].strip()) * size
    return _count(least=1)(text)


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(f"must be true or false, not '{text}'") from None


def _options(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError('must be a map in JSON, such as {"key": "...", "secret": "..."}')
    return found


def _modules(text: str) -> tuple[str, ...]:
    modules = config_urls.names(text)
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"'{module}' is not a module name (write them as package.module, separated by commas)")
        if module.partition(".")[0] == _WORKERS:
            raise ValueError(f"'{module}': `{_WORKERS}` is a package of the orchestrator, so give yours another name")
    return modules


def _app(text: str) -> str:
    if len(text) > 255 or not text.isprintable():
        raise ValueError("must be 1 to 255 printable characters")
    return text


def _setting(variable: str, parse: Callable[[str], Any], default: Any) -> Any:
    """A field read from `variable`; `default` may be a function without arguments."""
    metadata = {"variable": variable, "parse": parse}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def _cpus() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, checked. Times in seconds, sizes in bytes. Secrets stay out of `repr`.

    `database_url` and `broker_url` are empty only where `from_env` was told that they are not needed. `secrets` are
    those of templates, by name in lower case: ORCHESTRATOR_SECRET_API_KEY is `secrets.api_key`.
    """

    database_url: str = field(default="", repr=False)
    broker_url: str = field(default="", repr=False)
    secret_key: str | None = field(default=None, repr=False)
    port: int = _setting("PORT", _count(least=1, most=65535), 8000)
    app: str = _setting(_PREFIX + "APP", _app, "default")
    functions: tuple[str, ...] = _setting(_PREFIX + "FUNCTIONS", _modules, ())
    queues: tuple[str, ...] = _setting(_PREFIX + "QUEUES", config_urls.names, ("default",))
    concurrency: int = _setting(_PREFIX + "CONCURRENCY", _count(least=1), _cpus)
    pool_size: int = _setting(_PREFIX + "POOL_SIZE", _count(least=1), 5)
    lease_seconds: float = _setting(_PREFIX + "LEASE_SECONDS", _seconds(least=0.5), 15.0)
    heartbeat_seconds: float = _setting(_PREFIX + "HEARTBEAT_SECONDS", _seconds(least=0.1), 0.0)
    tick_seconds: float = _setting(_PREFIX + "TICK_SECONDS", _seconds(least=0.05), 1.0)
    notify: bool = _setting(_PREFIX + "NOTIFY", _boolean, True)
    listen_url: str = field(
        default="", repr=False, metadata={"variable": _PREFIX + "LISTEN_URL", "parse": config_urls.database_url}
    )
    gc_seconds: float = _setting(_PREFIX + "GC_SECONDS", _seconds(least=0), 300.0)
    resend_seconds: float = _setting(_PREFIX + "RESEND_SECONDS", _seconds(least=0.1), 5.0)
    continuation_seconds: float = _setting(_PREFIX + "CONTINUATION_SECONDS", _seconds(least=0), 1.0)
    timeout_grace_seconds: float = _setting(_PREFIX + "TIMEOUT_GRACE_SECONDS", _seconds(least=0), 5.0)
    max_lost: int = _setting(_PREFIX + "MAX_LOST", _count(least=1), 3)
    window: int = _setting(_PREFIX + "WINDOW", _count(least=1), 100)
    batch: int = _setting(_PREFIX + "BATCH", _count(least=1), 500)
    celery_timeout_seconds: float = _setting(_PREFIX + "CELERY_TIMEOUT_SECONDS", _seconds(least=1), 3600.0)
    celery_result_backend: str = field(
        default="", repr=False, metadata={"variable": _PREFIX + "CELERY_RESULT_BACKEND", "parse": str}
    )
    max_output_bytes: int = _setting(_PREFIX + "MAX_OUTPUT_BYTES", _bytes, 1 << 20)
    blob_url: str = field(default="", repr=False, metadata={"variable": BLOB_URL, "parse": config_urls.blob_url})
    blob_options: Mapping[str, Any] = field(
        default_factory=dict, repr=False, metadata={"variable": _PREFIX + "BLOB_OPTIONS", "parse": _options}
    )
    blob_over: int = _setting(BLOB_OVER, _bytes, 256 << 10)
    blob_max: int = _setting(BLOB_MAX, _bytes, 100 << 20)
    max_document_bytes: int = _setting(_PREFIX + "MAX_DOCUMENT_BYTES", _bytes, 1 << 20)
    max_steps: int = _setting(_PREFIX + "MAX_STEPS", _count(least=1), 20_000)
    max_depth: int = _setting(_PREFIX + "MAX_DEPTH", _count(least=0, most=100), 8)
    api_rate: float = _setting(_PREFIX + "API_RATE", _rate, 1000.0)
    api_streams: int = _setting(_PREFIX + "API_STREAMS", _count(least=0), 16)
    cors_origins: tuple[str, ...] = _setting(_PREFIX + "CORS_ORIGINS", config_urls.origins, ())
    proxies: int = _setting(_PREFIX + "PROXIES", _count(least=0, most=10), 0)
    metrics_open: bool = _setting(_PREFIX + "METRICS_OPEN", _boolean, False)
    log_level: str = _setting(_PREFIX + "LOG_LEVEL", log_level, "INFO")
    log_format: str = _setting(_PREFIX + "LOG_FORMAT", log_format, "text")
    access_log: bool = _setting(_PREFIX + "ACCESS_LOG", _boolean, False)
    public_url: str = _setting(_PREFIX + "PUBLIC_URL", config_urls.public_url, "")
    alert_seconds: float = _setting(_PREFIX + "ALERT_SECONDS", _seconds(least=0.1), 5.0)
    alert_hosts: tuple[str, ...] = _setting(_PREFIX + "ALERT_HOSTS", config_urls.hosts, ())
    smtp_url: str = field(
        default="", repr=False, metadata={"variable": _PREFIX + "SMTP_URL", "parse": config_urls.smtp_url}
    )
    mail_from: str = _setting(_PREFIX + "MAIL_FROM", config_urls.address, "")
    data_dir: Path = _setting(_PREFIX + "DATA_DIR", Path, lambda: default_folder(Path.cwd()))
    broker_tls_verify: bool = _setting(_PREFIX + "BROKER_TLS_VERIFY", _boolean, True)
    enable_shell: bool = _setting(_PREFIX + "ENABLE_SHELL", _boolean, False)
    trace_url: str = _setting(_PREFIX + "TRACE_URL", trace_url, "")
    traces: Traces = Traces()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[Problem, ...] = ()

    @classmethod
    def from_env(
        cls, env: Mapping[str, str] | None = None, *, need: Sequence[str] = SERVERS, **defaults: Any
    ) -> Config:
        """The settings in `env` (default: this process's environment), `defaults` where it sets none.

        Server URLs that are not set are those of the `orchestrator up` running in the data folder. Raises
        `InvalidConfig` with all faults, each with the variable's name as its path; a server of `need` ("database",
        "broker") that is missing is a fault.
        """
        reader = _Reader(os.environ if env is None else env)
        config = reader.settings(defaults)
        database_url, broker_url = reader.urls(config)
        config = replace(config, database_url=database_url, broker_url=broker_url)
        if need and not reader.problems:
            config = reader.located(config, need)
        if reader.problems:
            raise InvalidConfig(reader.problems)
        return config

    @property
    def all_queues(self) -> bool:
        """Whether a worker serves every queue in use."""
        return ALL_QUEUES in self.queues

    def environment(self) -> dict[str, str]:
        """This process's environment, with these servers, folder and functions: what a child process gets."""
        own = {
            "DATABASE_URL": self.database_url,
            "BROKER_URL": self.broker_url,
            "SECRET_KEY": self.secret_key or "",
            "PORT": str(self.port),
            _PREFIX + "DATA_DIR": str(self.data_dir),
            _PREFIX + "FUNCTIONS": ",".join(self.functions),
            _PREFIX + "CONCURRENCY": str(self.concurrency),
            _PREFIX + "QUEUES": ",".join(self.queues),
        }
        return {**os.environ, **own}

    @staticmethod
    def foreign_environment() -> dict[str, str]:
        """This process's environment without any setting of ours: what a program gets that a step runs."""
        return {n: v for n, v in os.environ.items() if n not in VARIABLES and not n.startswith(_PREFIX)}


_SETTINGS = {f.name: f for f in fields(Config) if "variable" in f.metadata}
VARIABLES = ("DATABASE_URL", "REDIS_URL", "BROKER_URL", "SECRET_KEY") + tuple(
    f.metadata["variable"] for f in _SETTINGS.values()
)


class _Reader:
    """Reads one environment, keeping every problem it meets."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.problems: list[Problem] = []

    def settings(self, defaults: Mapping[str, Any]) -> Config:
        """All but the URLs; what is faulty keeps its default, so that the rest can be checked too."""
        values = {name: self._read(f.metadata["variable"], f.metadata["parse"]) for name, f in _SETTINGS.items()}
        # On a Heroku dyno, Redis has a certificate that no authority has signed.
        if values["broker_tls_verify"] is None and "DYNO" in self._env:
            values["broker_tls_verify"] = False
        given = {**defaults, **{name: value for name, value in values.items() if value not in (None, ())}}
        own: dict[str, Any] = {"secret_key": self._secret(), "secrets": self._secrets(), "warnings": self._unknown()}
        config = Config(**given, **own, traces=read_traces(self._env))
        self._check_blobs(config)
        return self._with_heartbeat(config)

    def _check_blobs(self, config: Config) -> None:
        if not config.blob_url:
            return
        if config.blob_over > config.max_output_bytes:
            most = f"{_PREFIX}MAX_OUTPUT_BYTES ({config.max_output_bytes})"
            self._fault(BLOB_OVER, f"must be at most {most}, which is the most that stays in the database")
        if config.blob_max < config.max_output_bytes:
            self._fault(BLOB_MAX, f"must be at least {_PREFIX}MAX_OUTPUT_BYTES ({config.max_output_bytes})")

    def urls(self, config: Config) -> tuple[str, str]:
        """The database's and the broker's URL, normalised; empty where not set."""
        broker = "BROKER_URL" if self._text("BROKER_URL") else "REDIS_URL"

        def parse_broker(text: str) -> str:
            return config_urls.broker_url(text, verify_tls=config.broker_tls_verify)

        return self._read("DATABASE_URL", config_urls.database_url) or "", self._read(broker, parse_broker) or ""

    def located(self, config: Config, need: Sequence[str]) -> Config:
        """Missing URLs filled in from the running `up`; a problem for each needed one that cannot be."""
        if config.database_url and config.broker_url:
            return config
        running = DataFolder(config.data_dir).running()
        if running is not None:
            database = config.database_url or running.database_url
            return replace(config, database_url=database, broker_url=config.broker_url or running.broker_url)
        elsewhere = f"if it runs with another folder, set {_PREFIX}DATA_DIR"
        hint = f"or run `orchestrator up`, which is not running in {config.data_dir}; {elsewhere}"
        if "database" in need and not config.database_url:
            self._fault("DATABASE_URL", "is not set", f"give a postgresql:// URL, {hint}")
        if "broker" in need and not config.broker_url:
            self._fault("REDIS_URL", "is not set, nor is BROKER_URL", f"give a redis:// or amqp:// URL, {hint}")
        return config

    def _with_heartbeat(self, config: Config) -> Config:
        if not config.heartbeat_seconds:
            return replace(config, heartbeat_seconds=config.lease_seconds / 3)
        if config.heartbeat_seconds > config.lease_seconds / 2:
            self._fault(
                _PREFIX + "HEARTBEAT_SECONDS",
                f"must be at most half of {_PREFIX}LEASE_SECONDS ({config.lease_seconds:g}), or a lease ends"
                " before it is renewed",
            )
        return config

    def _secret(self) -> str | None:
        secret = self._text("SECRET_KEY")
        if secret is not None and len(secret) < 16:
            self._fault("SECRET_KEY", "must have 16 characters or more", "make one with `openssl rand -hex 32`")
        return secret

    def _secrets(self) -> Mapping[str, str]:
        named = {
            name.removeprefix(SECRETS).lower(): text for name, text in self._env.items() if name.startswith(SECRETS)
        }
        return {name: text for name, text in named.items() if name}

    def _read(self, variable: str, parse: Callable[[str], Any]) -> Any:
        text = self._text(variable)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self._fault(variable, str(error))
            return None

    def _text(self, variable: str) -> str | None:
        return self._env.get(variable, "").strip() or None

    def _fault(self, variable: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(variable, message, hint))

    def _unknown(self) -> tuple[Problem, ...]:
        ours = (name for name in self._env if name.startswith(_PREFIX) and not name.startswith(SECRETS))
        unknown = sorted(name for name in ours if name not in VARIABLES)
        return tuple(Problem(name, "is not a setting and does nothing", _near(name)) for name in unknown)


def _near(name: str) -> str | None:
    known = [variable.removeprefix(_PREFIX) for variable in VARIABLES if variable.startswith(_PREFIX)]
    near = difflib.get_close_matches(name.removeprefix(_PREFIX), known, 1)
    return f"did you mean {_PREFIX}{near[0]}?" if near else None
