"""What happened in a run: events, log lines, the runs below it, its graph."""

from __future__ import annotations

from typing import Any

from flask import Response

from orchestrator.domain.draw import FORMS, draw
from orchestrator.services.done import done, named_statuses
from orchestrator.store.reads import list_events, list_family, list_journal, list_logs, run_now, step_statuses
from web.api.fields import Count, Name, Paged, Strict, absent, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.runs import EventPage, FamilyShape, GraphShape, JournalPage, LogPage
from web.api.use import looking_at
from web.application import engine

history = Noun("history", "What happened in a run, and its picture.")


class LogsQuery(Paged):
    """Which lines."""

    step = Name(load_default=absent, metadata={"description": "Of this step, its items included."})
    item = Count(load_default=absent, metadata={"description": "Of the item with this index; with `step`."})
    attempt = Count(load_default=absent, metadata={"description": "Of the attempt with this number."})


class FamilyQuery(Strict):
    """How many."""

    limit = Count(least=1, most=1000, load_default=100, metadata={"description": "At most so many."})


class GraphQuery(Strict):
    """How to draw."""

    format = one_of(FORMS, load_default="mermaid", metadata={"description": "The language."})


@history.get("/runs/<run_id>/events", EventPage, query=Paged, refused=(404,))
def events(query: dict[str, Any], run_id: str) -> Response:
    """List the events of a run, oldest first

    Starts, acts of people, failures, retries, ends. A plain success of a step is told by the step alone.
    """
    with looking_at(run_id) as conn:
        return paged(list_events(conn, run_id, query["after"], query["limit"]))


@history.get("/runs/<run_id>/logs", LogPage, query=LogsQuery, refused=(404,))
def logs(query: dict[str, Any], run_id: str) -> Response:
    """List what the steps of a run logged and printed

    In the order in which it was stored.
    """
    with looking_at(run_id) as conn:
        page = list_logs(
            conn, run_id, query["step"], query["attempt"], query["after"], query["limit"], item=query["item"]
        )
        return paged(page)


@history.get("/runs/<run_id>/journal", JournalPage, query=Paged, refused=(404,))
def journal(query: dict[str, Any], run_id: str) -> Response:
    """List what the function of a code-first run did, in the order of its program

    Of the generation it is in. Empty for a run of a document.
    """
    with looking_at(run_id) as conn:
        return paged(list_journal(conn, run_id, query["after"], query["limit"]))


@history.get("/runs/<run_id>/children", FamilyShape, query=FamilyQuery, refused=(404,))
def children(query: dict[str, Any], run_id: str) -> Response:
    """List the runs below a run

    The run itself, then those its steps have started, each followed by its own.
    """
    with looking_at(run_id) as conn:
        items, more = list_family(conn, run_id, query["limit"])
    return answered({"items": items, "more": more})


@history.get("/runs/<run_id>/graph", GraphShape, query=GraphQuery, refused=(404,))
def graph(query: dict[str, Any], run_id: str) -> Response:
    """Draw a run with the states of its steps

    Of a code-first workflow what its function has done so far.
    """
    with looking_at(run_id) as conn:
        plan = engine().plans.get(conn, run_now(conn, run_id).revision_id)
        found = done(conn, plan, run_id)
        statuses = named_statuses(plan, found, step_statuses(conn, run_id))
    drawn = draw(found.plan, query["format"], statuses)
    return answered({"workflow": plan.definition.name, "format": query["format"], "graph": drawn})
