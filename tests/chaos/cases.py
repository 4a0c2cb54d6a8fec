"""Workflows of every kind, and what an undisturbed run of each comes to, which no fault may change.

A scenario of another kind is one more function in `CASES` that gives a `Case`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference import Reference

Document = dict[str, Any]
PLANTED = "{{ secrets.planted }}"
POOL, SLOTS = "chaos", 2
LIMIT = 2  # of runs of `turns`


@dataclass(frozen=True)
class Case:
    """`documents`: the workflow, and those it runs. `steps`: how each ends; `output`: the run's, None for any.

    `sends`: events for it, and `decides`: steps for somebody to approve. `calls`: at most so many attempts of a step
    that were not lost. `undone`: steps that are undone, the last first. `acts`: what an operator does to it; one that
    is canceled may end as it would have, or as canceled. `of_code`: the workflow is a function that workers register.
    """

    documents: Sequence[Document]
    status: str
    steps: Mapping[str, str]
    output: Any = None
    input: Any = None
    sends: Mapping[str, Any] = field(default_factory=dict)
    decides: Sequence[str] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)
    undone: Sequence[str] = ()
    acts: Sequence[str] = ()
    of_code: str = ""

    @property
    def name(self) -> str:
        return self.of_code or str(self.documents[0]["name"])


def work(name: str, *sources: str, **keys: Any) -> Document:
    """A step that adds what its sources gave; what it is given beside is its function's."""
    given = {key: keys.pop(key) for key in ("n", "seconds", "fails", "lines", "secret") if key in keys}
    if sources:
        given["of"] = [f"{{{{ steps.{source}.output.n }}}}" for source in sources]
        keys.setdefault("depends_on", list(sources))
    return {"name": name, "function": "c.work", "input": given, **keys}


def _all(steps: Sequence[Document], status: str = "succeeded") -> dict[str, str]:
    return {step["name"]: status for step in steps}


THIRD: Document = {"name": "third", "steps": [work("leaf", seconds=0.1)], "output": "{{ steps.leaf.output.n }}"}


def chain(chance: random.Random) -> Case:
    """Links that take no time, and some that do."""
    length = chance.randint(4, 9)
    steps = [
        work(f"s{i}", *([f"s{i - 1}"] if i else []), seconds=chance.choice([0, 0, 0.05, 0.3]), lines=2)
        for i in range(length)
    ]
    last = f"s{length - 1}"
    document = {"name": "chain", "steps": steps}
    return Case([document], "succeeded", _all(steps), {last: {"n": length}}, lines=dict.fromkeys(_all(steps), 2))


def fan(chance: random.Random) -> Case:
    """Many short steps between two."""
    width = chance.randint(10, 40)
    middle = [work(f"m{i}", "first", seconds=chance.choice([0, 0, 0, 0.1])) for i in range(width)]
    steps = [work("first"), *middle, work("last", *(step["name"] for step in middle))]
    return Case([{"name": "fan", "steps": steps}], "succeeded", _all(steps), {"last": {"n": 2 * width + 1}})


def retries(chance: random.Random) -> Case:
    """One that fails twice, one that never succeeds and is handled, one that is told of it."""
    steps = [
        work("flaky", fails=2, retry={"max_attempts": 3, "delay": 0.3}),
        work("hopeless", fails=10**6, retry={"max_attempts": 2, "delay": 0.2}, secret=PLANTED),
        work("caught", n=7, depends_on=[{"step": "hopeless", "on": "failure"}], lines=1, secret=PLANTED),
        work("never", depends_on=["hopeless"]),
        work("after", "flaky", "caught"),
    ]
    ends = _all(steps) | {"hopeless": "failed", "never": "upstream_failed"}
    calls = {"flaky": 3, "hopeless": 2}
    return Case([{"name": "retries", "steps": steps, "output": "{{ steps.after.output.n }}"}], "succeeded", ends, 9,
                calls=calls, lines={"caught": 1})  # fmt: skip


def below(chance: random.Random) -> Case:
    """Two runs of another workflow, one of which runs a third."""
    second = {
        "name": "second",
        "steps": [{"name": "deep", "workflow": "third"}, work("own")],
        "output": "{{ steps.deep.output + steps.own.output.n }}",
    }
    steps = [
        {"name": "one", "workflow": "second"},
        {"name": "two", "workflow": "third", "depends_on": ["one"]},
        {
            "name": "sum",
            "pass": True,
            "input": "{{ steps.one.output + steps.two.output }}",
            "depends_on": ["one", "two"],
        },
    ]
    document = {"name": "below", "steps": steps}
    return Case([document, second, THIRD], "succeeded", _all(steps), {"sum": 3}, children={"one": 1, "two": 1})


