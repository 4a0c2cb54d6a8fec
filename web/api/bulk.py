"""One verb on every run that filters find, looked at before."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, Problem
from orchestrator.services.bulk import ACTS, Acted, Found, Verb, each, find
from orchestrator.services.rerun import Rerun
from orchestrator.store.reads import RunFilters
from web.api.acts import RerunBody
from web.api.bodies import invalid_body
from web.api.fields import Count, one_of
from web.api.noun import Noun, answered
from web.api.runs import RunsQuery, filters_of
from web.api.shapes.acts import BulkShape
from web.application import database, engine
from web.auth import actor, check_role

bulk = Noun("bulk", "One verb on every run that filters find.")

_MOST = 5000  # runs that one request acts on
_VERB_OF = {"force": Verb.CANCEL, "revision": Verb.RERUN, "input": Verb.RERUN, "from_steps": Verb.RERUN}


class FiltersBody(RunsQuery):
    """Which runs: those for which all that is given holds; at least one filter."""

    class Meta:
        exclude = ("limit", "after")


class BulkBody(RerunBody):
    """What to do, to which runs."""

    verb = one_of(Verb, required=True)
    filters = fields.Nested(FiltersBody, required=True)
    preview = fields.Boolean(
        load_default=False, metadata={"description": "Only find them: how many, of which status, and the first few."}
    )
    count = Count(
        load_default=None,
        allow_none=True,
        metadata={"description": "How many the preview has found: if there are others now, nothing is done (409)."},
    )
    force = fields.Boolean(load_default=False, metadata={"description": "Of cancel: cut off what is running."})


@bulk.post("/runs/bulk", BulkShape, role=Role.OPERATOR, body=BulkBody, refused=(404, 409))
def act(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Act on every run that filters find

    `cancel`, `pause`, `resume`, `retry`, `rerun`, or for an admin `delete`. Without a status the filters find the runs
    that the verb is meant for. Ask with `preview` first, and with the `count` it gave then. Runs are acted on one by
    one, newest first: one that refuses is told among the `items`, and stops no other. A request acts on 5,000 runs at
    most.
    """
    verb = Verb(body["verb"])
    if verb is Verb.DELETE:
        check_role(Role.ADMIN)
    _check_options(verb, body)
    found = find(database(), verb, _filters(body["filters"]))
    if body["preview"]:
        return answered(_shown(found, True, []))
    _check_count(found, body["count"])
    options = {name: body[name] for name, of in _VERB_OF.items() if of is verb}
    options |= {"reason": body["reason"], "actor": actor(), "bulk_id": found.bulk_id}
    acted = list(each(found.ids, partial(ACTS[verb], engine(), **options)))
    return answered(_shown(found, False, acted))


def _filters(given: dict[str, Any]) -> RunFilters:
    """The app of a token is no filter: all of its runs are never meant."""
    if not any(given.values()):
        raise invalid_body(Problem("filters", "name at least one filter"))
    return filters_of(given)


def _check_options(verb: Verb, body: dict[str, Any]) -> None:
    unset = {"force": False, "revision": "same", "input": None, "from_steps": ()}
    odd = [name for name, of in _VERB_OF.items() if of is not verb and body[name] not in (unset[name], [])]
    if odd:
        raise invalid_body(*(Problem(name, f"means nothing for {verb}") for name in odd))


def _check_count(found: Found, expected: int | None) -> None:
    if expected is not None and expected != len(found.ids):
        raise Conflict(f"nothing was done: there are {len(found.ids)} such runs now, not {expected}")
    if len(found.ids) > _MOST:
        raise Conflict(f"nothing was done: {len(found.ids)} runs are more than {_MOST}; narrow the filters")


def _shown(found: Found, preview: bool, acted: list[Acted]) -> dict[str, Any]:
    return {
        "preview": preview,
        "verb": found.verb,
        "bulk_id": None if preview else found.bulk_id,
        "count": len(found.ids),
        "counts": dict(found.counts),
        "first": list(found.first),
        "items": [_item(one) for one in acted],
    }


def _item(one: Acted) -> dict[str, Any]:
    new_run_id = one.given.run_id if isinstance(one.given, Rerun) else None
    return {"id": one.run_id, "done": one.error is None, "error": one.error, "new_run_id": new_run_id}
