"""How the lines of a process's log look: text for people, or one JSON object a line; without secrets in both.

Whoever logs uses `logging`, or structlog, and says with `extra` what a line is about; what it is about anyway - the
attempt it comes from, the request - is looked up as the line is made, so that a step that logs nothing pays nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.stdlib import ProcessorFormatter

from orchestrator.domain.masking import Masker

JSON = "json"
Facts = Callable[[], Mapping[str, Any]]
_Line = MutableMapping[str, Any]
_OF_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_NEVER = ("time", "level", "logger", "pid", "exc_info")  # the record's own, whatever else is called so
# On a text line these stand elsewhere, or would be long and say little.
_NOT_SHOWN = (*_NEVER, "event", "exception", "stack", "app", "workflow", "worker", "step_id", "queue", "request_id")
_clock = logging.Formatter()


def make_formatter(kind: str, secrets: Callable[[], Masker], facts: Facts) -> logging.Formatter:
    """A formatter of JSON lines (`kind` "json") or of text, for lines of `logging` and of structlog.

    `secrets`: what is to be hidden now. `facts`: what the line is about, as it is made.
    """
    render = _as_json if kind == JSON else _as_text
    return ProcessorFormatter(
        foreign_pre_chain=[structlog.contextvars.merge_contextvars, _with_extra],
        processors=[
            structlog.processors.format_exc_info,
            lambda _, __, line: render(line["_record"], _about(line, facts()), secrets()),
        ],
        use_get_message=True,
    )


def to_stream(stream: Any, formatter: logging.Formatter) -> logging.Handler:
    """A handler that writes to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    return handler


def adopt_structlog() -> None:
    """Let what is logged by structlog go the way of `logging`, unless somebody has configured it otherwise."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _with_extra(_: Any, __: str, line: _Line) -> _Line:
    """What was given as `extra`."""
    for name, value in vars(line["_record"]).items():
        if name not in _OF_RECORD and not name.startswith("_"):
            line[name] = value
    return line


def _about(line: _Line, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The line's own words, what it is about, and what else it was given, which hides nothing of these."""
    given = {name: value for name, value in line.items() if name not in facts and not name.startswith("_")}
    return {"event": given.pop("event", ""), **facts, **given}


def _as_json(record: logging.LogRecord, about: dict[str, Any], secrets: Masker) -> str:
    told = _plain({name: value for name, value in about.items() if name not in _NEVER})
    told = secrets.value(told) if secrets else told
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    head = {"time": moment, "level": record.levelname, "logger": record.name, "event": told.pop("event")}
    return json.dumps({**head, "pid": record.process, **told})


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it; what it has not, as its `repr`."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(told, default=repr, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return {name: value if _is_plain(value) else repr(value) for name, value in told.items()}
    return plain


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int)


def _as_text(record: logging.LogRecord, about: dict[str, Any], secrets: Masker) -> str:
    moment = _clock.formatTime(record)
    event, *below = str(about["event"]), about.get("exception"), about.get("stack")
    pairs = " ".join(_pairs(about, event))
    head = f"{moment} {record.levelname} {record.process} {record.name}: {event}{f' [{pairs}]' if pairs else ''}"
    return secrets.text("\n".join([head, *(str(part) for part in below if part)]))


def _pairs(about: Mapping[str, Any], event: str) -> Iterator[str]:
    """What the line is about, but for what it says itself."""
    for name, value in about.items():
        is_said = name.endswith("_id") and str(value) in event
        if name not in _NOT_SHOWN and not is_said:
            yield f"{name.removesuffix('_id')}={value}"
