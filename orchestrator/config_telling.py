"""What a process tells: the form of its log, where traces are shown, and what the OTEL_* variables say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOG_FORMATS = ("text", "json")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTERS = "OTEL_TRACES_EXPORTER"


def log_level(text: str) -> str:
    """Raises `ValueError`."""
    if text.upper() not in _LEVELS:
        raise ValueError(f"must be one of {', '.join(_LEVELS)}, not '{text}'")
    return text.upper()


def log_format(text: str) -> str:
    """Raises `ValueError`."""
    if text.lower() not in LOG_FORMATS:
        raise ValueError(f"must be {' or '.join(LOG_FORMATS)}, not '{text}'")
    return text.lower()


def trace_url(text: str) -> str:
    """An address with a place for the id; raises `ValueError`."""
    if not re.match(r"https?://", text) or "{trace_id}" not in text:
        raise ValueError(f"must be an address such as https://host/trace/{{trace_id}}, not '{text}'")
    return text


@dataclass(frozen=True, slots=True)
class Traces:
    """The exporters by name, none: no traces; and the protocol of `otlp`."""

    exporters: tuple[str, ...] = ()
    protocol: str = "http/protobuf"


def read_traces(env: Mapping[str, str]) -> Traces:
    """On where an exporter or an endpoint is named, and not disabled."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Traces()
    named = env.get(_EXPORTERS, "").strip() or ("otlp" if _first(env, _ENDPOINTS) else "none")
    names = dict.fromkeys(name.strip() for name in named.split(","))
    protocol = _first(env, _PROTOCOLS) or Traces().protocol
    return Traces(tuple(name for name in names if name and name != "none"), protocol)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := env.get(name, "").strip())), "")
