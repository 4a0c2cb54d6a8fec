"""Worker and beat processes."""

from __future__ import annotations

from typing import Any

from flask import Response

from orchestrator.store.reads.workers import get_worker, page_running, page_workers
from web.api.fields import OfApp, Paged
from web.api.noun import Noun, answered, paged
from web.api.shapes.operations import RunningPage, WorkerPage, WorkerShape
from web.api.use import app_seen
from web.application import database

workers = Noun("workers", "Worker and beat processes. They work for all apps.")


class RunningQuery(Paged, OfApp):
    """Which steps."""


@workers.get("/workers", WorkerPage, query=Paged)
def list_all(query: dict[str, Any]) -> Response:
    """List worker and beat processes

    Those that have not stopped first. One that has not been seen for a day is forgotten.
    """
    with database().transaction() as conn:
        return paged(page_workers(conn, query["after"], query["limit"]))


@workers.get("/workers/<worker_id>", WorkerShape, refused=(404,))
def show(query: dict[str, Any], worker_id: str) -> Response:
    """Show a worker"""
    with database().transaction() as conn:
        return answered(get_worker(conn, worker_id))


@workers.get("/workers/<worker_id>/steps", RunningPage, query=RunningQuery, refused=(404,))
def list_running(query: dict[str, Any], worker_id: str) -> Response:
    """List what a worker runs now

    Steps and items. A token of one app sees those of its app.
    """
    with database().transaction() as conn:
        get_worker(conn, worker_id)
        return paged(page_running(conn, worker_id, query["after"], query["limit"], app=app_seen(query["app"])))
