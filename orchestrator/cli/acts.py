"""What the commands that act on runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from orchestrator.cli.acting import open_engine
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.output import note, print_json
from orchestrator.cli.session import find
from orchestrator.config import SERVERS
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.engine import Engine
from orchestrator.services.wait import read_status


def act_on(
    runs: Sequence[str], act: Callable[[Engine, str], str], as_json: bool, need: Sequence[str] = SERVERS
) -> None:
    """Call `act(engine, run_id)` for each RUN and print what it returns; one failure does not stop the others.

    Exits with the highest code.
    """
    items: list[dict[str, Any]] = []
    worst = Exit.OK
    with open_engine(need) as engine:
        for run in runs:
            code, item = _act(engine, run, act)
            worst = max(worst, code)
            items.append(item)
            if not as_json:
                _tell(item)
    if as_json:
        print_json({"items": items})
    if worst:
        raise Ended(worst)


def _act(engine: Engine, run: str, act: Callable[[Engine, str], str]) -> tuple[Exit, dict[str, Any]]:
    run_id = None
    try:
        run_id = find(engine.db, run)
        done = act(engine, run_id)
        return Exit.OK, {"id": run_id, "status": read_status(engine.db, run_id), "done": done, "error": None}
    except NotFound as error:
        return Exit.NOT_FOUND, {"id": run_id, "status": None, "done": None, "error": str(error)}
    except (Conflict, InvalidInput) as error:
        status = read_status(engine.db, run_id) if run_id else None
        return Exit.INVALID, {"id": run_id, "status": status, "done": None, "error": str(error)}


def _tell(item: dict[str, Any]) -> None:
    if item["error"]:
        note(f"orchestrator: {item['error']}")
    else:
        click.echo(f"{item['id']} {item['done']}")
