"""Take queued steps for a worker, and get an attempt ready to be called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sqlalchemy import Row

from orchestrator.domain.blobs import QUOTED, holds, loads
from orchestrator.domain.definition import Step
from orchestrator.domain.expressions import Limits, compile_template
from orchestrator.domain.inputs import check_input
from orchestrator.domain.items import index_of, is_item
from orchestrator.domain.masking import MASK, NOTHING_SECRET, Masker
from orchestrator.domain.outcome import ErrorInfo, Keep, Outcome
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, InvalidInput, UnstorableValue
from orchestrator.functions import FunctionSpec, UnknownFunction
from orchestrator.services.begun import attempted, site_of
from orchestrator.services.blobs import unhurried
from orchestrator.services.engine import Engine
from orchestrator.services.scope import RunScope, counts_of, step_view
from orchestrator.services.sites import Reads, Site
from orchestrator.services.tally import Tally
from orchestrator.store import batch, results, steps
from orchestrator.store.batch import Take, Taken
from orchestrator.store.transition import Lease, Queued


class Render(Protocol):
    """`RunScope.render`."""

    def __call__(self, value: Any, extra: Mapping[str, Any] | None = None, *, pass_on: bool = False) -> Any: ...


# What an attempt gets whose total_timeout ran out on its way here: it ends by its timeout, as any other.
_SHORTEST = 0.001
_MOST_KEY = 1 << 20  # bytes of a kept result's key


@dataclass(frozen=True, slots=True)
class Claimed:
    """An attempt this process holds. `attempt` counts from 1, lost ones included.

    `run_input`, `item`: JSON texts of the run's input and of what an item is, None when they are not at hand.
    `waited`, `fetched`: seconds from ready to sent and from there to here.
    """

    step_id: str
    token: str
    run_id: str
    revision_id: str
    position: int
    attempt: int
    queue: str
    run_input: str | None = None
    item: str | None = None
    waited: float | None = 0.0
    fetched: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call ready to be made; `timeout` in seconds; `keep`: under what its result may be used again."""

    claimed: Claimed
    step: Step
    spec: FunctionSpec
    kwargs: dict[str, Any]
    input_json: str
    timeout: float | None
    masker: Masker
    keep: Keep | None = None


class NotPrepared(Exception):
    """The attempt cannot be made; `outcome` is its end."""

    def __init__(self, outcome: Outcome, input_json: str | None = None) -> None:
        self.outcome, self.input_json = outcome, input_json
        super().__init__(outcome)


def claim(engine: Engine, queued: Sequence[Queued], lease: Lease) -> list[Claimed]:
    """The steps of a message that are still to be run, in the message's order. Losing the commit loses nothing."""
    return counted(engine.tally, "message", batch.claim(engine.db, queued, lease))


def claim_ready(engine: Engine, wanted: Take) -> list[Claimed]:
    """The best ready steps of a queue. Losing the commit loses nothing."""
    return counted(engine.tally, "taken", batch.take(engine.db, wanted))


def counted(tally: Tally, way: str, taken: Iterable[Taken]) -> list[Claimed]:
    """The attempts, which the metrics tell of: how they came here, and how long that took."""
    claimed = [Claimed(*one) for one in taken]
    for one in claimed:
        waited, fetched = one.waited or 0.0, one.fetched or 0.0
        tally.count(f"claims.{way}", one.queue)
        tally.observe("begun", waited + fetched, one.queue)
        if way == "message":
            tally.observe("sent", waited)
            tally.observe("fetched", fetched)
    return claimed


