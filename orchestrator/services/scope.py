"""What templates of one run see, read when first needed within one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.blobs import holds
from orchestrator.domain.cascade import Ended
from orchestrator.domain.celery_task import STEPS
from orchestrator.domain.definition import Edge
from orchestrator.domain.expressions import (
    Expression,
    Limits,
    References,
    Template,
    compile_expression,
    compile_template,
    truthy,
)
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.outcome import ErrorInfo
from orchestrator.domain.precedence import PastEnd
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, NotFound, UnstorableValue
from orchestrator.services.engine import DEFAULT_QUEUE, Engine
from orchestrator.store import pools, runs, steps, workers
from orchestrator.store.item_rows import filled
from orchestrator.store.runs import RunFacts


class RunScope:
    """The scopes of SPEC section 2 for one run, and the `Judge` of its cascades.

    `facts` are given for a run that is not stored yet. `also`: what its templates see besides, such as an item.
    `published` gathers run variables set in this transaction; they show at once. `closing` and `admitting`: who made
    the scope goes on by itself with what ends the run, or with the runs that wait for its end, however many there are.
    `literal`: what it renders are no templates.
    """

    def __init__(
        self,
        engine: Engine,
        conn: Connection,
        plan: Plan,
        run_id: str,
        facts: RunFacts | None = None,
        *,
        also: Mapping[str, Any] | None = None,
    ) -> None:
        self.engine, self.conn, self.plan, self.run_id = engine, conn, plan, run_id
        self.published: dict[str, Any] = {}
        self.closing = self.admitting = self.literal = False
        self._also = dict(also or {})
        self._facts = facts
        self._results: dict[str, dict[str, Any]] = {}
        self._whole: dict[str, Any] = {}  # outputs that lie in the blob store

    @property
    def facts(self) -> RunFacts:
        if self._facts is None:
            self._facts = runs.load_run(self.conn, self.run_id)
        if self._facts is None:
            raise NotFound(f"there is no run {self.run_id}")
        return self._facts

    def render(self, value: Any, extra: Mapping[str, Any] | None = None, *, pass_on: bool = False) -> Any:
        """Render a template over the run; raises `ExpressionError`.

        `pass_on`: an output that lies in the blob store and is not looked into is its reference.
        """
        if self.literal:
            return value
        template: Template = compile_template(value)
        if template.constant:
            return value
        used = template.references
        read = used.looked if pass_on else used.outputs
        return template.render(self._values(used, read, extra or {}), Limits(output=self.engine.most_bytes))

    def evaluate(self, text: str, extra: Mapping[str, Any] | None = None) -> bool:
        """The truth of a bare expression over the run; raises `ExpressionError`."""
        expression: Expression = compile_expression(text)
        used = expression.references
        return truthy(expression.evaluate(self._values(used, used.outputs, extra or {})))

    def publish(self, templates: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        """Render `publish` templates into run variables; all or none. Raises `ExpressionError`.

        A run's variables are bounded together. What others publish at the same moment is not seen, so that steps need
        not wait for each other: the bound may be passed by as much.
        """
        if templates:
            rendered = {name: self.render(template, extra) for name, template in templates.items()}
            self._check_size(self.facts.vars | self.published | rendered)
            self.published |= rendered

    def _check_size(self, value: Any) -> None:
        try:
            storable(value, max_bytes=self.engine.settings.max_output_bytes)
        except UnstorableValue as error:
            raise ExpressionError(f"what it publishes cannot be stored: {error}") from error

    # The judge of a cascade.

    def edge_holds(self, edge: Edge, source: Ended) -> bool:
        return edge.when is None or self.evaluate(edge.when, {"result": source.output, "error": _error(source.error)})

    def step_holds(self, step: PlanStep) -> bool:
        return step.step.when is None or self.evaluate(step.step.when)

    def queue_of(self, step: PlanStep) -> str:
        if step.step.pool is not None:
            self._check_pool(step.step.pool, step.step.slots)
        if self.engine.calls_celery(step.step):
            return STEPS
        if step.step.queue is not None:
            return queue_name(self.render(step.step.queue))
        return self._function_queue(step.step.function) or DEFAULT_QUEUE

    def _check_pool(self, name: str, slots: int) -> None:
        """What can never be had is told at once, so that the run ends."""
        size = pools.find_size(self.conn, name)
        if size is None:
            raise ExpressionError(f"there is no pool '{name}' (orchestrator pools '{name}' --slots N makes it)")
        if slots > size > 0:
            raise ExpressionError(f"it takes {slots} slots of pool '{name}', which has {size}")

    def _function_queue(self, name: str | None) -> str | None:
        if name is None:
            return None
        spec = self.engine.functions.get(name)
        return spec.queue if spec else workers.queue_of_function(self.conn, name)

    def pass_output(self, step: PlanStep) -> Any:
        output = self.render(step.step.input)
        self._check_size(output)
        self.publish(step.step.publish, {"result": output})
        return output

    def publish_failure(self, step: PlanStep, error: ErrorInfo) -> ErrorInfo:
        shown = {"type": error.type, "message": error.message}
        try:
            self.publish(step.step.publish_on_failure, {"error": shown, "result": None})
        except ExpressionError as refused:
            return replace(error, message=f"{error.message}\npublish_on_failure failed: {refused}")
        return error

    def note(self, ended: Ended) -> None:
        name = self.plan.at(ended.position).name
        items = counts_of(self.plan, name, ended.items)
        self._results[name] = step_view(ended.status.value, ended.output, ended.error, ended.attempt, items)

    def past_ends(self, positions: Sequence[int]) -> Mapping[int, PastEnd]:
        return steps.load_ends(self.conn, self.run_id, positions)

    # Scopes.

    def _values(self, references: References, read: Collection[str], extra: Mapping[str, Any]) -> dict[str, Any]:
        facts = self.facts
        values: dict[str, Any] = {
            "input": facts.input,
            "vars": facts.vars | self.published,
            "steps": self._steps(references, read),
            "run": run_view(facts),
            "config": facts.config,
            "__now__": facts.now,
        }
        if "result" in extra and "result" in references.roots:
            extra = {**extra, "result": self.engine.blobs.whole(extra["result"])}
        return values | self._also | dict(extra)

    def _steps(self, references: References, read: Collection[str]) -> dict[str, dict[str, Any]]:
        names = set(self.plan.positions) if references.all_steps else references.steps & self.plan.positions.keys()
        missing = {self.plan.positions[name]: name for name in names - self._results.keys()}
        if missing:
            for row in steps.load_results(self.conn, self.run_id, sorted(missing)):
                items = counts_of(self.plan, row.name, row.items)
                self._results[row.name] = step_view(row.status, row.output, row.error, row.attempt, items)
        read = names if references.all_steps else read
        return {name: self._view(name, read) for name in names if name in self._results}

    def _view(self, name: str, read: Collection[str]) -> dict[str, Any]:
        """A step, with its output as a whole where that is read."""
        view = self._results[name]
        if not holds(view["output"]) or name not in read:
            return view
        if name not in self._whole:
            self._whole[name] = self.engine.blobs.whole(view["output"])
        return {**view, "output": self._whole[name]}


def run_view(facts: RunFacts) -> dict[str, Any]:
    """The scope `run`. Handlers and compensations see what the run is about to end as, and its error."""
    status = facts.final_status if facts.closing and facts.final_status else facts.status
    return {
        "id": facts.id,
        "root_id": facts.root_id,
        "workflow": facts.workflow,
        "revision": facts.revision,
        "app": facts.app,
        "created_at": facts.created_at.isoformat(),
        "started_at": facts.started_at.isoformat() if facts.started_at else None,
        "depth": facts.depth,
        "parent_id": facts.parent_run_id,
        "tags": facts.tags,
        "status": status.value,
        "error": facts.error,
    }


def counts_of(plan: Plan, name: str, items: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """How many items of a step ended as what: none of one that has no rows for them, None of a step without items."""
    return {} if items is None and plan.positions.get(name) in plan.fans else items


def step_view(status: str, output: Any, error: Any, attempt: int, items: Mapping[str, int] | None) -> dict[str, Any]:
    """A step in the scope `steps`; `items`: how many of its items ended as what, None of one without."""
    view = {"status": status, "output": output, "error": _error(error), "attempt": attempt}
    return view if items is None else view | {"items": filled(items)}


def _error(error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {"type": error["type"], "message": error["message"]} if error else None


def queue_name(value: Any) -> str:
    """A rendered `queue`; raises `ExpressionError` for what is no name of one."""
    if not isinstance(value, str) or not value.strip() or len(value) > 255 or not value.isprintable():
        raise ExpressionError(f"`queue` must become a name of 1 to 255 printable characters, not {value!r:.80}")
    return value
