"""How large a workflow document may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a document (SPEC section 1). Sizes in bytes of UTF-8.

    `document_bytes` holds for the text as written and for the compact JSON of the document. `expanded_bytes` is what
    YAML aliases may make of a text while it is read, `depth` how deep lists and maps may be nested, `problems` how many
    problems are reported before the rest is only counted.
    """

    document_bytes: int = 1 << 20
    expanded_bytes: int = 4 << 20
    steps: int = 20_000
    depth: int = 100
    problems: int = 500


LIMITS = Limits()
