"""One act on many runs: looked at first, then portion by portion while the page tells how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from flask import request

from orchestrator.domain.roles import Role
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.ids import is_id, new_id
from orchestrator.services.bulk import ACTS, Verb
from orchestrator.services.bulk_portions import act_on_portion, preview
from orchestrator.store.reads import RunFilters
from web.application import database, engine
from web.auth import actor, current_identity
from web.errors import Forbidden
from web.pages.forms import whole_number
from web.pages.frame import needs, page_blueprint, render, scope
from web.pages.run_query import RunQuery

bulk = page_blueprint("bulk")

_PORTION = 50
_TOLD = 20  # refusals that are told one by one
WORDS: Mapping[Verb, str] = {
    Verb.CANCEL: "Steps that run come to their end and are not tried again; nothing else starts.",
    Verb.PAUSE: "Steps that run come to their end; nothing else starts until somebody resumes the run.",
    Verb.RESUME: "The runs go on.",
    Verb.RETRY: "Failed and canceled steps, and what depended on them, run again; succeeded ones do not.",
    Verb.RERUN: "Each run starts once more as a new run, with the same input.",
    Verb.DELETE: "They are removed with steps, logs and history, and the runs below them. Nothing brings them back.",
}


@bulk.get("/runs/bulk", endpoint="preview")
@needs(Role.OPERATOR)
def preview_page() -> str:
    """How many there are, and some of them."""
    verb, query, chosen = _asked()
    try:
        found = preview(database(), verb, _filters(query, chosen))
    except (InvalidInput, NotFound) as error:
        return _show(verb, query, chosen, fault=_told(error))
    return _show(verb, query, chosen, found=found, words=WORDS[verb])


@bulk.post("/runs/bulk")
def act() -> str:
    """The next portion; the page asks for the one after it by itself."""
    verb, query, chosen = _asked()
    reason = request.values.get("reason", "").strip() or None
    options: dict[str, Any] = {"reason": reason, "actor": actor(), "bulk_id": _id("bulk_id")}
    if verb is Verb.CANCEL:
        options["force"] = request.values.get("force") == "yes"
    one = partial(ACTS[verb], engine(), **options)
    portion = act_on_portion(database(), verb, _filters(query, chosen), _id("after"), _PORTION, one, options["bulk_id"])
    refused = [acted for acted in portion.acted if acted.error is not None]
    done = _number("done") + len(portion.acted) - len(refused)
    told = [*request.values.getlist("told"), *(f"{one.run_id}: {one.error}" for one in refused)]
    numbers = {"done": done, "refused": _number("refused") + len(refused), "expected": _number("expected")}
    again = numbers | {"verb": verb.value, "bulk_id": options["bulk_id"], "after": portion.next, "reason": reason or ""}
    again |= {"run": chosen, "told": told[:_TOLD], "force": request.values.get("force", "")}
    return _show(verb, query, chosen, portion=portion, numbers=numbers, told=told[:_TOLD], again=again)


def _show(verb: Verb, query: RunQuery, chosen: list[str], **values: Any) -> str:
    return render("runs/bulk.html", verb=verb.value, query=query, chosen=chosen, **values)


def _asked() -> tuple[Verb, RunQuery, list[str]]:
    verb = request.values.get("verb", "")
    if verb not in frozenset(map(str, Verb)):
        raise NotFound(f"there is no act '{verb}' on many runs")
    if Verb(verb) is Verb.DELETE and current_identity().role < Role.ADMIN:
        raise Forbidden(f"this takes the role {Role.ADMIN}")
    return Verb(verb), RunQuery.of(request.args), [id for id in request.values.getlist("run") if is_id(id)]


def _filters(query: RunQuery, chosen: list[str]) -> RunFilters:
    """Runs that were chosen are meant whatever the filters say."""
    if chosen:
        return RunFilters(app=scope(), ids=chosen)
    return query.filters(scope(query.app or None), datetime.now(UTC))


def _id(name: str) -> str:
    given = request.values.get(name, "")
    return given if is_id(given) else new_id()


def _number(name: str) -> int:
    return whole_number(request.values.get(name, "")) or 0


def _told(error: InvalidInput | NotFound) -> str:
    return "; ".join(map(_sentence, error.problems)) if isinstance(error, InvalidInput) else str(error)


def _sentence(problem: Problem) -> str:
    return problem.message[:1].upper() + problem.message[1:] + "."
