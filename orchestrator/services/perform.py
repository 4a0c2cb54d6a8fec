"""Run one claimed attempt in this process: prepare, call, and turn what happened into an outcome."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.context import AttemptContext, AttemptLink
from orchestrator.domain.definition import Step
from orchestrator.domain.items import index_of, is_item
from orchestrator.domain.masking import Masker
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import describe_exception, storable
from orchestrator.errors import AttemptCanceled, AttemptTimeout, Fail, RetryLater, Skip, TooLarge, UnstorableValue
from orchestrator.services.begun import attempted
from orchestrator.services.claim import Claimed, NotPrepared, Prepared, prepare
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.celery import call_celery
from orchestrator.services.kinds.go_on import go_on, kind_of
from orchestrator.services.kinds.turn import wait_for_turn


@dataclass(frozen=True, slots=True)
class Performed:
    """An attempt's outcome and the JSON text of its rendered input (None when it could not be rendered)."""

    outcome: Outcome
    input_json: str | None


Guard = Callable[[Prepared], AbstractContextManager[object]]


def perform(
    engine: Engine,
    claimed: Claimed,
    link: AttemptLink,
    log: logging.Logger,
    guard: Guard = lambda _: nullcontext(),
    *,
    ctrl_c: bool = True,
) -> Performed:
    """Perform the attempt. `guard` wraps the call: it enforces the timeout (`AttemptTimeout`) and captures logs.

    `ctrl_c`: a `KeyboardInterrupt` is a person's, who wants the process to end, and is let through. In a worker
    none comes from outside, so that it is the function's own and its failure.
    """
    step = _step(engine, claimed)
    kind = kind_of(step, claimed.position)
    if kind is not None or engine.calls_celery(step):
        turn = call_celery(engine, claimed) if kind is None else go_on(engine, claimed, kind)
        return Performed(turn.outcome, turn.input_json)
    spec = engine.functions.get(step.function or "")
    if spec is not None and spec.rate is not None:
        early = wait_for_turn(engine, claimed, spec.name, spec.rate)
        if early is not None:
            return Performed(early, None)
    try:
        prepared = prepare(engine, claimed)
    except NotPrepared as refused:
        return Performed(refused.outcome, refused.input_json)
    try:
        outcome = _call(engine, prepared, link, log, guard)
    except KeyboardInterrupt as error:
        if ctrl_c:
            raise
        outcome = _failed(error)
    return Performed(masked(outcome, prepared.masker), prepared.input_json)


def _step(engine: Engine, claimed: Claimed) -> Step:
    plan = engine.plan(claimed.revision_id)
    if plan.is_begun(claimed.position):
        return attempted(engine, plan, claimed)
    return plan.at(claimed.position).step


def masked(outcome: Outcome, masker: Masker) -> Outcome:
    """The outcome without the secrets its function echoed."""
    if not masker:
        return outcome
    error = outcome.error
    if error is not None:
        traceback = masker.text(error.traceback) if error.traceback else None
        error = replace(error, message=masker.text(error.message), traceback=traceback)
    text = masker.json(outcome.output_json) if outcome.output_json else None
    return replace(outcome, error=error, output_json=text, output=json.loads(text) if text else None)


def _call(engine: Engine, prepared: Prepared, link: AttemptLink, log: logging.Logger, guard: Guard) -> Outcome:
    kwargs = dict(prepared.kwargs)
    if prepared.spec.wants_context:
        kwargs["ctx"] = make_context(prepared, link, log)
    try:
        with guard(prepared):
            result = prepared.spec.call(**kwargs)
        value, text = storable(result, max_bytes=engine.most_bytes)
    except UnstorableValue as error:
        message = f"what it returned cannot be stored: {error}"
        message += f" ({engine.limit_in_words})" if isinstance(error, TooLarge) else ""
        return Outcome.failed(ErrorInfo("UnstorableValue", message, classes=("UnstorableValue",)), final=True)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a user's function raises is the attempt's end
        return outcome_of(error, prepared.timeout)
    return replace(Outcome.succeeded(value, text), keep=prepared.keep)


def make_context(prepared: Prepared, link: AttemptLink, log: logging.Logger) -> AttemptContext:
    claimed = prepared.claimed
    return AttemptContext(
        run_id=claimed.run_id,
        step=prepared.step.name,
        attempt=claimed.attempt,
        idempotency_key=f"{claimed.run_id}:{claimed.step_id}",
        item_index=index_of(claimed.position) if is_item(claimed.position) else None,
        log=log,
        _link=link,
    )


def outcome_of(error: BaseException, timeout: float | None) -> Outcome:
    """What raising `error` means for the attempt."""
    cls = type(error)  # `isinstance` would also ask for `__class__`, which an exception's class may define
    if issubclass(cls, AttemptTimeout) and timeout is not None:
        return Outcome.timed_out(timeout)
    if issubclass(cls, AttemptCanceled):
        return Outcome(OutcomeKind.CANCELED, error=_info(error))
    if issubclass(cls, Skip):
        return Outcome(OutcomeKind.SKIPPED, error=_info(error))
    if issubclass(cls, RetryLater):
        return Outcome(OutcomeKind.RETRY_LATER, error=_info(error), retry_after=seconds_asked(error))
    return _failed(error, final=issubclass(cls, Fail))


def _failed(error: BaseException, *, final: bool = False) -> Outcome:
    return Outcome.failed(_info(error), final=final)


def _info(error: BaseException) -> ErrorInfo:
    told: dict[str, Any] = describe_exception(error)
    return ErrorInfo(told["type"], told["message"], told.get("traceback"), tuple(told["classes"]))


def seconds_asked(error: BaseException) -> float | None:
    """`RetryLater(after=...)` as seconds; what is not a usable number falls back to the step's own delay."""
    try:
        after: Any = getattr(error, "after", None)  # a subclass may not have called our `__init__`
        usable = isinstance(after, int | float) and not isinstance(after, bool) and 0 <= after < 10**9
        return float(after) if usable else None
    except BaseException:  # noqa: BLE001 - a subclass may make anything of it, which is then no number
        return None
