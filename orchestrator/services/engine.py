"""What every use case needs, in one value."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Protocol

from orchestrator.domain.definition import Step
from orchestrator.domain.graph import Plan
from orchestrator.domain.items import fan_step, index_of, is_item, item_step
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.functions import Registry
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.services.gather import Gathered
from orchestrator.services.memory import Memory
from orchestrator.services.plans import Plans
from orchestrator.services.ring import Ring
from orchestrator.services.sites import DEFAULT_QUEUE, Site, Sites, calls_celery, make_site
from orchestrator.services.slots import Slots
from orchestrator.services.tally import Tally
from orchestrator.store.db import Database
from orchestrator.store.transition import Queued
from orchestrator.store.workflows import Found, Wanted

__all__ = ["DEFAULT_QUEUE", "Engine", "Settings", "CeleryCall", "Transport"]


@dataclass(frozen=True, slots=True)
class CeleryCall:
    """A Celery task to be run by workers that are not ours; its id is the `token` of the attempt that calls it.

    `shown` stands for the arguments in logs. `expires`, a moment, is when no worker need begin with it any more;
    `time_limit` (seconds) bounds how long it runs, where its pool can do that.
    """

    step_id: str
    token: str
    name: str
    queue: str
    kwargs: Mapping[str, Any]
    shown: str
    expires: datetime
    time_limit: float | None


class Transport(Protocol):
    """Sends hints. What it loses, the coordinator sends again.

    `sends`: whether there is a broker to send them to.
    """

    sends: bool

    def send(self, queue: str, queued: Sequence[Queued]) -> None:
        """Send the steps to a worker of the queue; raises `Unreachable`."""

    def depth(self, queue: str) -> int | None:
        """Messages waiting in the queue; None when the broker cannot tell."""

    def call(self, call: CeleryCall) -> None:
        """Send a task to plain Celery workers; raises `Unreachable`."""

    def revoke(self, calls: Sequence[str]) -> None:
        """Tell plain Celery workers not to begin with these tasks; raises `Unreachable`."""

    def close(self) -> None:
        """Close the connection to the broker; the next use makes another."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The engine's knobs; times in seconds. Each is an `ORCHESTRATOR_*` variable (config.py).

    `documents` bounds what may be registered; `max_depth` how deep runs start runs, which start runs. `public_url`:
    where the web interface is, for links in alerts; `alert_hosts`: where their webhooks may go; none named: anywhere.
    """

    app: str = "default"
    lease: float = 15.0
    max_lost: int = 3
    resend: float = 5.0
    window: int = 100
    timeout_grace: float = 5.0
    max_output_bytes: int = 1 << 20
    batch: int = 500
    celery_timeout: float = 3600.0
    max_depth: int = 8
    documents: Limits = LIMITS
    public_url: str = ""
    alert_hosts: tuple[str, ...] = ()


@dataclass(slots=True)
class Rounds:
    """Where the coordinator of this process goes on looking at child runs, which it does in portions."""

    first: ClassVar[str] = "00000000-0000-0000-0000-000000000000"
    after: str = first


@dataclass(frozen=True, slots=True)
class Engine:
    """The store, the plans, the functions of this process, and the way to the workers."""

    db: Database
    functions: Registry
    transport: Transport
    settings: Settings = Settings()
    plans: Plans = field(default_factory=Plans)
    sites: Sites = field(default_factory=Sites)
    slots: Slots = field(default_factory=Slots)
    # Large inputs of runs whose items are being run.
    inputs: Memory[str, Any] = field(default_factory=lambda: Memory(2))
    found: Memory[Wanted, Found] = field(default_factory=Memory)
    apps: Memory[str, str | None] = field(default_factory=Memory)  # of revisions and runs, by name
    starts: Gathered = field(default_factory=Gathered)
    tally: Tally = field(default_factory=Tally)
    rounds: Rounds = field(default_factory=Rounds)
    ring: Ring = field(default_factory=Ring)
    blobs: Blobs = NO_BLOBS
    # `secrets.<name>` of step inputs; only workers hold any.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    random: Callable[[], float] = random.random

    @property
    def most_bytes(self) -> int:
        """Of what an attempt is given or gives, which may lie in the blob store."""
        return self.blobs.most if self.blobs else self.settings.max_output_bytes

    @property
    def limit_in_words(self) -> str:
        """Which setting `most_bytes` is, and how larger values can be had."""
        if self.blobs:
            return "ORCHESTRATOR_BLOB_MAX"
        return "ORCHESTRATOR_MAX_OUTPUT_BYTES; larger values go to a blob store, if ORCHESTRATOR_BLOB_URL says where"

    def close(self) -> None:
        """Close the connections to the broker and to the database; the next use makes others."""
        self.transport.close()
        self.db.close()

    def effective(self, step: Step) -> Step:
        """The step with its function's own retry and timeout where it sets none."""
        if step.function is None or (step.retry is not None and step.timeout is not None):
            return step
        spec = self.functions.get(step.function)
        if spec is None or (spec.retry is None and spec.timeout is None):
            return step
        own_timeout = spec.timeout if step.timeout is None else step.timeout
        return replace(step, retry=step.retry or spec.retry, timeout=own_timeout)

    def attempted(self, plan: Plan, position: int) -> Step:
        """The step as the row at this position attempts it: for a step with items, these or what is done for them."""
        step = plan.at(position).step
        if step.with_items is None:
            return self.effective(step)
        return self.effective(item_step(step)) if is_item(position) else fan_step(step)

    def calls_celery(self, step: Step) -> bool:
        """Whether the step calls a task of plain Celery workers."""
        return calls_celery(step, self.functions)

    def plan(self, revision_id: str) -> Plan:
        """The plan of a stored revision, from memory if it is there."""
        plan = self.plans.at_hand(revision_id)
        if plan is None:
            with self.db.transaction() as conn:
                plan = self.plans.get(conn, revision_id)
        return plan

    def site(self, revision_id: str, position: int) -> Site | None:
        """What is known of a step, or of all its items, of a plan in memory; None when the plan is not.

        Steps that a function has begun have no site: see services/begun.py.
        """
        if is_item(position):
            position -= index_of(position)
        sites = self.sites.of(revision_id)
        site = sites.get(position)
        if site is None:
            plan = self.plans.at_hand(revision_id)
            if plan is None:
                return None
            step = self.attempted(plan, position)
            site = sites[position] = make_site(plan, position, step, self.functions, self.most_bytes)
        return site
