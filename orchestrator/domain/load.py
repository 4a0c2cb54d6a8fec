"""The text of a document to plain data: JSON or YAML, whichever it is."""

from __future__ import annotations

import re
from typing import Any

from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.loading.decode import decode
from orchestrator.domain.loading.faults import refused
from orchestrator.domain.loading.json_text import NotJson, load_json
from orchestrator.domain.loading.yaml_text import load_yaml

# Text whose author meant JSON: what stands in its first bracket is not how YAML is written by hand.
_JSON_LIKE = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:["\[{\]]|-?\d|$))')


def load_text(source: str | bytes, *, limits: Limits = LIMITS) -> Any:
    """The value of a YAML or JSON text, as JSON has it: maps with text keys, lists, text, numbers, booleans, null.

    A text that begins as JSON does (`{"`, `[1`) or is JSON is read strictly as JSON (RFC 8259), everything else as YAML
    1.2, where an unquoted scalar means what it means in JSON and otherwise is text: dates, `yes`, `on`, `010` stay as
    they are written. Time and memory are bounded by `limits`. Raises `InvalidDefinition` with one problem, which says
    line and column.
    """
    text = decode(source, limits)
    if not text.strip():
        raise refused("it is empty")
    try:
        return load_json(text, limits)
    except NotJson as not_json:
        if _JSON_LIKE.match(text):
            raise not_json.error from not_json
    return load_yaml(text, limits)
