"""How large a workflow document may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a document (docs/configuration.md). Sizes in bytes of UTF-8.

    `document_bytes` holds for the text as written and for the compact JSON of the document, `depth` is how deep lists
    and maps may be nested, `problems` how many problems are reported before the rest is only counted.
    """

    document_bytes: int = 1 << 20
    steps: int = 20_000
    depth: int = 100
    problems: int = 500

    @property
    def expanded_bytes(self) -> int:
        """What YAML aliases may make of a text while it is read."""
        return 4 * self.document_bytes

    @property
    def expression_words(self) -> int:
        """How many words and signs the different expressions of a document may have: what reading them takes."""
        return self.document_bytes // 4


LIMITS = Limits()
