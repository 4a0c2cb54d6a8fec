"""The values of `format` that are checked; any other is a note for people.

`date-time` and `date` as RFC 3339 has them, `uuid` as RFC 9562, `email` as far as an address can be told from what is
none: one `@` with something on both sides and no blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from jsonschema import FormatChecker

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:)(\d\d)(?:\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _holds(lambda: date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return False
    day, minute, second, zone = found.groups()
    # A leap second is a time of RFC 3339, though not of Python's.
    shown = f"{day}T{minute}{'59' if second == '60' else second}{zone.upper()}"
    return _holds(lambda: datetime.fromisoformat(shown))


def _holds(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except ValueError:
        return False
    return True


_FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
}


def _checker() -> FormatChecker:
    made = FormatChecker(formats=())
    made.checkers = {name: (_for_texts(check), ()) for name, check in _FORMATS.items()}
    return made


def _for_texts(check: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or check(value)


CHECKER = _checker()
