"""Writes docs/keys.md from the JSON Schema of documents (orchestrator/domain/definition_schema.py): `make docs`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.domain.definition_schema import definition_schema

_TITLES = {
    "step": "A step",
    "edge": "An edge of `depends_on`",
    "with_items": "`with_items` as a map",
    "retry": "`retry`",
    "wait_for": "`wait_for`",
    "approval": "`approval`",
    "cache": "`cache`",
    "handler": "Lifecycle handlers and `compensate`",
    "defaults": "`defaults`",
}
PAGE = """\
# Keys of a document

Made from the JSON Schema of the format by `make docs`; [the workflow document](definition.md) tells what they
mean together. `orchestrator validate --schema` prints the schema for an editor; `GET /api/v1/schema`
serves it. A key that may be null is as good as missing when it is.

{parts}
"""
_NAMES = {"object": "map", "array": "list", "string": "text", "boolean": "true or false", "integer": "whole number"}


def page() -> str:
    """The whole page."""
    schema = definition_schema()
    parts = [_part("The document", schema)]
    parts += [_part(title, schema["$defs"][name]) for name, title in _TITLES.items()]
    assert set(_TITLES) == set(schema["$defs"])
    return PAGE.format(parts="\n\n".join(parts))


def _part(title: str, schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    lines = [f"## {title}", "", "| key | takes | |", "|---|---|---|"]
    for key, told in schema["properties"].items():
        more = " **Needed.**" if key in needed else ""
        lines.append(
            f"| `{key}` | {', or '.join(_takes(told))} | {told['description'].replace('|', chr(92) + '|')}{more} |"
        )
    return "\n".join(lines)


def _takes(shape: Mapping[str, Any]) -> Iterator[str]:
    """What fits, in words; null, which most keys take, is left out."""
    if "anyOf" in shape:
        for one in shape["anyOf"]:
            yield from _takes(one)
        return
    if "$ref" in shape:
        name = shape["$ref"].rsplit("/", 1)[1]
        yield f"[a map](#{_anchor(name)})"
        return
    if "enum" in shape:
        yield ", ".join(
            f"`{one}`" if isinstance(one, str) else f"`{json.dumps(one)}`" for one in shape["enum"] if one is not None
        )
        return
    if "const" in shape:
        yield f"`{shape['const']}`".lower()
        return
    kinds = shape.get("type", ("anything",))
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        if kind != "null":
            yield _NAMES.get(kind, kind) + _bounds(shape, kind)


def _bounds(shape: Mapping[str, Any], kind: str) -> str:
    if kind in ("number", "integer"):
        least, most = shape.get("minimum", shape.get("exclusiveMinimum")), shape.get("maximum")
        said = [f"from {least:,}" if least is not None else "", f"to {most:,}" if most is not None else ""]
        return " " + " ".join(filter(None, said)) if any(said) else ""
    if kind == "string" and "maxLength" in shape:
        return f" of up to {shape['maxLength']:,} characters"
    if kind == "array" and "items" in shape:
        return f" of {' or '.join(dict.fromkeys(_takes(shape['items'])))}"
    return ""


def _anchor(name: str) -> str:
    return "".join(one for one in _TITLES[name].lower().replace(" ", "-") if one not in "`,")


if __name__ == "__main__":
    Path(__file__).with_name("keys.md").write_text(page())
