"""The places of the navigation."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app, g, request, url_for

from orchestrator.domain.roles import Role


@dataclass(frozen=True, slots=True)
class Place:
    """A page of the navigation. `key` goes there after `g`; `also`: blueprints that belong to it."""

    title: str
    endpoint: str
    icon: str
    key: str
    also: tuple[str, ...] = ()
    least: Role = Role.VIEWER


PLACES = (
    Place("Home", "home.index", "home", "h"),
    Place("Runs", "runs.index", "runs", "r", ("run", "step", "acts", "compare", "bulk")),
    Place("Workflows", "workflows.index", "workflows", "w", ("workflow", "starter", "editor")),
    Place("Schedules", "schedules.index", "schedules", "s", ("schedule_acts", "schedule_form")),
    Place("Alerts", "alerts.index", "warning", "l", ("alert_acts", "alert_form")),
    Place("Approvals", "approvals.index", "approvals", "a"),
    Place("Pools & queues", "pools.index", "pools", "p"),
    Place("Workers", "workers.index", "workers", "o"),
    Place("Audit", "audit.index", "audit", "u"),
    Place("Tokens", "tokens.index", "tokens", "k", least=Role.ADMIN),
)


@dataclass(frozen=True, slots=True)
class Link:
    """A place as the navigation shows it."""

    title: str
    url: str
    icon: str
    key: str
    here: bool


def places() -> list[Link]:
    """Those that are there and open to who is signed in."""
    identity = g.get("identity")
    shown = [place for place in PLACES if place.endpoint in current_app.view_functions]
    return [_link(place) for place in shown if identity is not None and identity.role >= place.least]


def _link(place: Place) -> Link:
    own = place.endpoint.partition(".")[0]
    here = request.blueprint in (own, *place.also)
    return Link(place.title, url_for(place.endpoint), place.icon, place.key, here)