def sleeps(chance: random.Random) -> Case:
    steps = [{"name": "nap", "sleep": round(chance.uniform(0.2, 2), 2)}, work("awake", depends_on=["nap"])]
    return Case([{"name": "sleeps", "steps": steps}], "succeeded", _all(steps), {"awake": {"n": 1}})


def events(chance: random.Random) -> Case:
    """An event that comes before, during or after the wait for it, and a decision."""
    steps = [
        work("first", seconds=chance.choice([0, 0.4])),
        {"name": "event", "wait_for": {"event": "go"}, "depends_on": ["first"]},
        {"name": "decision", "wait_for": {"approval": {"title": "Go on?"}}, "depends_on": ["first"]},
        work("last", depends_on=["event", "decision"], n=3),
    ]
    token = chance.randint(1, 10**9)
    document = {"name": "events", "steps": steps, "output": "{{ steps.event.output }}"}
    return Case([document], "succeeded", _all(steps), token, sends={"go": token}, decides=["decision"])


def items(chance: random.Random) -> Case:
    """Some at a time; every fifth fails at first."""
    count = chance.randint(5, 25)
    each = {"n": "{{ item }}", "fails": "{{ 1 if item % 5 == 0 else 0 }}"}
    fanned = {
        "name": "each",
        "function": "c.work",
        "input": each,
        "with_items": {"items": "{{ range(input.count) | list }}", "concurrency": chance.choice([1, 4, 100])},
        "retry": {"max_attempts": 2, "delay": 0.1},
    }
    document = {"name": "items", "steps": [fanned], "output": "{{ steps.each.output | map(attribute='n') | list }}"}
    return Case([document], "succeeded", {"each": "succeeded"}, list(range(count)), input={"count": count})


def pooled(chance: random.Random) -> Case:
    steps = [work(f"p{i}", seconds=0.1, pool=POOL, slots=chance.choice([1, 1, 2])) for i in range(5)]
    return Case([{"name": "pooled", "steps": steps}], "succeeded", _all(steps))


def turns(chance: random.Random) -> Case:
    """Not more than two runs of it at a time."""
    steps = [work("a", seconds=0.2), work("b", "a")]
    document = {"name": "turns", "steps": steps, "max_active_runs": LIMIT}
    return Case([document], "succeeded", _all(steps), {"b": {"n": 2}})


def saga(chance: random.Random) -> Case:
    """What was done is undone, the last first."""
    steps = [
        work("a", compensate={"function": "c.work", "input": {"n": 1}}),
        work("b", "a", compensate={"function": "c.work", "input": {"n": 2}}),
        work("c", "b", fails=10**6),
    ]
    handler = {"function": "c.work", "input": {"n": 5}}
    document = {"name": "saga", "steps": steps, "on_failure": handler}
    return Case([document], "failed", _all(steps) | {"c": "failed"}, undone=["a", "b"])


def cache(chance: random.Random) -> Case:
    """A result that other runs may have made."""
    steps = [work("kept", n=4, seconds=0.1, cache={"key": str(chance.randint(1, 3)), "ttl": 2}), work("next", "kept")]
    return Case([{"name": "cache", "steps": steps}], "succeeded", _all(steps), {"next": {"n": 5}})


def published(chance: random.Random) -> Case:
    """Variables set by steps, in order; a condition on them; a deadline far away."""
    steps = [
        work("one", publish={"seen": "{{ result.n }}"}),
        work("two", "one", publish={"seen": "{{ vars.seen + result.n }}"}),
        work("no", depends_on=["two"], when="vars.seen > 100"),
    ]
    document = {"name": "published", "vars": {"seen": 0}, "steps": steps, "output": "{{ vars.seen }}", "timeout": 3600}
    return Case([document], "succeeded", _all(steps) | {"no": "skipped"}, 3)


def paused(chance: random.Random) -> Case:
    """An operator pauses it and lets it go on; a child goes with it."""
    steps = [
        work("a", seconds=0.2),
        {"name": "down", "workflow": "third", "depends_on": ["a"]},
        work("b", depends_on=["down"]),
    ]
    document = {"name": "paused", "steps": steps}
    return Case([document, THIRD], "succeeded", _all(steps), {"b": {"n": 1}}, acts=["pause", "resume"])


def canceled(chance: random.Random) -> Case:
    """An operator cancels it, gracefully or by force, wherever it is."""
    steps = [
        work("a", seconds=chance.choice([0, 0.3])),
        {"name": "down", "workflow": "third", "depends_on": ["a"]},
        {"name": "nap", "sleep": 0.5, "depends_on": ["a"]},
        work("each", depends_on=["a"], seconds=0.1, with_items={"items": [1, 2, 3, 4], "concurrency": 2}),
        work("end", depends_on=["down", "nap", "each"]),
    ]
    document = {"name": "canceled", "steps": steps, "on_cancel": {"function": "c.work", "input": {"n": 1}}}
    return Case([document, THIRD], "succeeded", {}, acts=[chance.choice(["cancel", "force"])])


