"""What the commands that act on runs have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from orchestrator.cli.acting import open_engine
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.filters import filtered
from orchestrator.cli.output import note, print_json, print_json_stream
from orchestrator.cli.preview import agreed, preview_json, print_preview
from orchestrator.cli.session import find
from orchestrator.config import SERVERS
from orchestrator.errors import Conflict, InvalidInput, Locked, NotFound
from orchestrator.services import bulk
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine
from orchestrator.services.wait import read_status
from orchestrator.store.reads import RunFilters


@dataclass(frozen=True, slots=True)
class Done:
    """What an act did, in words that follow the run's id, and more that JSON tells of it.

    `printed` takes the place of the line on stdout, which then goes to stderr.
    """

    said: str
    more: Mapping[str, Any] = field(default_factory=dict)
    printed: str | None = None


# Called with a run's id, and the id of the bulk it is a part of.
Act = Callable[[Engine, str, str | None], Done]


@dataclass(frozen=True, slots=True)
class Target:
    """The runs a command line names, or filters for them."""

    runs: Sequence[str] = ()
    filters: RunFilters = RunFilters()
    yes: bool = False
    dry_run: bool = False


def on_runs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options of a command that acts on runs; it gets them together, as `target`."""

    @functools.wraps(command)
    def collected(*, runs: Sequence[str], filters: RunFilters, yes: bool, dry_run: bool, **rest: Any) -> Any:
        return command(target=_checked(Target(runs, filters, yes, dry_run)), **rest)

    options = (
        click.argument("runs", nargs=-1, metavar="[RUN...]"),
        filtered,
        click.option("--yes", is_flag=True, help="Act on the runs that the filters find without asking."),
        click.option("--dry-run", is_flag=True, help="Only show which runs the filters find."),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), collected)


def _checked(target: Target) -> Target:
    filters = target.filters != RunFilters()
    if target.runs and (filters or target.yes or target.dry_run):
        raise click.UsageError("Give RUN... or filters, not both; --yes and --dry-run go with filters.")
    if not target.runs and not filters:
        raise click.UsageError("Give RUN..., or filters that find runs: --workflow, --status, --tag, --since, --error.")
    return target


def act_on(verb: Verb, target: Target, act: Act, as_json: bool, need: Sequence[str] = SERVERS) -> None:
    """Act on each run and print what was done; one failure does not stop the others. Exits with the highest code.

    What filters find is shown first, and acted on when the person at the terminal agrees, or with --yes.
    """
    with open_engine(("database",) if target.dry_run else need) as engine:
        if target.runs:
            _report((_act(engine, run, act) for run in target.runs), as_json, {})
        else:
            _act_on_found(engine, bulk.find(engine.db, verb, target.filters), target, act, as_json)


def act_once(run: str, act: Callable[[Engine, str], Done], as_json: bool, need: Sequence[str] = SERVERS) -> None:
    """Act on one run and print what was done."""
    with open_engine(need) as engine:
        _report([_act(engine, run, lambda engine, run_id, _: act(engine, run_id))], as_json, {})


def _act_on_found(engine: Engine, found: bulk.Found, target: Target, act: Act, as_json: bool) -> None:
    if as_json and target.dry_run:
        print_json(preview_json(found))
        return
    if not as_json:
        print_preview(found)
    if target.dry_run or (not found.ids and not as_json) or not agreed(found, target.yes, ask=not as_json):
        return
    acted = bulk.each(found.ids, lambda run_id: act(engine, run_id, found.bulk_id))
    head = {"bulk_id": found.bulk_id, "count": len(found.ids), "counts": dict(found.counts)}
    _report((_item(engine, one) for one in acted), as_json, head)


def _report(items: Iterable[tuple[Exit, dict[str, Any]]], as_json: bool, head: dict[str, Any]) -> None:
    """Print each item as it comes, and of a bulk (with a `head`) how many were done; exit with the highest code."""
    codes: list[Exit] = []
    told = _told(items, codes, as_json, in_bulk=bool(head))
    if as_json and head:
        print_json_stream(head, "items", told)
    elif as_json:
        print_json({"items": list(told)})
    else:
        for _ in told:
            pass
    if head and not as_json:
        refused = sum(code is not Exit.OK for code in codes)
        said = f"{len(codes) - refused:,} of {len(codes):,} done" + (f", {refused:,} refused" if refused else "")
        note(said + (f": orchestrator audit --bulk {head['bulk_id']}" if refused < len(codes) else ""))
    if any(codes):
        raise Ended(max(codes))


def _told(
    items: Iterable[tuple[Exit, dict[str, Any]]], codes: list[Exit], as_json: bool, *, in_bulk: bool
) -> Iterator[dict[str, Any]]:
    for code, item in items:
        codes.append(code)
        printed = item.pop("printed", None)
        if not as_json:
            _tell(item, printed, in_bulk)
        yield item


def _act(engine: Engine, run: str, act: Act) -> tuple[Exit, dict[str, Any]]:
    run_id = None
    try:
        run_id = find(engine.db, run)
        return _done(engine, run_id, act(engine, run_id, None))
    except NotFound as error:
        return Exit.NOT_FOUND, _refused(run_id, None, error)
    except (Conflict, InvalidInput, Locked) as error:
        return Exit.INVALID, _refused(run_id, _status(engine, run_id) if run_id else None, error)


def _item(engine: Engine, acted: bulk.Acted) -> tuple[Exit, dict[str, Any]]:
    if acted.error is None:
        return _done(engine, acted.run_id, acted.given)
    return Exit.INVALID, _refused(acted.run_id, _status(engine, acted.run_id), acted.error)


def _done(engine: Engine, run_id: str, done: Done) -> tuple[Exit, dict[str, Any]]:
    item: dict[str, Any] = {"id": run_id, "status": _status(engine, run_id), "done": done.said, "error": None}
    return Exit.OK, {**item, **done.more, "printed": done.printed}


def _status(engine: Engine, run_id: str) -> str | None:
    """None for a run that is no longer there."""
    try:
        return read_status(engine.db, run_id)
    except NotFound:
        return None


def _refused(run_id: str | None, status: str | None, error: Exception | str) -> dict[str, Any]:
    return {"id": run_id, "status": status, "done": None, "error": str(error)}


def _tell(item: dict[str, Any], printed: str | None, in_bulk: bool) -> None:
    if item["error"]:
        note(f"orchestrator: {item['id'] + ': ' if in_bulk else ''}{item['error']}")
        return
    said = f"{item['id']} {item['done']}"
    if printed is None:
        click.echo(said)
    else:
        click.echo(printed)
        note(said)
