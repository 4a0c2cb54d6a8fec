"""Pools, and queues."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for

from orchestrator.domain.roles import Role
from orchestrator.services.pools import MOST_SLOTS, remove_pool, set_pool
from orchestrator.store.reads import get_pool
from orchestrator.store.reads.pools import page_holders, page_pools, page_waiters
from orchestrator.store.reads.queues import list_queues
from web.api.fields import Count, OfApp, Paged, Strict, Text
from web.api.noun import Noun, answered, paged
from web.api.shapes.operations import PoolPage, PoolShape, PoolUsePage, QueuePage
from web.api.use import app_seen, for_all_apps
from web.application import database, engine
from web.auth import actor

pools = Noun("pools", "Named slots that steps of all runs share, and queues. Both are of all apps.")


class PoolBody(Strict):
    """How large it is to be."""

    slots = Count(most=MOST_SLOTS, required=True, metadata={"description": "With 0 nothing of the pool starts."})
    description = Text(load_default=None, allow_none=True, metadata={"description": "Not given, it stays."})
    reason = Text(load_default=None, allow_none=True, metadata={"description": "Why, for the audit log."})


class RemoveQuery(Strict):
    """Why."""

    reason = Text(load_default=None, metadata={"description": "Why, for the audit log."})


class UsesQuery(Paged, OfApp):
    """Which steps."""


@pools.get("/pools", PoolPage, query=Paged)
def list_all(query: dict[str, Any]) -> Response:
    """List pools by name"""
    with database().transaction() as conn:
        return paged(page_pools(conn, query["after"], query["limit"]))


@pools.get("/pools/<name>", PoolShape, refused=(404,))
def show(query: dict[str, Any], name: str) -> Response:
    """Show a pool"""
    return answered(_shown(name))


@pools.add("PUT", "/pools/<name>", Role.AUTHOR, PoolShape, also=(201,), body=PoolBody, refused=(404,))
def put(query: dict[str, Any], body: dict[str, Any], name: str) -> Response:
    """Make or change a pool

    What holds slots keeps them, also when there are fewer. 201: it is new. 404: the name cannot be printed. A token of
    one app may not: pools are of all apps.
    """
    for_all_apps("pools")
    made = set_pool(
        engine(), name, body["slots"], description=body["description"], reason=body["reason"], actor=actor()
    )
    where = {"Location": url_for("api-pools.show", name=name)} if made else {}
    return answered(_shown(name), 201 if made else 200, **where)


@pools.add("DELETE", "/pools/<name>", Role.AUTHOR, None, status=204, query=RemoveQuery, refused=(404, 409))
def delete(query: dict[str, Any], name: str) -> Response:
    """Remove a pool that no step uses

    A token of one app may not.
    """
    for_all_apps("pools")
    remove_pool(engine(), name, reason=query["reason"], actor=actor())
    return Response(status=204)


@pools.get("/pools/<name>/holders", PoolUsePage, query=UsesQuery, refused=(404,))
def holders(query: dict[str, Any], name: str) -> Response:
    """List the steps that hold slots of a pool

    In the order in which the steps were made. A token of one app sees those of its app.
    """
    with database().transaction() as conn:
        get_pool(conn, name, 0)
        return paged(page_holders(conn, name, query["after"], query["limit"], app=app_seen(query["app"])))


@pools.get("/pools/<name>/waiters", PoolUsePage, query=UsesQuery, refused=(404,))
def waiters(query: dict[str, Any], name: str) -> Response:
    """List the steps that wait for slots of a pool

    As `holders` lists those that have some.
    """
    with database().transaction() as conn:
        get_pool(conn, name, 0)
        return paged(page_waiters(conn, name, query["after"], query["limit"], app=app_seen(query["app"])))


@pools.get("/queues", QueuePage, query=Paged)
def queues(query: dict[str, Any]) -> Response:
    """List queues with their depth

    Those that have steps, of whatever app, and those that a worker takes from.
    """
    with database().transaction() as conn:
        return paged(list_queues(conn, query["after"], query["limit"]))


def _shown(name: str) -> dict[str, Any]:
    with database().transaction() as conn:
        found = get_pool(conn, name, 0)
    return {key: value for key, value in found.items() if key != "holders"}
