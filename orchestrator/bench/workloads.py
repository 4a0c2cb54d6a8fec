"""The workloads by name, with their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.bench.graphs import DIAMOND, ITEMS, Graph, chain, document, fan, items_document, layers
from orchestrator.errors import InvalidConfig, Problem

# What each does is told in docs/performance.md (page.py).
SIZES = {
    "W1": "20x50",  # runs x length
    "W2": "1000",  # width
    "W3": "500",  # runs
    "W4": "50",  # length
    "W5": "10000",  # items
    "W6": "100x100",  # layers x width
    "W7": "500",  # runs
    "W8": "1000",  # starts, each way
    "W9": "30",  # seconds
    "W10": "600",  # steps
}
GRAPHS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7")
LISTED = "W1"  # its statements are listed
AGAIN = "W6"  # is run a second time, for its memory
OURS = "ours"  # what we are called among peers
FILLED = ("W7", "W9")  # on a database that holds many other rows


@dataclass(frozen=True, slots=True)
class Workload:
    """`runs` runs of one graph, started at once. The step `join` is handed `joined` results.

    `items`: so many has the step `each`, which itself is not seen.
    """

    name: str
    size: str
    runs: int
    graph: Graph
    join: str | None = None
    joined: int = 0
    items: int = 0

    @property
    def steps(self) -> int:
        return self.runs * (len(self.graph) + (self.items - 1 if self.items else 0))

    def document(self, name: str) -> dict[str, Any]:
        """Its workflow under this name."""
        return items_document(name, self.items) if self.items else document(name, self.graph, self.join)


def graph_workload(name: str, size: str) -> Workload:
    """The workload of this name in GRAPHS at this size."""
    return _MAKERS[name](name, size)


def _chains(name: str, size: str) -> Workload:
    runs, length = _pair(size)
    return Workload(name, size, runs, chain(length))


def _fan(name: str, size: str) -> Workload:
    return Workload(name, size, 1, fan(int(size)), "join", int(size))


def _diamonds(name: str, size: str) -> Workload:
    return Workload(name, size, int(size), DIAMOND, "D", 2)


def _one_chain(name: str, size: str) -> Workload:
    return Workload(name, size, 1, chain(int(size)))


def _items(name: str, size: str) -> Workload:
    return Workload(name, size, 1, ITEMS, "join", int(size), int(size))


def _layers(name: str, size: str) -> Workload:
    return Workload(name, size, 1, layers(*_pair(size)))


_MAKERS: Mapping[str, Callable[[str, str], Workload]] = {
    "W1": _chains,
    "W2": _fan,
    "W3": _diamonds,
    "W4": _one_chain,
    "W5": _items,
    "W6": _layers,
    "W7": _diamonds,
}


def _pair(size: str) -> tuple[int, int]:
    first, second = size.split("x")
    return int(first), int(second)


def chosen(names: Iterable[str], size_sets: Iterable[str]) -> list[list[tuple[str, str]]]:
    """For each set of sizes (`W1=200x50,W2=5000`; what it leaves out is as in SIZES), the workloads to measure in it.

    What a set before it has measured at the same size is left out. Raises `InvalidConfig` with every fault.
    """
    names, problems, seen, sets = list(dict.fromkeys(names)), list[Problem](), set[tuple[str, str]](), []
    problems += [Problem(name, f"is not one of {', '.join(SIZES)}") for name in names if name not in SIZES]
    for text in list(size_sets) or [""]:
        sizes = SIZES | _read_sizes(text, problems)
        wanted = [(name, sizes[name]) for name in names if name in SIZES and (name, sizes[name]) not in seen]
        seen.update(wanted)
        sets.append(wanted)
    if problems:
        raise InvalidConfig(problems, "this cannot be measured")
    return sets


def _read_sizes(text: str, problems: list[Problem]) -> dict[str, str]:
    sizes = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if name not in SIZES:
            problems.append(Problem(name, f"is not one of {', '.join(SIZES)}"))
        elif not _fits(size, SIZES[name]):
            problems.append(Problem(name, f"a size is written like {SIZES[name]}, not '{size}'"))
        else:
            sizes[name] = size
    return sizes


def _fits(size: str, example: str) -> bool:
    numbers = size.split("x")
    plain = all(number.isascii() and number.isdigit() and int(number) > 0 for number in numbers)
    return plain and len(numbers) == len(example.split("x"))