def code(chance: random.Random) -> Case:
    """A function (tests/chaos/steps.py), which is replayed as often as it takes."""
    count, token = chance.randint(2, 8), chance.randint(1, 10**9)
    total = 1 + 2 + 3 + sum(range(count)) + 1
    input, sends = {"count": count}, {"go": token}
    return Case(
        [THIRD], "succeeded", {"driver": "succeeded"}, {"n": total, "told": token}, input, sends, of_code="code"
    )


def tasks(chance: random.Random) -> Case:
    """A task of a plain Celery worker. What is lost of it shows by its timeout alone."""
    numbers = [chance.randint(1, 10**6) for _ in range(3)]
    task = {
        "name": "sum",
        "function": "celery:shop.sum",
        "queue": "shop",
        "input": {"numbers": "{{ input.numbers }}"},
        "timeout": 5,
        "retry": {"max_attempts": 100, "delay": 0.2},
    }
    document = {"name": "tasks", "steps": [task, work("after", depends_on=["sum"])], "output": "{{ steps.sum.output }}"}
    ends = {"sum": "succeeded", "after": "succeeded"}
    return Case([document], "succeeded", ends, sum(numbers), input={"numbers": numbers})


def odd(chance: random.Random) -> Case:
    """A function that raises what cannot be pickled, nor printed."""
    steps: list[Document] = [{"name": "odd", "function": "c.odd", "on_error": "ignore"}, work("on")]
    return Case([{"name": "odd", "steps": steps}], "succeeded", {"odd": "failed", "on": "succeeded"}, calls={"odd": 1})


def graph(chance: random.Random) -> Case:
    """Any graph, worked out by the reference."""
    steps: list[Document] = []
    hopeless: dict[str, list[str]] = {}
    for i in range(chance.randint(3, 8)):
        name, above = f"g{i}", [step["name"] for step in steps]
        step = work(name, seconds=chance.choice([0, 0, 0.05]))
        if chance.random() < 0.3:
            step["input"]["fails"] = 10**6
            hopeless[name] = ["failed"] * 9
        if chance.random() < 0.3:
            step["on_error"] = chance.choice(["ignore", "continue"])
        if above:
            sources = chance.sample(above, chance.randint(1, min(3, len(above))))
            ends = ["success", "success", "failure", "complete"]
            step["depends_on"] = [{"step": source, "on": chance.choice(ends)} for source in sources]
            step["join"] = chance.choice(["all", "all", "any"])
        steps.append(step)
    document = {"name": f"graph-{chance.getrandbits(40):x}", "steps": steps}
    reference = Reference(document, hopeless)
    while ready := [name for name, status in reference.status.items() if status == "ready"]:
        reference.attempt(ready[0])
    return Case([document], str(reference.run), {name: end for name, (end, _) in reference.ends.items()})


def large(chance: random.Random) -> Case:
    """Outputs that lie in the blob store, passed on and looked into, and a list of them."""
    size, count = chance.randint(70_000, 300_000), chance.randint(2, 4)
    each = {"function": "c.big", "input": {"size": size, "of": "{{ item }}"}}
    steps: list[Document] = [
        {"name": "first", "function": "c.big", "input": {"size": size}},
        {"name": "next", "depends_on": ["first"], **each, "input": {"size": 10, "of": "{{ steps.first.output }}"}},
        {"name": "each", "with_items": ["a"] * count, **each},
        {"name": "all", "depends_on": ["each"], **each, "input": {"size": 10, "of": "{{ steps.each.output }}"}},
        {"name": "never", "depends_on": ["first"], "pass": True, "when": "steps.first.output[:2] != '0 '"},
    ]
    output = {
        "next": "{{ steps.next.output }}",
        "all": "{{ steps.all.output }}",
        "it": "{{ steps.first.output }}",
    }
    gives = {"next": f"{size} ".ljust(10, "x"), "all": f"{size * count} ".ljust(10, "x"), "it": "0 ".ljust(size, "x")}
    return Case(
        [{"name": "large", "steps": steps, "output": output}], "succeeded", _all(steps) | {"never": "skipped"}, gives
    )


CASES: tuple[Callable[[random.Random], Case], ...] = (
    chain,
    fan,
    retries,
    below,
    sleeps,
    events,
    items,
    pooled,
    turns,
    saga,
    cache,
    published,
    paused,
    canceled,
    code,
    tasks,
    odd,
    large,
    graph,
)
