"""Names that are not taken yet."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Gives each thing a name of its own: the wanted one, or with a number behind it."""

    def __init__(self, taken: Iterable[str] = (), *, first: int = 2, between: str = "_") -> None:
        self.taken = set(taken)
        self.first, self.between = first, between
        self.numbers: dict[str, int] = {}  # the next to try: to count from the beginning each time would take too long

    def free(self, wanted: str) -> str:
        """A name that nothing had before; it is taken from now on."""
        name = wanted
        while name in self.taken:
            number = self.numbers.get(wanted, self.first)
            self.numbers[wanted] = number + 1
            name = f"{wanted}{self.between}{number}"
        self.taken.add(name)
        return name
