"""Whether a step comes after another: asked for many pairs at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.domain.definition import Step
from orchestrator.domain.graph import depths

# Steps asked about at a time, one bit each: 20,000 steps then take a few megabytes.
_BATCH = 1024

Pair = tuple[str, str]


def not_upstream(steps: Sequence[Step], pairs: Iterable[Pair]) -> set[Pair]:
    """The pairs (step, source) whose `source` is not somewhere above `step`.

    Pairs with a step on or behind a cycle, or with an unknown one, are passed over.
    """
    above = {step.name: {edge.step for edge in step.depends_on} for step in steps}
    asked = {pair for pair in pairs if pair[1] not in above.get(pair[0], ())}
    if not asked:
        return set()
    order = depths([step for step in steps if above[step.name] <= above.keys()])
    open_pairs = [pair for pair in asked if pair[0] in order and pair[1] in above]
    sources = sorted({source for _, source in open_pairs})
    missed: set[Pair] = set()
    for start in range(0, len(sources), _BATCH):
        batch = {source: 1 << bit for bit, source in enumerate(sources[start : start + _BATCH])}
        masks = _masks(order, above, batch)
        missed |= {(step, source) for step, source in open_pairs if source in batch and not masks[step] & batch[source]}
    return missed


def _masks(order: Iterable[str], above: dict[str, set[str]], bits: dict[str, int]) -> dict[str, int]:
    """For each step, in an order where sources come first, the bits of all that is above it."""
    masks: dict[str, int] = {}
    for name in order:
        mask = 0
        for source in above[name]:
            mask |= masks[source] | bits.get(source, 0)
        masks[name] = mask
    return masks
