"""The page of one step: everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from orchestrator.cli.itemlines import counts_in_words
from orchestrator.cli.loglines import log_line
from orchestrator.cli.marks import MARKS, Signs, word
from orchestrator.cli.runpage import obstacle_lines
from orchestrator.cli.steplines import Around, attempts, says
from orchestrator.cli.table import Column, table
from orchestrator.cli.text import ago, clean, error_line, json_block, local, parsed, shell_argument
from orchestrator.domain.blobs import with_words
from orchestrator.domain.codes import DRIVER
from orchestrator.domain.states import StepStatus
from orchestrator.domain.times import duration
from orchestrator.domain.words import reason_in_words
from orchestrator.store.reads import RunNow, StepBrief

_FULL = "; --full shows it"
_ATTEMPTS = (
    Column("ATTEMPT"),
    Column("OUTCOME"),
    Column("STARTED", gives_way=2),
    Column("TOOK", gives_way=3),
    Column("WORKER", gives_way=1),
    Column("", stretches=True),
)
# Longer values are in --json.
_VALUE_LINES = 40
# How an attempt ended, as the state it is drawn like.
_LIKE = {"retry_later": "ready", "timed_out": "failed", "lost": "failed"}


@dataclass(frozen=True, slots=True)
class StepPage:
    """A step's, or an item's, public view and its line, with its ended attempts, its last log lines, and the processes
    there are. `name` is the step's."""

    run: RunNow
    around: Around
    name: str
    step: Mapping[str, Any]
    brief: StepBrief
    attempts: Sequence[Mapping[str, Any]]
    lines: Sequence[Mapping[str, Any]]
    workers: Sequence[Mapping[str, Any]]


def step_page(page: StepPage, signs: Signs, width: int | None) -> list[Text]:
    """The lines of the page."""
    lines = [_headline(page, signs), *_facts(page), *_obstacles(page), *_values(page.step)]
    if page.attempts:
        lines += [Text(), Text("attempts", "bold"), *_attempts(page, signs, width)]
    if page.lines:
        lines += [Text(), Text("last log lines", "bold"), *map(_log_line, page.lines)]
    if page.step.get("items"):
        shown = f"  orchestrator show {page.run.id} --step {shell_argument(page.name)} --items"
        lines += [Text(), Text.assemble(shown, ("  # its items, page by page", "dim"))]
    item = f" --item {page.step['index']}" if "index" in page.step else ""
    logged = DRIVER if page.brief.within else page.name
    command = f"  orchestrator logs {page.run.id} {shell_argument(logged)}{item}"
    return [*lines, Text(), Text.assemble(command, ("  # all it logged and printed", "dim"))]


def _headline(page: StepPage, signs: Signs) -> Text:
    status = page.step["status"]
    name = (clean(page.brief.name), "bold")
    line = Text.assemble(signs.marked(status), name, " ", (word(status), MARKS[status].style))
    because = _because(page, signs)
    return line.append(": ").append_text(because) if because else line


def _because(page: StepPage, signs: Signs) -> Text:
    """Why it is as it is: of an ended step the reason, its error follows; else what its line in the run says."""
    if page.brief.status.terminal:
        kept = "kept from the earlier run" if page.brief.reused else ""
        return Text("; ".join(filter(None, [reason_in_words(page.step["reason"]), kept])))
    return says(page.brief, page.around, signs)


def _obstacles(page: StepPage) -> list[Text]:
    waits = page.brief.status in (StepStatus.READY, StepStatus.QUEUED)
    told = obstacle_lines(page.run, [page.brief], page.workers) if waits else []
    return [Text(), *told[:-1]] if told else []


def _facts(page: StepPage) -> Iterator[Text]:
    step = page.step
    yield _fact("run", f"{page.run.id} of {clean(page.run.workflow)}, revision {page.run.revision}")
    if step["queue"]:
        yield _fact("queue", clean(step["queue"]))
    if step["worker"]:
        yield _fact("worker", clean(step["worker"]))
    if step["attempt"]:
        yield _fact("attempt", attempts(page.brief) or str(step["attempt"]))
    child = page.brief.child
    if child is not None:
        told = f"run {child['run_id']} of '{clean(child['workflow'])}', which is {child['status']}"
        yield _fact("child", f"{told}: orchestrator show {child['run_id']}")
    if step.get("items") is not None:
        yield _fact("items", counts_in_words(step["items"]))
    for name, key in (("ready", "ready_at"), ("started", "started_at"), ("ended", "finished_at")):
        at = parsed(step[key])
        if at is not None:
            yield _fact(name, f"{local(at)} ({ago(at, page.run.now)})")


def _fact(name: str, value: str) -> Text:
    return Text.assemble((f"  {name:<9}", "dim"), value)


def _values(step: Mapping[str, Any]) -> Iterator[Text]:
    for name in ("item", "input", "output"):
        if step.get(name) is not None:
            yield from _block(name, json_block(with_words(step[name], _FULL)).split("\n"))
    error = step["error"]
    if error:
        told = [f"{error.get('type')}: {error.get('message')}", *str(error.get("traceback") or "").splitlines()]
        yield from _block("error", "\n".join(map(clean, told)).split("\n"), "red")


def _block(title: str, lines: Sequence[str], style: str = "") -> Iterator[Text]:
    yield Text()
    yield Text(title, "bold")
    for line in lines[:_VALUE_LINES]:
        yield Text(f"  {line}", style)
    if len(lines) > _VALUE_LINES:
        yield Text(f"  ... {len(lines) - _VALUE_LINES:,} lines more: --json shows all", "dim")


def _log_line(line: Mapping[str, Any]) -> Text:
    return Text("  ").append_text(log_line(line, with_step=False))


def _attempts(page: StepPage, signs: Signs, width: int | None) -> list[Text]:
    return table(_ATTEMPTS, [_attempt(attempt, signs) for attempt in page.attempts], width, indent=2)


def _attempt(attempt: Mapping[str, Any], signs: Signs) -> tuple[Text, ...]:
    started, finished = parsed(attempt["started_at"]), parsed(attempt["finished_at"])
    outcome = attempt["outcome"]
    like = _LIKE.get(outcome, outcome)
    error = attempt["error"]
    return (
        Text(str(attempt["number"])),
        Text(f"{signs.mark(like)} {word(outcome)}", MARKS[like].style),
        Text(local(started) if started else ""),
        Text(duration((finished - started).total_seconds()) if started and finished else ""),
        Text(clean(attempt["worker"] or ""), "dim"),
        Text(error_line(error.get("type"), error.get("message")) if error else "", "red"),
    )
