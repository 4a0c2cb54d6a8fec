"""An exception as data, whatever it is: user code's exceptions may be huge, unprintable or never stop printing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from time import monotonic, thread_time
from traceback import extract_tb
from types import FrameType, TracebackType
from typing import Any

MAX_MESSAGE = 10_000  # characters
_MAX_TRACEBACK = 20_000
_MAX_NAME = 200
_FRAMES = 30  # the innermost of each traceback
_CHAIN = 5  # exceptions that led to this one
# Seconds an exception may take to print itself: of processor time, as no message is to be lost because the machine
# stood still for a moment; and in all, where it waits for something.
_WORK, _PATIENCE = 1.0, 10.0

# Read through `type` and `BaseException` themselves: a class may override any of these names.
_NAME, _MODULE, _MRO = (vars(type)[name] for name in ("__name__", "__module__", "__mro__"))
_CAUSE, _CONTEXT, _SUPPRESS, _TRACEBACK = (
    vars(BaseException)[name] for name in ("__cause__", "__context__", "__suppress_context__", "__traceback__")
)


def describe_exception(error: BaseException) -> dict[str, Any]:
    """`type` (class name), `message` (<= 10,000 characters), `traceback` (<= 20,000) and `classes`.

    `classes` are the names of its class and their bases, and for those of a module that name too
    (`requests.exceptions.Timeout`): what `retry_on` and `abort_on` match. All texts can be stored: no NUL, no lone
    surrogates. Never raises, and takes at most about a second for each exception whose text Python code makes.
    """
    cls = type(error)
    message = _message(error)
    return {
        "type": class_name(cls),
        "message": message,
        "traceback": _clip(clean_text(_story(error, message), 8 * _MAX_TRACEBACK), _MAX_TRACEBACK),
        "classes": list(dict.fromkeys(name for base in _MRO.__get__(cls)[:50] for name in _names(base))),
    }


def clean_text(text: str, limit: int) -> str:
    """`text` as Postgres can store it, NUL and lone surrogates replaced, cut to `limit` (>= 100) characters."""
    if len(text) > limit:
        text = f"{text[: limit - 40]}... ({len(text)} characters)"
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def class_name(cls: type) -> str:
    return clean_text(str(_NAME.__get__(cls)), _MAX_NAME)


def _names(cls: type) -> Iterator[str]:
    if cls is object:
        return
    yield class_name(cls)
    module = _MODULE.__get__(cls)
    if type(module) is str and module != "builtins":
        yield clean_text(f"{module}.{class_name(cls)}", _MAX_NAME)


def _message(error: BaseException) -> str:
    try:
        text = str.__str__(_bounded(lambda: str(error)))
    except BaseException as failure:  # noqa: BLE001 - printing runs user code, whose every fault ends here
        return f"(its message cannot be shown: {class_name(type(failure))})"
    return clean_text(text, MAX_MESSAGE)


class TooLong(BaseException):
    """Not an `Exception`, so that the code it interrupts does not catch it."""


def _bounded(call: Callable[[], Any]) -> Any:
    """`call()`, interrupted when the Python code in it takes too long."""
    enough, deadline = thread_time() + _WORK, monotonic() + _PATIENCE

    def watch(frame: FrameType, event: str, arg: Any) -> Any:
        if thread_time() > enough or monotonic() > deadline:
            raise TooLong
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return call()
    finally:
        sys.settrace(before)


def _story(error: BaseException, message: str) -> str:
    """Tracebacks of the exceptions that led to `error`, its own last."""
    told = [_chapter(error, message)]
    for link, before in _before(error):
        told.append(f"\n{link}\n\n")
        told.append(_chapter(before, _message(before)[:1000]))
    return "".join(reversed(told))


def _before(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    seen = {id(error)}
    for _ in range(_CHAIN):
        link, before = _previous(error)
        if before is None or id(before) in seen:
            return
        seen.add(id(before))
        yield link, before
        error = before


def _previous(error: BaseException) -> tuple[str, BaseException | None]:
    cause = _CAUSE.__get__(error)
    if cause is not None:
        return "That caused:", cause
    context = None if _SUPPRESS.__get__(error) else _CONTEXT.__get__(error)
    return "While that was handled:", context


def _chapter(error: BaseException, message: str) -> str:
    name = class_name(type(error))
    return f"{_frames(_TRACEBACK.__get__(error))}{name}{': ' if message else ''}{message}\n"


def _frames(traceback: TracebackType | None) -> str:
    try:
        lines = extract_tb(traceback, limit=-_FRAMES).format()
    except Exception as failure:  # noqa: BLE001 - it reads source files through loaders of any kind
        return f"(its traceback cannot be shown: {class_name(type(failure))})\n"
    return "Traceback (most recent call last):\n" + "".join(lines) if lines else ""


def _clip(text: str, limit: int) -> str:
    """The beginning and, mostly, the end."""
    return text if len(text) <= limit else f"{text[: limit // 4]}\n...\n{text[5 - limit + limit // 4 :]}"