def release(engine: Engine, claimed: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Give back (step id, token) pairs that were never begun; the queues that have ready steps then."""
    return batch.release(engine.db, claimed) if claimed else frozenset()


def claimed_from(row: Row[Any]) -> Claimed:
    """From a row of `transition.take`."""
    return Claimed(row.id, row.claim_token, row.run_id, row.revision_id, row.position, row.attempt, row.queue)


def prepare(engine: Engine, claimed: Claimed) -> Prepared:
    """Render the attempt's input and arm its deadlines; raises `NotPrepared`.

    A step without a timeout whose templates read the run's input at most needs no transaction.
    """
    site = site_of(engine, claimed)
    if site is not None and site.spec is not None:
        alone = _arguments_alone(engine, claimed, site)
        if alone is not None:
            _check_arguments(site.spec, *alone)
            return Prepared(claimed, site.step, site.spec, *alone, None, NOTHING_SECRET)
    return unhurried(lambda: _prepared(engine, claimed))


def _prepared(engine: Engine, claimed: Claimed) -> Prepared:
    with engine.db.transaction(lazy=True) as conn:
        plan = engine.plans.get(conn, claimed.revision_id)
        step = attempted(engine, plan, claimed)
        scope = RunScope(engine, conn, plan, claimed.run_id, also=item_scope(engine, claimed))
        scope.literal = step.literal
        prepared, total = _prepare(engine, claimed, step, scope.render)
        prepared = replace(prepared, keep=cached(scope, step, prepared.kwargs, prepared.input_json))
        if prepared.timeout is None and total is None:
            return prepared
        allowed = steps.arm_deadlines(conn, claimed.step_id, claimed.token, prepared.timeout, total)
    return replace(prepared, timeout=prepared.timeout if allowed is None else max(allowed, _SHORTEST))


def _prepare(engine: Engine, claimed: Claimed, step: Step, render: Render) -> tuple[Prepared, float | None]:
    """The call, and how many seconds all attempts together may take."""
    try:
        spec = engine.functions.find(step.function or "")
        kwargs, input_json, masker = arguments(engine, render, step)
        timeout = seconds(render(step.timeout, None), "timeout")
        total = seconds(render(step.total_timeout, None), "total_timeout")
    except (ExpressionError, UnknownFunction) as error:
        raise refused(engine, error) from error
    _check_arguments(spec, kwargs, input_json)
    return Prepared(claimed, step, spec, kwargs, input_json, timeout, masker), total


def cached(scope: RunScope, step: Step, kwargs: Mapping[str, Any], input_json: str) -> Keep | None:
    """Under what the result is kept; raises `NotPrepared` with one that was, if it may be used again."""
    cache = step.cache
    if cache is None:
        return None
    try:
        own = cache.key is not None
        key = storable(scope.render(cache.key), max_bytes=_MOST_KEY)[1] if own else _input_key(kwargs, input_json)
        ttl = seconds(scope.render(cache.ttl), "cache.ttl") or 0.0
    except (ExpressionError, UnstorableValue) as error:
        raise refused(scope.engine, error) from error
    found = results.find_result(scope.conn, results.Place(scope.facts.app, step.function or "", key))
    value = None if found is None else loads(found)
    if found is None or not scope.engine.blobs.are_there(value):
        return Keep(key, ttl)
    raise NotPrepared(replace(Outcome.succeeded(value, found), cached=True), input_json)


def _input_key(kwargs: Mapping[str, Any], input_json: str) -> str:
    """The input's JSON text; where that hides secrets, with a hash that tells other ones apart."""
    real = json.dumps(kwargs, ensure_ascii=False, separators=(",", ":"))
    shown = "" if QUOTED in input_json else input_json  # the path of a blob is another one in each run
    return input_json if real == input_json else f"{shown}{hashlib.sha256(real.encode()).hexdigest()}"


def _arguments_alone(engine: Engine, claimed: Claimed, site: Site) -> tuple[dict[str, Any], str] | None:
    """The keyword arguments and their JSON text, when they need no more of the run than one look."""
    if site.input_json is not None and site.input_json.startswith("{"):
        return json.loads(site.input_json), site.input_json
    if site.reads in (Reads.NOTHING, Reads.RUN):
        return None
    scope = item_scope(engine, claimed)
    if site.reads is not Reads.ITEM:
        if claimed.run_input is None and not scope:
            return None
        scope["input"] = _run_input(engine, claimed)
    if site.reads is Reads.DATA:
        scope |= _data(engine, claimed, site)
    try:
        return _checked(engine, site.input.render(scope, Limits(output=engine.most_bytes)))
    except ExpressionError as error:
        raise refused(engine, error) from error


def _data(engine: Engine, claimed: Claimed, site: Site) -> dict[str, Any]:
    variables, found = batch.view(engine.db, claimed.run_id, site.positions)
    plan = engine.plan(claimed.revision_id)
    views = {s.name: step_view(s.status, s.output, s.error, s.attempt, counts_of(plan, s.name, s.items)) for s in found}
    used = site.input.references
    for name, view in views.items():
        if holds(view["output"]) and (used.all_steps or name in used.looked):
            view["output"] = engine.blobs.whole(view["output"])
    return {"vars": variables, "steps": views}


def _run_input(engine: Engine, claimed: Claimed) -> Any:
    """The run's input; a large one is kept for the run's other items."""
    if claimed.run_input is not None:
        return json.loads(claimed.run_input)
    return engine.inputs.of(claimed.run_id, lambda: batch.input_of(engine.db, claimed.run_id))


def item_scope(engine: Engine, claimed: Claimed) -> dict[str, Any]:
    """What only the attempt of an item sees; nothing for a step."""
    if not is_item(claimed.position):
        return {}
    item = claimed.item if claimed.item is not None else batch.item_of(engine.db, claimed.step_id)
    return {"item": engine.blobs.whole(loads(item)), "index": index_of(claimed.position)}


def refused(engine: Engine, error: Exception) -> NotPrepared:
    """What cannot be rendered or found ends the attempt; the error may quote the value it could not use."""
    return NotPrepared(failed(type(error).__name__, Masker(engine.secrets.values()).text(str(error))))


def arguments(engine: Engine, render: Render, step: Step) -> tuple[dict[str, Any], str, Masker]:
    """The keyword arguments, and their JSON text as it may be stored: without secrets."""
    if step.literal:
        return *_checked(engine, step.input), NOTHING_SECRET
    template = compile_template(step.input)
    if template.constant or "secrets" not in template.references.roots:
        return *_checked(engine, render(step.input, None, pass_on=True)), NOTHING_SECRET
    kwargs, input_json = _checked(engine, render(step.input, {"secrets": engine.secrets}))
    masker = Masker(engine.secrets.values())
    try:
        _, input_json = _checked(engine, render(step.input, {"secrets": dict.fromkeys(engine.secrets, MASK)}))
    except ExpressionError:  # a template that needs the real value, such as `secrets.port | int`
        input_json = masker.json(input_json)
    return kwargs, input_json, masker


def _checked(engine: Engine, value: Any) -> tuple[dict[str, Any], str]:
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise ExpressionError(f"`input` must be a map of keyword arguments, not {type(value).__name__}")
    try:
        kwargs, text = storable(value, max_bytes=engine.most_bytes, blobs=True)
    except UnstorableValue as error:
        raise ExpressionError(f"`input` cannot be stored: {error}") from error
    return engine.blobs.whole(kwargs), text


def _check_arguments(spec: FunctionSpec, kwargs: dict[str, Any], input_json: str) -> None:
    if spec.input_schema is None:
        return
    try:
        check_input(spec.input_schema, kwargs)
    except InvalidInput as error:
        raise NotPrepared(failed("InvalidInput", str(error)), input_json) from error


def seconds(value: Any, key: str) -> float | None:
    """A rendered length of time; raises `ExpressionError` for what is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
        raise ExpressionError(f"`{key}` must become a number of seconds above 0, not {value!r:.80}")
    return float(value)


def failed(kind: str, message: str) -> Outcome:
    """An end for good: another attempt would come to the same."""
    return Outcome.failed(ErrorInfo(kind, message, classes=(kind,)), final=True)
