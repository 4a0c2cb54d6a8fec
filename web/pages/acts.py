"""What a person does to a run or a step: asked first, saying what will happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.masking import MASK
from orchestrator.domain.roles import Role
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import WhichRevision, rerun
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.reads import RunNow, StepBrief, get_brief, get_run, step_counts
from orchestrator.store.reads.step_rows import step_name
from web.application import database, engine
from web.auth import actor
from web.pages.consequences import consequences
from web.pages.forms import beside, json_field, whole_number
from web.pages.frame import done, needs, page_blueprint, render, show_errors
from web.pages.open_run import open_run

acts = page_blueprint("acts")


@dataclass(slots=True)
class Act:
    """One act as its form was sent. What is wrong with the form is put into `errors`, by field."""

    run: RunNow
    step: str | None
    given: Mapping[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """The step it is about; raises `NotFound`."""
        if self.step is None:
            raise NotFound("this is done to a step: name one")
        return self.step

    @property
    def common(self) -> dict[str, Any]:
        return {"reason": self.given.get("reason", "").strip() or None, "actor": actor()}

    def json(self, name: str, empty: Any = None) -> Any:
        """The JSON of a field; raises `InvalidInput` without problems of its own when it is none."""
        value = json_field(self.given, name, self.errors, empty=empty)
        if self.errors:
            raise InvalidInput([])
        return value


# Each does the act and gives where to go to and what to say there.
Doing = Callable[[Act], tuple[str, str]]


def _here(act: Act) -> str:
    return url_for("run.show", run_id=act.run.id, step=request.args.get("step"))


def _cancel(act: Act) -> tuple[str, str]:
    cancel(engine(), act.run.id, force=act.given.get("force") == "yes", **act.common)
    return _here(act), "The run is being canceled."


def _pause(act: Act) -> tuple[str, str]:
    pause(engine(), act.run.id, **act.common)
    return _here(act), "The run is paused."


def _resume(act: Act) -> tuple[str, str]:
    resume(engine(), act.run.id, **act.common)
    return _here(act), "The run goes on."


def _retry(act: Act) -> tuple[str, str]:
    opened = retry(engine(), act.run.id, **act.common)
    return _here(act), f"The run goes on; {opened:,} steps run again."


def _rerun(act: Act) -> tuple[str, str]:
    revision: WhichRevision = "latest" if act.given.get("revision") == "latest" else "same"
    steps = [act.step] if act.step is not None else []
    options = {"input": _changed_input(act), "revision": revision, "from_steps": steps}
    made = rerun(engine(), act.run.id, **options, **act.common)
    kept = f" {made.kept:,} steps are kept from the earlier run." if made.kept else ""
    return url_for("run.show", run_id=made.run_id), f"This is the new run.{kept}"


def _changed_input(act: Act) -> Any:
    """What was edited; None when the text is the one that was shown: secrets in it are masked."""
    if act.given.get("input", "").strip() == act.given.get("shown", "").strip():
        return None
    value = act.json("input")
    if f'"{MASK}"' in act.given.get("input", ""):
        act.errors["input"] = f"Put the secret values where it says {MASK}, or leave the input as it was."
        raise InvalidInput([])
    return value


def _signal(act: Act) -> tuple[str, str]:
    name = act.given.get("name", "").strip()
    if not name:
        act.errors["name"] = "Name the event."
        raise InvalidInput([])
    sent = signal(engine(), act.run.id, name, act.json("payload"), actor=actor())
    told = f"Step '{sent.step}' has taken it." if sent.step else "It is kept until a step waits for it."
    return _here(act), f"The event was sent. {told}"


def _mark(act: Act) -> tuple[str, str]:
    status = StepStatus.SKIPPED if act.given.get("status") == "skipped" else StepStatus.SUCCEEDED
    output = act.json("output") if status is StepStatus.SUCCEEDED else None
    force = act.given.get("force") == "yes"
    opened = mark(engine(), act.run.id, act.named, status, output=output, force=force, **act.common)
    return _here(act), f"The step is marked {status}; {opened:,} other steps were opened again."


def _hold(act: Act) -> tuple[str, str]:
    hold(engine(), act.run.id, act.named, **act.common)
    return _here(act), "The step is held."


def _release(act: Act) -> tuple[str, str]:
    release(engine(), act.run.id, act.named, **act.common)
    return _here(act), "The step is released."


DOING: Mapping[str, Doing] = {
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
    "retry": _retry,
    "rerun": _rerun,
    "signal": _signal,
    "mark": _mark,
    "hold": _hold,
    "release": _release,
}


@acts.get("/runs/<run_id>/act/<verb>")
@needs(Role.OPERATOR)
def ask(run_id: str, verb: str) -> str:
    """What will happen, and the form."""
    return render("run/act.html", errors={}, given={}, **_shown(open_run(run_id), verb))


@acts.post("/runs/<run_id>/act/<verb>")
def do(run_id: str, verb: str) -> Response:
    run = open_run(run_id)
    shown = _shown(run, verb)
    act = Act(run, shown["step"].name if shown["step"] else None, request.form)
    try:
        target, told = DOING[verb](act)
    except (InvalidInput, Conflict, NotFound) as error:
        errors = act.errors or beside(error, {"input": "input", "output": "output", "payload": "payload"})
        return show_errors("run/act.html", errors=errors, given=request.form, **shown)
    return done(target, told)


def _shown(run: RunNow, verb: str) -> dict[str, Any]:
    """What the form shows; raises `NotFound` for an act there is not."""
    if verb not in DOING:
        raise NotFound(f"there is no act '{verb}'")
    step = _step(run)
    with database().transaction() as conn:
        counts = step_counts(conn, run.id)
        view = get_run(conn, run.id) if verb == "rerun" else None
    shown = json.dumps(view["input"], ensure_ascii=False, indent=2) if view else ""
    return {"run": run, "verb": verb, "step": step, "told": _told(verb, step, counts), "input": shown}


def _step(run: RunNow) -> StepBrief | None:
    position = whole_number(request.args.get("step", ""))
    if position is None:
        return None
    with database().transaction() as conn:
        return get_brief(conn, run.id, step_name(conn, run.id, position))


def _told(verb: str, step: StepBrief | None, counts: Mapping[str, int]) -> list[str]:
    if verb == "rerun" and step is not None:
        own = f"'{step.name}', what was canceled, and all that depends on it run again"
        return [f"A new run is started: {own}; the other steps keep what they gave."]
    return consequences(verb, counts)
