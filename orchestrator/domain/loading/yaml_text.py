"""YAML 1.2 to the data JSON can hold, event by event, so that every limit holds before memory is taken.

No tags, no merge keys, no second document, every key once. An alias is the anchored value itself, counted as often as
it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.faults import place, refused, refused_at, too_deep, unstorable
from orchestrator.domain.loading.scalars import resolve
from orchestrator.domain.paths import join, quoted
from orchestrator.errors import InvalidDefinition

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Read they would be of no use here, and in great number they keep the parser busy for minutes.
_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)


def load_yaml(text: str, limits: Limits) -> Any:
    """The one document in `text`; raises `InvalidDefinition`."""
    directive = _TAG_DIRECTIVE.search(text)
    if directive is not None:
        raise refused_at(text, directive.start(), "tag directives are not read", hint="leave it out")
    reader = _Reader(limits)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            reader.read(event)
    except yaml.YAMLError as error:
        raise _syntax(text, error) from error
    except RecursionError as error:
        raise refused(too_deep(limits.depth)) from error
    if not reader.documents:
        raise refused("it is empty")
    return reader.document


def _syntax(text: str, error: yaml.YAMLError) -> InvalidDefinition:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        return refused(f"it is not valid YAML: {said}", line=line, column=column)
    offset = getattr(error, "position", None)
    line, column = place(text, offset) if isinstance(offset, int) else (0, 0)
    said = getattr(error, "reason", None) or str(error)
    character = getattr(error, "character", None)
    shown = f" (U+{character:04X})" if isinstance(character, int) and character > 0 else ""
    return refused(f"it is not valid YAML: {said}{shown}", line=line, column=column)


@dataclass(slots=True)
class _Open:
    """An open list or map. `place` is where in the one around it it stands, `weight` what was read before it, `height`
    how deep its parts go."""

    value: list[Any] | dict[str, Any]
    place: str | int | None
    anchor: str | None
    weight: int
    height: int = 1
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Any
    weight: int
    height: int


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.document: Any = None
        self.documents = 0
        self.weight = 0
        self.open: list[_Open] = []
        self.anchors: dict[str, _Anchored | None] = {}  # None while the anchored value is still open
        self.kinds: dict[type, Callable[[Any], None]] = {
            yaml.DocumentStartEvent: self._document,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.SequenceStartEvent: self._list,
            yaml.MappingStartEvent: self._map,
            yaml.SequenceEndEvent: self._close,
            yaml.MappingEndEvent: self._close,
        }

    def read(self, event: yaml.Event) -> None:
        handle = self.kinds.get(type(event))
        if handle is not None:
            handle(event)

    def _document(self, event: yaml.DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._refused(event, "a second document begins here; a file holds one workflow")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text: str = event.value
        self._no_tag(event)
        self._weigh(event, 1 + len(text))
        message = unstorable(text)
        if message is not None:
            raise self._refused(event, message)
        frame = self.open[-1] if self.open else None
        plain = event.implicit[0]
        if frame is not None and frame.key is None and isinstance(frame.value, dict):
            self._key(event, frame, text, plain)
            value: Any = text
        else:
            value = self._resolved(event, text) if plain else text
            self._put(event, value, 0)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1 + len(text), 0)

    def _resolved(self, event: yaml.ScalarEvent, text: str) -> Any:
        try:
            return resolve(text)
        except ValueError as error:
            raise self._refused(event, str(error), hint="put it in quotes if it is a text") from error

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise self._refused(event, f"there is no anchor '&{event.anchor}' above this alias")
        anchored = self.anchors[event.anchor]
        if anchored is None:
            raise self._refused(event, f"the value of '&{event.anchor}' holds itself")
        self._weigh(event, anchored.weight)
        frame = self.open[-1] if self.open else None
        if frame is not None and frame.key is None and isinstance(frame.value, dict):
            if not isinstance(anchored.value, str):
                raise self._refused(event, "a key must be a text")
            self._key(event, frame, anchored.value, plain=False)
        else:
            self._put(event, anchored.value, anchored.height)

    def _list(self, event: yaml.SequenceStartEvent) -> None:
        self._enter(event, [])

    def _map(self, event: yaml.MappingStartEvent) -> None:
        self._enter(event, {})

    def _enter(self, event: Any, value: list[Any] | dict[str, Any]) -> None:
        self._no_tag(event)
        frame = _Open(value, self._place(), event.anchor, self.weight)
        self._put(event, value, 1)
        self._weigh(event, 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.open.append(frame)

    def _close(self, _: yaml.Event) -> None:
        frame = self.open.pop()
        if frame.anchor is not None:
            self.anchors[frame.anchor] = _Anchored(frame.value, self.weight - frame.weight, frame.height)
        if self.open:
            self.open[-1].height = max(self.open[-1].height, frame.height + 1)

    def _key(self, event: Any, frame: _Open, text: str, plain: bool) -> None:
        if plain and text == "<<":
            hint = "write its keys out, or use 'defaults' for what all steps share"
            raise self._refused(event, "merge keys ('<<') are not part of YAML 1.2", hint=hint)
        if plain and not text:
            raise self._refused(event, "a key is missing before ':'")
        line = event.start_mark.line + 1
        if text in frame.lines:
            first = frame.lines[text]
            raise self._refused(event, f"the key {quoted(text)} stands twice in this map (first in line {first})")
        frame.lines[text] = line
        frame.key = text

    def _put(self, event: yaml.Event, value: Any, height: int) -> None:
        """Place a value where it belongs; `height` is how many levels it adds."""
        if len(self.open) + height > self.limits.depth:
            raise self._refused(event, too_deep(self.limits.depth))
        if not self.open:
            self.document = value
            return
        frame = self.open[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            raise self._refused(event, "a key must be a text, not a list or a map")
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _no_tag(self, event: Any) -> None:
        if event.tag is not None:
            shown = quoted(event.tag.replace("tag:yaml.org,2002:", "!!"))[1:-1]
            raise self._refused(event, f"tags such as '{shown}' are not read", hint="leave it out")

    def _weigh(self, event: yaml.Event, weight: int) -> None:
        self.weight += weight
        if self.weight > self.limits.expanded_bytes:
            limit = self.limits.expanded_bytes
            raise self._refused(event, f"with its aliases written out it is larger than {limit} bytes")

    def _refused(self, event: Any, message: str, *, hint: str | None = None) -> InvalidDefinition:
        mark = event.start_mark
        path = "" if len(self.open) >= self.limits.depth else join(self._keys())
        return refused(message, line=mark.line + 1, column=mark.column + 1, path=path, hint=hint)

    def _keys(self) -> list[str | int]:
        places = [frame.place for frame in self.open] + [self._place()]
        return [place for place in places if place is not None]

    def _place(self) -> str | int | None:
        """Where in the innermost list or map the next value goes."""
        if not self.open:
            return None
        frame = self.open[-1]
        return len(frame.value) if isinstance(frame.value, list) else frame.key
