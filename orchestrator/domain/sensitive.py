"""Configuration that is shown: values whose keys say they are secret are masked, and kept when a mask comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.domain.masking import MASK

_SENSITIVE = re.compile(
    r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|credential|authorization",
    re.IGNORECASE,
)


def mask_sensitive(value: Any) -> Any:
    """`value` with `***` for whatever stands under a key such as `password`, `api_key` or `client_secret`."""
    if isinstance(value, Mapping):
        return {key: MASK if _hides(key, part) else mask_sensitive(part) for key, part in value.items()}
    return [mask_sensitive(part) for part in value] if isinstance(value, list) else value


def unmask(value: Any, stored: Any) -> Any:
    """`value` with what `stored` has in the place of each mask: what was shown can be sent back."""
    if isinstance(value, Mapping):
        known = stored if isinstance(stored, Mapping) else {}
        return {key: _unmasked(key, part, known) for key, part in value.items()}
    if isinstance(value, list):
        known_parts = stored if isinstance(stored, list) and len(stored) == len(value) else [None] * len(value)
        return [unmask(part, known) for part, known in zip(value, known_parts, strict=True)]
    return value


def _unmasked(key: str, part: Any, known: Mapping[str, Any]) -> Any:
    if part == MASK and _hides(key, known.get(key)):
        return known[key]
    return unmask(part, known.get(key))


def _hides(key: str, part: Any) -> bool:
    return part is not None and _SENSITIVE.search(key) is not None
