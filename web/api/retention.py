"""How long runs and histories are kept; runs as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.retention import MOST_NEWEST, MOST_SECONDS, RUNS, Rule
from orchestrator.domain.roles import Role
from orchestrator.domain.states import RUN_TERMINAL
from orchestrator.services.export import Exported, export, find_roots
from orchestrator.services.lines import text_of
from orchestrator.services.retention import delete_rule, set_rule
from orchestrator.store.reads.retention import list_rules
from orchestrator.store.reads.runs import find_ids
from web.api.fields import Count, Name, Strict, Text, absent, one_of
from web.api.noun import Noun, answered
from web.api.runs import RunsQuery, filters_of
from web.api.shapes.base import Shape, at_or_null, flag, many, number_or_null, text, text_or_null
from web.api.use import for_all_apps
from web.application import database, engine
from web.auth import actor

retention = Noun("retention", "How long runs and histories are kept, which is of all apps; runs as lines of JSON.")

LINES = "application/x-ndjson"
_MOST_EXPORTED = 1000
_LINE = {"type": "string", "description": "Lines of JSON; docs/retention.md tells what they are."}


class RetentionQuery(Strict):
    """Which rule: what is not named is any."""

    what = Text(load_default=RUNS, most=100, metadata={"description": "Or the name of a history."})
    app = Name(load_default=absent, metadata={"description": "Of this app."})
    workflow = Name(load_default=absent, metadata={"description": "Of this workflow."})
    status = one_of(RUN_TERMINAL, load_default=absent, metadata={"description": "That ended so."})
    reason = Text(load_default=absent, metadata={"description": "Why, for the audit log."})


class RetentionBody(Strict):
    """A rule; without a bound, for ever."""

    what = Text(load_default=RUNS, most=100)
    app = Name(load_default=None, allow_none=True)
    workflow = Name(load_default=None, allow_none=True)
    status = one_of(RUN_TERMINAL, load_default=None, allow_none=True)
    keep_seconds = fields.Integer(load_default=None, allow_none=True, metadata={"maximum": MOST_SECONDS, "minimum": 0})
    keep_newest = Count(most=MOST_NEWEST, load_default=None, allow_none=True)
    reason = Text(load_default=None, allow_none=True, metadata={"description": "Why, for the audit log."})


class RetentionShape(Shape):
    what = text("`runs`, or the name of a history.")
    app = text_or_null("Null: any.")
    workflow = text_or_null("Null: any.")
    status = text_or_null("Null: any.")
    keep_seconds = number_or_null("Since the end of a run.")
    keep_newest = number_or_null("So many of each workflow and app are kept however old.")
    changed_at = at_or_null()
    changed_by = text_or_null()
    default = flag("Holds for a history without a rule.")


class RetentionRulesShape(Shape):
    items = many(RetentionShape, "The most particular first.")


class ExportQuery(RunsQuery):
    """Which runs: those above and below each come along."""

    class Meta:
        exclude = ("after", "limit")

    most = Count(least=1, most=_MOST_EXPORTED, load_default=100, metadata={"description": "At most so many families."})


@retention.get("/retention", RetentionRulesShape, refused=(403,))
def list_all(query: dict[str, Any]) -> Response:
    """List the rules of how long runs and histories are kept

    A token of one app may not.
    """
    for_all_apps("rules of retention")
    return _shown()


@retention.add("PUT", "/retention", Role.ADMIN, RetentionRulesShape, body=RetentionBody, refused=(404,))
def put(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Make a rule, in the place of one for the same

    Runs are kept for ever where no rule says otherwise. Of the rules that hold for a run the one that names its
    workflow counts, then one that names its app, then one that names how it ended. A token of one app may not.
    """
    for_all_apps("rules of retention")
    rule = replace(_place(body), keep_seconds=body["keep_seconds"], keep_newest=body["keep_newest"])
    set_rule(database(), rule, reason=body["reason"], actor=actor())
    return _shown()


@retention.add("DELETE", "/retention", Role.ADMIN, None, status=204, query=RetentionQuery, refused=(404,))
def delete(query: dict[str, Any]) -> Response:
    """Delete a rule

    A more general one holds then, or none. A token of one app may not.
    """
    for_all_apps("rules of retention")
    delete_rule(database(), _place(query), reason=query["reason"], actor=actor())
    return Response(status=204)


@retention.get("/runs/export", _LINE, role=Role.OPERATOR, query=ExportQuery, content_type=LINES, refused=(404,))
def export_runs(query: dict[str, Any]) -> Response:
    """Export runs as lines of JSON

    With all that is theirs, the newest first, and without secrets: what `orchestrator runs export` writes and
    `orchestrator runs import` reads. It comes as it is read; one that broke off lacks its last `end`.
    """
    db, blobs, filters = database(), engine().blobs, filters_of(query)
    with db.transaction() as conn:
        find_ids(conn, filters, None, 1)  # what is not there is told before the first line

    def lines() -> Iterator[bytes]:
        yield from map(text_of, export(db, islice(find_roots(db, filters), query["most"]), Exported(), blobs=blobs))

    return Response(lines(), mimetype=LINES, headers={"Content-Disposition": 'attachment; filename="runs.jsonl"'})


def _place(given: dict[str, Any]) -> Rule:
    """The rule of this place, without bounds."""
    return Rule(given["what"], given["app"] or "", given["workflow"] or "", given["status"] or "")


def _shown() -> Response:
    with database().transaction() as conn:
        return answered({"items": list_rules(conn)})
