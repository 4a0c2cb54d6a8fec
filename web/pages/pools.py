"""Queues and pools: what waits where, who holds slots, and how many there are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.pools import remove_pool, set_pool
from orchestrator.store.reads import get_pool, list_pools
from orchestrator.store.reads.pool_use import list_holders, list_waiters
from orchestrator.store.reads.queue_rows import list_queue_rows
from web.application import database, engine
from web.auth import actor
from web.errors import Forbidden
from web.pages.forms import beside, whole_number
from web.pages.frame import done, identity, needs, page_blueprint, render, show_errors

pools = page_blueprint("pools")


@pools.get("/pools")
def index() -> str:
    """Both lists; asked for by htmx, they live."""
    with database().transaction() as conn:
        values: dict[str, Any] = {"queues": list_queue_rows(conn), "pools": list_pools(conn)}
    part = request.headers.get("HX-Target") == "pools-list"
    return render("pools/list.html" if part else "pools/index.html", now=_now(), may=_may(), **values)


@pools.get("/pools/pool")
def show() -> str:
    """One pool: who holds its slots, and who waits for one."""
    with database().transaction() as conn:
        pool = get_pool(conn, request.args.get("name", ""), 0)
        holders, waiters = list_holders(conn, pool["name"]), list_waiters(conn, pool["name"])
    part = request.headers.get("HX-Target") == "pool-use"
    template = "pools/use.html" if part else "pools/show.html"
    return render(template, pool=pool, holders=holders, waiters=waiters, now=_now(), may=_may())


@pools.get("/pools/set")
@needs(Role.AUTHOR)
def ask() -> str:
    """The form for a new pool, or for the slots of one."""
    _check_may()
    return render("pools/set.html", pool=_meant(), given=None, errors={})


@pools.post("/pools/set", endpoint="set")
@needs(Role.AUTHOR)
def change() -> Response:
    _check_may()
    pool, form, errors = _meant(), request.form, {}
    name = pool["name"] if pool else form.get("name", "").strip()
    slots = whole_number(form.get("slots", "").strip())
    if slots is None:
        errors["slots"] = "How many slots: a whole number."
    else:
        options = {"description": form.get("description", "").strip() or None, "reason": _reason()}
        try:
            made = set_pool(engine(), name, slots, **options, actor=actor())
            return done(url_for("pools.show", name=name), f"The pool is {'made' if made else 'changed'}.")
        except InvalidInput as error:
            errors = beside(error, {"slots": "slots", "name": "name"})
    return show_errors("pools/set.html", pool=pool, given=form, errors=errors)


@pools.get("/pools/remove")
@needs(Role.AUTHOR)
def ask_remove() -> str:
    """What removing it means."""
    _check_may()
    return render("pools/remove.html", pool=_known(), errors={})


@pools.post("/pools/remove")
@needs(Role.AUTHOR)
def remove() -> Response:
    _check_may()
    pool = _known()
    try:
        remove_pool(engine(), pool["name"], reason=_reason(), actor=actor())
    except Conflict as error:
        return show_errors("pools/remove.html", pool=pool, errors={"": str(error)})
    return done(url_for("pools.index"), f"The pool '{pool['name']}' is removed.")


def _may() -> bool:
    """Pools belong to all apps: who is of one app looks at them."""
    return identity().app is None and identity().role >= Role.AUTHOR


def _check_may() -> None:
    if not _may():
        raise Forbidden("pools are shared by all apps: this takes a token of all apps")


def _known() -> dict[str, Any]:
    pool = _meant()
    if pool is None:
        raise NotFound("name a pool")
    return pool


def _meant() -> dict[str, Any] | None:
    name = request.args.get("name")
    if name is None:
        return None
    with database().transaction() as conn:
        return get_pool(conn, name, 0)


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None


def _now() -> str:
    return datetime.now(UTC).isoformat()
