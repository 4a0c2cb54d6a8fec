"""`orchestrator rerun`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, Target, act_on, on_runs
from orchestrator.cli.options import common
from orchestrator.cli.start import read_input
from orchestrator.cli.text import clean, plural
from orchestrator.services import rerun as verb
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine
from orchestrator.services.rerun import Rerun, WhichRevision


class Revision(click.ParamType[WhichRevision]):
    """`same`, `latest`, or a number from 1 on."""

    name = "revision"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> WhichRevision:
        if value in ("same", "latest"):
            return "same" if value == "same" else "latest"
        text = str(value)
        if text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 1 << 31 and len(text) <= 10:
            return int(text)
        raise click.BadParameter(f"'{clean(text)}' is not a revision: give 'same', 'latest' or its number")


@click.command()
@on_runs
@click.option("--input", "given", metavar="JSON|@FILE|-", help="Another input instead of the run's own.")
@click.option("--revision", type=Revision(), default="same", show_default=True, help="same, latest, or a number.")
@click.option("--latest", is_flag=True, help="The same as --revision latest.")
@click.option(
    "--from", "steps", multiple=True, metavar="STEP", help="Begin at this step, keep what others gave; may be repeated."
)
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def rerun(
    target: Target,
    given: str | None,
    revision: WhichRevision,
    latest: bool,
    steps: Sequence[str],
    reason: str | None,
    as_json: bool,
) -> None:
    """Run runs once more, each as a new run.

    Prints the new run's id. It has the same input and revision unless others are asked for. With --from, steps that
    do not depend on STEP are not run again: they keep how they ended and what they gave.
    """
    if latest and revision not in ("same", "latest"):
        raise click.UsageError("--latest and --revision say two different things.")
    value = read_input(given)
    wanted: WhichRevision = "latest" if latest else revision

    def act(engine: Engine, run_id: str, bulk_id: str | None) -> Done:
        made = verb.rerun(
            engine,
            run_id,
            input=value,
            revision=wanted,
            from_steps=steps,
            reason=reason,
            actor=actor(),
            bulk_id=bulk_id,
        )
        more = {"new_run_id": made.run_id, "kept": made.kept, "failing": list(made.failing)}
        return Done(f"runs again as {made.run_id}{_kept(made)}", more, printed=made.run_id)

    act_on(Verb.RERUN, target, act, as_json)


def _kept(made: Rerun) -> str:
    said = f": {plural(made.kept, 'step')} kept" if made.kept else ""
    names = ", ".join(f"'{clean(name)}'" for name in made.failing[:3]) + (", ..." if len(made.failing) > 3 else "")
    return said + (f"; it will fail for {names}, kept as failed: --from runs a step again" if names else "")
