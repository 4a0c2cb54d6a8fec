"""Bytes to text: UTF-8, within the limits, and what else it looks like when it is not."""

from __future__ import annotations

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.faults import UNSTORABLE, refused, refused_at
from orchestrator.errors import InvalidDefinition

_BOM = "\ufeff"
# Longest first: the first two bytes of UTF-32-LE's mark are that of UTF-16-LE.
_FOREIGN = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def decode(source: str | bytes, limits: Limits) -> str:
    """The text of a document, a leading UTF-8 byte order mark left out; raises `InvalidDefinition`."""
    check_size(source, limits)
    text = source if isinstance(source, str) else _from_bytes(source)
    text = text.removeprefix(_BOM)
    found = UNSTORABLE.search(text)
    if found is not None:
        raise refused_at(text, found.start(), _bad_character(found.group()))
    return text


def check_size(source: str | bytes, limits: Limits) -> None:
    """Refuse what is too large before anything else is done with it."""
    size = len(source)
    if isinstance(source, str) and size <= limits.document_bytes < 4 * size:
        size = len(source.encode("utf-8", "surrogatepass"))
    if size > limits.document_bytes:
        raise refused(f"it is larger than {limits.document_bytes} bytes, the limit for a document")


def _from_bytes(source: bytes) -> str:
    for mark, name in _FOREIGN:
        if source.startswith(mark):
            raise _not_utf8(f"it is written in {name}")
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise _undecodable(source, error) from error


def _undecodable(source: bytes, error: UnicodeDecodeError) -> InvalidDefinition:
    if source[:2].count(0) == 1:
        return _not_utf8("it is written in UTF-16")
    before = source[: error.start].decode()
    return refused_at(before, len(before), f"byte 0x{source[error.start]:02x} is not valid UTF-8", hint=_HINT)


def _not_utf8(message: str) -> InvalidDefinition:
    return refused(message, hint=_HINT)


_HINT = "save the document as UTF-8"


def _bad_character(character: str) -> str:
    if character == "\x00":
        return "the character NUL does not belong in a document (is it written in UTF-16, or not a text?)"
    return f"half of a surrogate pair (U+{ord(character):04X}) is no character"
