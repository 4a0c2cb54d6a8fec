"""Functions that steps may call."""

from __future__ import annotations

from typing import Any

from flask import Response

from orchestrator.store.reads.functions import get_function, page_functions, page_users
from web.api.fields import OfApp, Paged
from web.api.noun import Noun, answered, paged
from web.api.shapes.operations import FunctionDetailShape, FunctionPage, FunctionUserPage
from web.api.use import app_seen
from web.application import database

functions = Noun("functions", "Functions that workers have announced, and that steps may call.")

_SHOWN = 100  # of the workflows that call a function


class UsersQuery(Paged, OfApp):
    """Which workflows: all, or those an app sees."""


@functions.get("/functions", FunctionPage, query=Paged)
def list_all(query: dict[str, Any]) -> Response:
    """List functions by name"""
    with database().transaction() as conn:
        return paged(page_functions(conn, query["after"], query["limit"]))


@functions.get("/functions/<name>", FunctionDetailShape, query=OfApp, refused=(404,))
def show(query: dict[str, Any], name: str) -> Response:
    """Show a function and who uses it"""
    with database().transaction() as conn:
        found = get_function(conn, name)
        users = page_users(conn, name, None, _SHOWN, app=app_seen(query["app"]))
    return answered(found | {"used_by": users.items})


@functions.get("/functions/<name>/workflows", FunctionUserPage, query=UsersQuery, refused=(404,))
def list_users(query: dict[str, Any], name: str) -> Response:
    """List the workflows that call a function

    By name, each with its steps that do; its latest revision is looked at.
    """
    with database().transaction() as conn:
        get_function(conn, name)
        return paged(page_users(conn, name, query["after"], query["limit"], app=app_seen(query["app"])))
