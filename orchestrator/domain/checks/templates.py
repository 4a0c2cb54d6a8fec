"""The syntax of every template and condition, and the names they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.checks.graph import edge_place
from orchestrator.domain.checks.names import Reader, check_names
from orchestrator.domain.checks.upstream import not_upstream
from orchestrator.domain.definition import Edge, Step, StepKind, WaitFor
from orchestrator.domain.expressions import References, read_expression, read_template, words
from orchestrator.domain.limits import Limits
from orchestrator.domain.paths import child
from orchestrator.errors import ExpressionError

RUN = frozenset({"input", "run", "config"})
STEP = RUN | {"vars", "steps"}
CALL = STEP | {"secrets"}
SUCCESS = STEP | {"result"}
FAILURE = STEP | {"error"}
EDGE = STEP | {"result", "error"}
AGAIN = EDGE | {"attempt"}
ITEM = frozenset({"item", "index"})

_ROOTS = {
    "publish": SUCCESS,
    "publish_on_failure": FAILURE,
    "queue": STEP,
    "timeout": STEP,
    "total_timeout": STEP,
    "sleep": STEP,
    "workflow": STEP,
}
# Nobody reads more.
_MOST_FAULTS = 1000

Place = Callable[[str], str]
Reads = Callable[[frozenset[str]], Reader]
Read = Callable[[str], References]


def check_templates(draft: Draft, findings: Findings, limits: Limits, *, edges_known: bool) -> None:
    """All templates. `edges_known`: no edge of the document was left out, so it can be told what is upstream."""
    checker = _Checker(draft, findings, limits.expression_words)
    for index, step in enumerate(draft.definition.steps):
        checker.step(index, step)
    for name, step in draft.definition.handlers.items():
        checker.handler(name, step)
    checker.value("vars", draft.definition.vars, Reader(RUN))
    checker.value("concurrency_key", draft.definition.concurrency_key, Reader(frozenset({"input"})))
    checker.value("output", draft.definition.output, Reader(STEP))
    if edges_known:
        checker.check_upstream()


class _Checker:
    """Gathers which step reads which; the reads are looked up in the graph together at the end.

    Equal texts are read once. All others together may have `words_left` words, for reading them takes long.
    """

    def __init__(self, draft: Draft, findings: Findings, most_words: int) -> None:
        self.draft, self.findings = draft, findings
        self.most_words = self.words_left = most_words
        self.known: dict[tuple[Read, str], References] = {}
        self.faults = 0
        self.reads: dict[tuple[str, str], list[tuple[str, str]]] = {}  # (step, what it reads) -> (path, its own name)

    def step(self, index: int, step: Step) -> None:
        def place(key: str) -> str:
            return self.draft.place(index, key)

        self._body(step, place, partial(Reader, step=step.name))
        if step.compensate is not None:
            self._body(step.compensate, lambda key: child(place("compensate"), key), Reader)
        if step.with_items is not None:
            within = ".items" if isinstance(self.draft.raw(index).get("with_items"), dict) else ""
            self.value(place("with_items") + within, step.with_items.items, Reader(STEP, step.name))
        for at, edge in enumerate(step.depends_on):
            if edge.when is not None:
                self._edge(edge, child(edge_place(self.draft, index, at), "when"))

    def handler(self, name: str, step: Step) -> None:
        others = frozenset(self.draft.definition.handlers) - {"on_finish"} if name == "on_finish" else frozenset()
        self._body(step, lambda key: self.draft.handler_place(name, key), partial(Reader, handlers=others))

    def _body(self, step: Step, place: Place, reads: Reads) -> None:
        called = step.kind is StepKind.FUNCTION
        roots = {"input": CALL if called else STEP} | _ROOTS
        if step.with_items is not None:
            roots |= {key: roots[key] | ITEM for key in ("input", "timeout", "sleep", "workflow")}
        self._templates(step, place, reads, roots)
        if step.when is not None:
            self._expression(place("when"), step.when, reads(STEP))
        if step.retry is not None and step.retry.while_ is not None:
            self._expression(place("retry") + ".while", step.retry.while_, reads(AGAIN))

    def _templates(self, step: Step, place: Place, reads: Reads, roots: Mapping[str, frozenset[str]]) -> None:
        each = STEP | ITEM if step.with_items is not None else STEP
        for key, names in roots.items():
            value = getattr(step, key)
            if isinstance(value, str) and "{{" not in value:
                continue
            if value and isinstance(value, str | dict | list):
                self.value(place(key), value, reads(names))
        if step.cache is not None:
            for key, asked in (("key", step.cache.key), ("ttl", step.cache.ttl)):
                self.value(child(place("cache"), key), asked, reads(each))
        if step.wait_for is not None:
            for at, value in _asked(step.wait_for, place("wait_for")):
                self.value(at, value, reads(each))

    def _edge(self, edge: Edge, path: str) -> None:
        self._expression(path, edge.when or "", Reader(EDGE, edge.step, reads_itself=True))

    def value(self, path: str, value: Any, reader: Reader) -> None:
        """Every text with an expression inside a JSON value."""
        for at, text in _texts(path, value):
            self._check(at, text, read_template, reader)

    def _expression(self, path: str, text: str, reader: Reader) -> None:
        self._check(path, text, read_expression, reader)

    def _check(self, path: str, text: str, read: Read, reader: Reader) -> None:
        if self.faults >= _MOST_FAULTS or self.words_left < 0:
            return
        try:
            references = self._references(text, read)
        except ExpressionError as error:
            self.faults += 1
            self.findings.add(path, str(error))
        else:
            self._names(path, references, reader)

    def _references(self, text: str, read: Read) -> References:
        if (read, text) not in self.known:
            self.words_left -= words(text)
            if self.words_left < 0:
                raise ExpressionError(
                    f"the document's expressions up to this one have more than {self.most_words} words and signs"
                )
            self.known[read, text] = read(text)
        return self.known[read, text]

    def _names(self, path: str, references: References, reader: Reader) -> None:
        if not references.roots:
            return
        for name in check_names(path, references, reader, self.draft, self.findings):
            if reader.step is not None and reader.step in self.draft.names:
                self.reads.setdefault((reader.step, name), []).append((path, reader.step))

    def check_upstream(self) -> None:
        for pair in not_upstream(self.draft.definition.steps, self.reads):
            for path, step in self.reads[pair]:
                self.findings.add(
                    path,
                    f"step '{pair[1]}' is not upstream of '{step}': it may not have ended when this is read",
                    f"let '{step:.80}' depend on it",
                )


def _asked(wait: WaitFor, path: str) -> Iterator[tuple[str, Any]]:
    """What is a template of what a step waits for."""
    yield f"{path}.event", wait.event
    yield f"{path}.timeout", wait.timeout
    if wait.approval is not None:
        for key in ("title", "description"):
            yield f"{path}.approval.{key}", getattr(wait.approval, key)
        yield f"{path}.approval.assignees", list(wait.approval.assignees)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """The texts with expressions inside a value, each with its path."""
    if isinstance(value, str):
        if "{{" in value:
            yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if isinstance(part, str | dict | list):
                yield from _texts(child(path, key), part)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            if isinstance(part, str | dict | list):
                yield from _texts(child(path, index), part)
