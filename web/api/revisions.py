"""Revisions of a workflow, and what is different between two."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response

from orchestrator.domain.difference import difference_text, differences
from orchestrator.store.reads import get_revision, list_revisions
from web.api.fields import Count, Paged
from web.api.noun import Noun, answered, paged
from web.api.shapes.workflows import DifferenceShape, RevisionDetailShape, RevisionPage
from web.api.workflows import Owned, owner_seen
from web.application import database

revisions = Noun("revisions", "What a workflow was, and is.")


class RevisionsQuery(Paged, Owned):
    """Which revisions."""


class DifferenceQuery(Owned):
    """With which revision to compare."""

    to = Count(least=1, required=True, metadata={"description": "The number of the other revision."})


@revisions.get("/workflows/<name>/revisions", RevisionPage, query=RevisionsQuery, refused=(404,))
def list_all(query: dict[str, Any], name: str) -> Response:
    """List the revisions of a workflow, newest first"""
    with database().transaction() as conn:
        return paged(list_revisions(conn, name, query["after"], query["limit"], **owner_seen(query)))


@revisions.get("/workflows/<name>/revisions/<int(max=2147483647):number>", RevisionDetailShape, query=Owned,
               refused=(404,))  # fmt: skip
def show(query: dict[str, Any], name: str, number: int) -> Response:
    """Show one revision with its document"""
    with database().transaction() as conn:
        return answered(get_revision(conn, name, number, **owner_seen(query)))


@revisions.get("/workflows/<name>/revisions/<int(max=2147483647):number>/difference", DifferenceShape,
               query=DifferenceQuery, refused=(404,))  # fmt: skip
def difference(query: dict[str, Any], name: str, number: int) -> Response:
    """Show what is different between two revisions

    From this one to that of `to`: place by place, steps by name, and as lines of YAML.
    """
    owner = owner_seen(query)
    with database().transaction() as conn:
        before, after = (get_revision(conn, name, each, **owner) for each in (number, query["to"]))
    documents = before["document"], after["document"]
    return answered(
        {
            "workflow": before["workflow"],
            "before": number,
            "after": query["to"],
            "changes": [asdict(one) for one in differences(*documents)],
            "text": difference_text(*documents),
        }
    )
