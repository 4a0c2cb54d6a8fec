"""`orchestrator signal`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.options import common
from orchestrator.cli.output import note, print_json
from orchestrator.cli.session import find
from orchestrator.cli.start import read_input
from orchestrator.cli.text import clean, local
from orchestrator.services import signal as verb
from orchestrator.services.signal import Earlier, Signaled


@click.command()
@click.argument("run")
@click.argument("name")
@click.argument("payload", required=False, metavar="[JSON|@FILE|-]")
@common
def signal(run: str, name: str, payload: str | None, as_json: bool) -> None:
    """Send an event to a run.

    A step that waits for it takes it, and its payload is the step's output. One that comes before is kept.
    """
    value = read_input(payload, "the payload")
    with open_engine() as engine:
        sent = verb.signal(engine, find(engine.db, run), name, value, actor=actor())
    tell(sent, name, as_json)


def tell(sent: Signaled, name: str, as_json: bool) -> None:
    """Who took the signal, or that it is kept, and which one came first."""
    if as_json:
        print_json({"id": sent.id, "step": sent.step, "item": sent.item, "earlier": _shown(sent.earlier)})
        return
    item = "" if sent.item is None else f"item {sent.item} of "
    taken, kept = (
        f"{item}step '{clean(sent.step or '')}' goes on with it",
        f"kept: no step waits for '{clean(name)}' now, and the first that does takes it",
    )
    click.echo(taken if sent.step else kept)
    if sent.earlier and not sent.step:
        note(f"another came first: from {clean(sent.earlier.actor)}, {local(sent.earlier.sent_at)}")


def _shown(earlier: Earlier | None) -> dict[str, object] | None:
    if earlier is None:
        return None
    return {"id": earlier.id, "actor": earlier.actor, "sent_at": earlier.sent_at.isoformat()}
