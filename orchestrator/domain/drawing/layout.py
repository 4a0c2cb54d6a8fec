"""Where each step of a plan goes in a picture: a column for each depth, and an order with few crossings in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from orchestrator.domain.graph import Plan

_SWEEPS = 6
# An edge over many columns gets a waypoint in each, so that it goes around the steps there; unless that gets too much.
_MOST_WAYPOINTS = 10_000
_WAYPOINT = 0.15  # of a row


@dataclass(slots=True)
class Item:
    """A step (`position`), or a waypoint of an edge (None). `y` is where its middle is, in rows."""

    column: int
    position: int | None
    before: list[Item] = field(default_factory=list, repr=False)
    after: list[Item] = field(default_factory=list, repr=False)
    y: float = 0.0

    @property
    def size(self) -> float:
        """Rows it takes."""
        return _WAYPOINT if self.position is None else 1.0


@dataclass(frozen=True, slots=True)
class Route:
    """An edge: from its source over its waypoints to its dependant."""

    source: int
    dependant: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """`columns` hold their items from the top down; no two steps of a column are nearer than one row."""

    columns: list[list[Item]]
    routes: list[Route]

    @property
    def height(self) -> float:
        return 1 + max((column[-1].y for column in self.columns if column), default=0.0)


def lay_out(plan: Plan) -> Layout:
    """The layout of a plan's steps; its handlers are not in it."""
    return lay_out_graph([step.sources for step in plan.steps])


def lay_out_graph(sources: Sequence[Sequence[int]]) -> Layout:
    """The layout of any graph: of each node, by its position, the positions of its sources, which are lower."""
    column = _columns(sources)
    items = [Item(column[position], position) for position in range(len(sources))]
    columns: list[list[Item]] = [[] for _ in range(max(column, default=-1) + 1)]
    for item in items:
        columns[item.column].append(item)
    routes = _routes(sources, items, columns)
    _order(columns)
    _place(columns)
    return Layout(columns, routes)


def _columns(sources: Sequence[Sequence[int]]) -> list[int]:
    """Each node's depth, by position."""
    depth: list[int] = []
    for above in sources:
        depth.append(1 + max((depth[source] for source in above), default=-1))
    return depth


def _routes(graph: Sequence[Sequence[int]], items: Sequence[Item], columns: list[list[Item]]) -> list[Route]:
    pairs = [(source, position) for position, sources in enumerate(graph) for source in sources]
    waypoints = sum(items[dependant].column - items[source].column - 1 for source, dependant in pairs)
    routes = []
    for source, dependant in pairs:
        above, below = items[source], items[dependant]
        way = _waypoints(above, below, columns) if waypoints <= _MOST_WAYPOINTS else []
        route = (above, *way, below)
        for first, second in pairwise(route):
            first.after.append(second)
            second.before.append(first)
        routes.append(Route(source, dependant, route))
    return routes


def _waypoints(above: Item, below: Item, columns: list[list[Item]]) -> list[Item]:
    way = [Item(column, None) for column in range(above.column + 1, below.column)]
    for item in way:
        columns[item.column].append(item)
    return way


def _order(columns: list[list[Item]]) -> None:
    """Sort each column by where the neighbours of its items are, forth and back (the barycentre method)."""
    _number(columns)
    for column, forth in _sweeps(columns):
        column.sort(key=lambda item: _middle(item, forth))
        _number([column])


def _number(columns: list[list[Item]]) -> None:
    for column in columns:
        for row, item in enumerate(column):
            item.y = float(row)


def _sweeps(columns: list[list[Item]]) -> Iterator[tuple[list[Item], bool]]:
    """Every column again and again, forth (True) and back."""
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        yield from ((column, forth) for column in (columns if forth else reversed(columns)))


def _middle(item: Item, forth: bool) -> float:
    """Where its neighbours on the side the sweep comes from are; where it is itself when it has none."""
    neighbours = item.before if forth else item.after
    return sum(other.y for other in neighbours) / len(neighbours) if neighbours else item.y


def _place(columns: list[list[Item]]) -> None:
    """Move items towards their neighbours without changing the order in any column."""
    for column, forth in _sweeps(columns):
        wanted = [_middle(item, forth) for item in column]
        for item, y in zip(column, _apart(column, wanted), strict=True):
            item.y = y
    top = min((item.y for column in columns for item in column), default=0.0)
    for column in columns:
        for item in column:
            item.y -= top


def _apart(column: Sequence[Item], wanted: Sequence[float]) -> list[float]:
    """Places that do not overlap, in the same order and as near to the wanted ones as can be.

    Without the room the items take this is fitting an ascending line: neighbours that want to pass each other meet at
    the mean of what they want (pool adjacent violators).
    """
    room = [0.0]
    for above, below in pairwise(column):
        room.append(room[-1] + (above.size + below.size) / 2)
    pools: list[tuple[float, int]] = []  # the mean of what a pool wants, and how many are in it
    for want, taken in zip(wanted, room, strict=False):
        mean, count = want - taken, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean = (other * others + mean * count) / (others + count)
            count += others
        pools.append((mean, count))
    places = [mean for mean, count in pools for _ in range(count)]
    return [place + taken for place, taken in zip(places, room, strict=False)]
