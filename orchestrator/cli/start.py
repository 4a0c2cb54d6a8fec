"""`orchestrator start`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.options import common
from orchestrator.cli.output import note, print_json
from orchestrator.cli.text import error_line, json_block
from orchestrator.domain.states import RunStatus
from orchestrator.errors import InvalidInput, NotFound, OrchestratorError, Problem
from orchestrator.services.engine import Engine
from orchestrator.services.start import start as start_run
from orchestrator.services.start_plain import Started, StartOptions
from orchestrator.services.wait import wait as wait_for
from orchestrator.store.reads import get_run, list_functions, list_workers, run_now

_HOW_KNOWN = "start the workers with its module in ORCHESTRATOR_FUNCTIONS"


@click.command()
@click.argument("name")
@click.option("--input", "given", metavar="JSON|@FILE|-", help="The run's input; - reads standard input.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is 1 when the run did not succeed.")
@click.option("--idempotency-key", "key", metavar="KEY", help="The same key again gives the first run.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag to find the run by; may be given again.")
@click.option("--app", metavar="NAME", help="As this app (default: ORCHESTRATOR_APP).")
@click.option("--revision", type=click.IntRange(min=1), help="This revision instead of the latest.")
@common
def start(
    name: str,
    given: str | None,
    wait: bool,
    key: str | None,
    tags: Sequence[str],
    app: str | None,
    revision: int | None,
    as_json: bool,
) -> None:
    """Start a run.

    Prints the run's id; with --wait its output as JSON after that. With --json, the run.
    """
    options = StartOptions(app, tags, key, revision, actor=actor())
    value = read_input(given)
    with open_engine() as engine:
        started = start_run(engine, name, value, options)
        if not as_json:
            click.echo(started.run_id)
            sys.stdout.flush()
            for warning in _warnings(engine, started):
                note(warning)
        if wait:
            _wait(engine, started.run_id, as_json)
        elif as_json:
            print_json(_view(engine, started.run_id) | {"created": started.created})


def _warnings(engine: Engine, started: Started) -> list[str]:
    """What the person at the terminal may not know: it was started before, or nobody can run it."""
    if not started.created:
        return ["this idempotency key had started it before"]
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, run_now(conn, started.run_id).revision_id)
        known, workers = {spec["name"] for spec in list_functions(conn)}, list_workers(conn)
    steps = [*plan.steps, *plan.handlers.values()]
    needed = {step.step.function for step in steps if step.step.function is not None}
    if needed and not any(worker["kind"] == "worker" and worker["status"] == "alive" for worker in workers):
        return ["no worker is alive, so its steps wait: orchestrator worker, or orchestrator up for all at once"]
    return [f"no worker knows the function '{name}': {_HOW_KNOWN}" for name in sorted(needed - known)]


def read_input(given: str | None, option: str = "--input") -> Any:
    """The value of an option; raises `InvalidInput` for what is not JSON, `NotFound` for a missing file."""
    if given is None:
        return None
    text = sys.stdin.read() if given == "-" else _file(given[1:]) if given.startswith("@") else given
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([Problem("", f"it is not JSON: {error}", _hint(given, option))], option) from error


def _hint(given: str, option: str) -> str | None:
    if given[:1] in ("@", "-"):
        return None
    if given.endswith((".json", ".txt")):
        return f"a file is given as {option} @{given}"
    return f"is it in single quotes, and are its names in double ones? {option} '{{\"amount\": 5}}'"


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(f"there is no file '{path}'") from error
    except (OSError, UnicodeDecodeError) as error:
        raise OrchestratorError(f"cannot read '{path}': {error}") from error


def _wait(engine: Engine, run_id: str, as_json: bool) -> None:
    try:
        status = wait_for(engine.db, run_id)
    except KeyboardInterrupt:
        note(f"the run goes on: orchestrator watch {run_id}")
        raise
    view = _view(engine, run_id)
    if as_json:
        print_json(view)
    elif status is RunStatus.SUCCEEDED:
        click.echo(json_block(view["output"]))
    else:
        _tell(view)
    if status is not RunStatus.SUCCEEDED:
        raise Ended(Exit.RUN_FAILED)


def _tell(view: dict[str, Any]) -> None:
    error = view["error"]
    because = f": {error_line(error['type'], error['message'])}" if error else ""
    step = f" at step '{error['step']}'" if error and error["step"] else ""
    note(f"the run {view['status']}{step}{because}\n  orchestrator show {view['id']}")


def _view(engine: Engine, run_id: str) -> dict[str, Any]:
    with engine.db.transaction() as conn:
        return get_run(conn, run_id, engine.blobs.shown)
