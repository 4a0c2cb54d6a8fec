"""Webhooks: what programs elsewhere call to start runs and send events, and their management."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, request, url_for
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.domain.signatures import SCHEMES, TIMED
from orchestrator.services.call_hook import Call, NotSigned, act_on_call, verify_call
from orchestrator.services.hooks import BODY, HookSpec, Secret, create_hook, remove_hook, rotate_hook, set_enabled
from orchestrator.services.seal import Seal
from orchestrator.store.reads.hooks import get_hook, list_hooks
from web.api.bodies import read_json
from web.api.fields import AnyJson, Name, OfApp, Paged, Strict, Text, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.hooks import CalledShape, HookPage, HookSecretShape, HookShape
from web.api.use import app_seen
from web.application import database, engine
from web.auth import actor
from web.errors import TooLarge, Unauthenticated
from web.problems import slug_of
from web.rates import Rates

hooks = Noun("hooks", "Webhooks: what programs elsewhere call, signed, to start runs and send events.")

# Of no use to a template, or nobody's business in a run's input.
_HIDDEN_HEADERS = frozenset(
    {"authorization", "cookie", "x-orchestrator-signature", "x-hub-signature", "x-hub-signature-256"}
)
_CALL = {
    "security": [],
    "requestBody": {
        "required": False,
        "description": "Whatever the sender sends: JSON and forms are read, anything else is a text.",
        "content": {"application/json": {"schema": {}}, "application/x-www-form-urlencoded": {"schema": {}}},
    },
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": told,
            "schema": {"type": "string"},
        }
        for name, told in (
            ("X-Orchestrator-Timestamp", "Seconds since 1970; at most five minutes ago."),
            ("X-Orchestrator-Signature", "`sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY`, in hex."),
            ("X-Hub-Signature-256", "Of hooks of the scheme `github`, of the body alone."),
            ("X-GitHub-Delivery", "Of hooks of the scheme `github`: what a delivery is known again by."),
        )
    ],
}


class HooksQuery(Paged, OfApp):
    """Which hooks."""


class HookBody(Strict):
    """What it does."""

    name = Name(required=True)
    app = Name(load_default=None, allow_none=True, metadata={"description": "Whose it is; default: the configured."})
    workflow = Name(load_default=None, allow_none=True, metadata={"description": "Start this workflow."})
    event = Name(load_default=None, allow_none=True, metadata={"description": "Send this event to a run."})
    run = Text(load_default=None, allow_none=True, metadata={"description": "To which: `{{ body.run_id }}`."})
    scheme = one_of(SCHEMES, load_default=TIMED, metadata={"description": "How calls are signed."})
    input = AnyJson(
        load_default=BODY,
        metadata={"description": "Template over `body`, `headers` and `query` of the input, or payload."},
    )
    idempotency_key = Text(
        load_default=None, allow_none=True, metadata={"description": "Template: the same key again starts nothing."}
    )


class SwitchBody(Strict):
    """Whether it may be called."""

    enabled = fields.Boolean(required=True)


@hooks.get("/hooks", HookPage, role=Role.AUTHOR, query=HooksQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List hooks by name"""
    with database().transaction() as conn:
        return paged(list_hooks(conn, query["after"], query["limit"], app=app_seen(query["app"])))


@hooks.post("/hooks", HookSecretShape, role=Role.AUTHOR, status=201, body=HookBody, refused=(404, 409))
def create(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Make a hook

    Its secret is in this answer, and cannot be had again. 409: the app has a hook of this name, or SECRET_KEY is not
    set.
    """
    spec = HookSpec(**{name: body[name] for name in HookSpec.__slots__})
    made = create_hook(engine(), _seal(), body["name"], spec, app=app_seen(body["app"]), actor=actor())
    return answered(_secret(made), 201, Location=url_for("api-hooks.show", hook_id=made.id))


@hooks.get("/hooks/<hook_id>", HookShape, role=Role.AUTHOR, refused=(404,))
def show(query: dict[str, Any], hook_id: str) -> Response:
    """Show a hook"""
    with database().transaction() as conn:
        return answered(get_hook(conn, hook_id, app=app_seen(None)))


@hooks.add("PATCH", "/hooks/<hook_id>", Role.AUTHOR, HookShape, body=SwitchBody, refused=(404, 409))
def switch(query: dict[str, Any], body: dict[str, Any], hook_id: str) -> Response:
    """Switch a hook on or off

    One that is off is not there for callers.
    """
    id = set_enabled(engine(), hook_id, body["enabled"], app=app_seen(None), actor=actor())
    with database().transaction() as conn:
        return answered(get_hook(conn, id))


@hooks.post("/hooks/<hook_id>/rotate", HookSecretShape, role=Role.AUTHOR, refused=(404, 409))
def rotate(query: dict[str, Any], hook_id: str) -> Response:
    """Give a hook a new secret

    The old one signs nothing any more.
    """
    return answered(_secret(rotate_hook(engine(), _seal(), hook_id, app=app_seen(None), actor=actor())))


@hooks.add("DELETE", "/hooks/<hook_id>", Role.AUTHOR, None, status=204, refused=(404, 409))
def remove(query: dict[str, Any], hook_id: str) -> Response:
    """Remove a hook"""
    remove_hook(engine(), hook_id, app=app_seen(None), actor=actor())
    return Response(status=204)


def call(hook_id: str) -> Response:
    """Call a hook

    For programs elsewhere, which have no token: they sign. Its workflow is started, or its event sent; 202 with the
    run. 409: this call was taken before, or the event does not fit the run's state.
    """
    rates: Rates = current_app.extensions["orchestrator.rates"]
    rates.take(f"hook from {request.remote_addr}")
    sent = _sent()
    try:
        verified = verify_call(engine(), _seal(), hook_id, sent)
    except NotSigned as error:
        raise Unauthenticated(str(error)) from error
    rates.take(f"hook {verified.hook.id}")
    headers = {name: value for name, value in sent.headers.items() if name not in _HIDDEN_HEADERS}
    scope = {"body": _body(sent.body), "headers": headers, "query": request.args.to_dict()}
    called = act_on_call(engine(), verified, scope)
    return answered({"run_id": called.run_id, "created": called.created}, 202)


def _add_call() -> None:
    """Not as other routes: nobody needs a token, and whatever is in the query is the sender's."""
    view: Any = hooks.response(202, CalledShape)(call)
    for status in (400, 401, 404, 409, 413, 422, 429, 500, 503):
        view = hooks.alt_response(status, response=slug_of(status))(view)
    hooks.route("/hooks/<hook_id>", methods=["POST"], tags=[hooks.title])(hooks.doc(**_CALL)(view))


_add_call()


def _sent() -> Call:
    most = engine().settings.max_output_bytes
    body = request.get_data(cache=True)
    if len(body) > most:
        raise TooLarge(f"a call may have {most} bytes (ORCHESTRATOR_MAX_OUTPUT_BYTES)")
    return Call({name.lower(): value for name, value in request.headers.items()}, body)


def _body(sent: bytes) -> Any:
    if request.is_json:
        return read_json(required=False) if sent else None
    if request.mimetype == "application/x-www-form-urlencoded":
        return request.form.to_dict()
    return sent.decode(errors="replace")


def _seal() -> Seal:
    seal: Seal = current_app.extensions["orchestrator.seal"]
    return seal


def _secret(made: Secret) -> dict[str, Any]:
    return {"id": made.id, "name": made.name, "path": url_for("api-hooks.call", hook_id=made.id), "secret": made.secret}
