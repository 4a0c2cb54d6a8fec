"""The way to the workers: hints sent through Celery's broker. The only file of this package that knows Celery.

A message says which steps to run and under which claim tokens, and holds nothing else. It may be lost, late or
doubled: Postgres is the truth, and the coordinator sends again what nobody has claimed.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from celery import Celery
from kombu import Connection, Producer
from kombu.exceptions import KombuError
from kombu.transport.virtual import Channel as EmulatedChannel

from orchestrator.config_urls import masked
from orchestrator.domain.celery_task import callbacks
from orchestrator.errors import Unreachable
from orchestrator.ids import new_token
from orchestrator.services.engine import CeleryCall
from orchestrator.store.transition import Queued

RUN_STEPS = "orchestrator.run_steps"
COORDINATE = "orchestrator.coordinate"
_ANSWER_SECONDS = 1.0  # bounds connecting and each answer
_BATCH = 100  # messages sent in one round trip, where the broker can
_TRANSIENT, _PERSISTENT = 1, 2  # AMQP: a lost hint is sent again, so it need not be written to disk

Given = TypeVar("Given")


class NullTransport:
    """Sends nothing: what is ready is left to the coordinator, which has a broker."""

    sends = False

    def send(self, queue: str, queued: Sequence[Queued]) -> None:
        """Drop them; they stay queued."""

    def depth(self, queue: str) -> int | None:
        return 0

    def call(self, call: CeleryCall) -> None:
        """There is nobody to call; raises `Unreachable`."""
        raise Unreachable("there is no broker to send a Celery task to")

    def revoke(self, calls: Sequence[str]) -> None:
        raise Unreachable("there is no broker to reach Celery's workers by")

    def close(self) -> None:
        """There is nothing to close."""


@dataclass(slots=True)
class _Link:
    """What a process has of the broker."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: Connection | None = None
    producer: Producer | None = None
    declared: set[str] = field(default_factory=set)
    rests_until: float = 0.0
    failure: str = ""


class CeleryTransport:
    """One producer a process, made at the first use, made anew after a failure and in a forked child.

    `entries` is how many steps share a message. After a failure nothing is tried for `rest` seconds, so that a dead
    broker costs its callers one wait and not one each.
    """

    sends = True

    def __init__(self, broker_url: str, *, entries: int = 1, rest: float = 1.0) -> None:
        self._app = Celery(broker=broker_url, set_as_current=False)
        self._entries, self._rest = entries, rest
        self._link, self._inherited = _Link(), list[_Link]()
        self._forking: int | None = None
        # A child must not write to its parent's socket, nor wait for a lock some other thread held at the fork: ours,
        # or one that kombu keeps for the whole process and holds while it connects.
        hold, let_go, forget = (weakref.WeakMethod(act) for act in (self._hold, self._let_go, self._forget))
        os.register_at_fork(
            before=lambda: (hold() or _nothing)(),
            after_in_parent=lambda: (let_go() or _nothing)(),
            after_in_child=lambda: (forget() or _nothing)(),
        )

    def send(self, queue: str, queued: Sequence[Queued]) -> None:
        """Send the steps to the workers of `queue`; raises `Unreachable`."""
        if queued:
            self._reach(lambda connection, producer: self._publish(producer, queue, queued))

    def depth(self, queue: str) -> int | None:
        """Messages waiting in the queue; None when the broker cannot tell or cannot be reached."""
        try:
            return self._reach(lambda connection, producer: _depth(connection, producer, queue))
        except Unreachable:
            return None

    def call(self, call: CeleryCall) -> None:
        """Send a task to plain Celery workers; raises `Unreachable`."""
        self._reach(lambda connection, producer: self._publish_call(producer, call))

    def revoke(self, calls: Sequence[str]) -> None:
        """Tell plain Celery workers not to begin with these tasks; raises `Unreachable`."""
        self._reach(lambda connection, producer: self._app.control.revoke(list(calls), connection=connection))

    def close(self) -> None:
        """Close the connection; the next use makes another."""
        with self._link.lock:
            self._drop()

    def _publish(self, producer: Producer, queue: str, queued: Sequence[Queued]) -> None:
        if not isinstance(producer.channel, EmulatedChannel):  # Redis and its like need no declaring
            self._declare(producer.channel, queue)
        with _batched(producer):
            for start in range(0, len(queued), self._entries):
                self._publish_one(producer, queue, queued[start : start + self._entries])

    def _publish_one(self, producer: Producer, queue: str, queued: Sequence[Queued]) -> None:
        entries = [[q.step_id, q.token] for q in queued]
        message = self._app.amqp.create_task_message(
            new_token(), RUN_STEPS, args=[entries], ignore_result=True, argsrepr=entries[0][0], kwargsrepr=""
        )
        # The default exchange needs no binding, which a flushed Redis would have lost.
        producer.publish(
            message.body,
            exchange="",
            routing_key=queue,
            serializer="json",
            headers=message.headers,
            delivery_mode=_TRANSIENT,
            **message.properties,
        )

    def _publish_call(self, producer: Producer, call: CeleryCall) -> None:
        if not isinstance(producer.channel, EmulatedChannel):
            self._declare_foreign(call.queue)
        answered, failed = callbacks(call.step_id, call.token)
        message = self._app.amqp.create_task_message(
            call.token,
            call.name,
            kwargs=dict(call.kwargs),
            callbacks=answered,
            errbacks=failed,
            expires=call.expires,
            time_limit=call.time_limit,
            ignore_result=False,  # an error kept in a result backend can be told (docs/celery.md)
            argsrepr="()",
            kwargsrepr=call.shown,
        )
        producer.publish(
            message.body,
            exchange="",
            routing_key=call.queue,
            serializer="json",
            headers=message.headers,
            delivery_mode=_PERSISTENT,
            **message.properties,
        )

    def _declare_foreign(self, queue: str) -> None:
        """Its workers have declared it, with what arguments they like; else it is made as their app would make it."""
        if queue in self._link.declared or self._link.connection is None:
            return
        probe: Any = self._link.connection.channel()
        try:
            probe.queue_declare(queue, passive=True)
        except self._link.connection.channel_errors:  # the answer has closed the channel
            probe = self._link.connection.channel()
            self._app.amqp.queues[queue](probe).declare()
        finally:
            probe.close()
        self._link.declared.add(queue)

    def _declare(self, channel: Any, queue: str) -> None:
        """An AMQP broker drops what goes to a queue that does not exist; once a connection is enough."""
        if queue not in self._link.declared:
            self._app.amqp.queues[queue](channel).declare()
            self._link.declared.add(queue)

    def _reach(self, act: Callable[[Connection, Producer], Given]) -> Given:
        link = self._link
        with link.lock:
            if time.monotonic() < link.rests_until:
                raise Unreachable(link.failure)
            try:
                return self._attempt(act)
            except _errors(link) as error:
                self._drop()
                link.rests_until = time.monotonic() + self._rest
                link.failure = f"cannot reach the broker at {self._shown()}: {error or type(error).__name__}"
                raise Unreachable(link.failure) from error

    def _attempt(self, act: Callable[[Connection, Producer], Given]) -> Given:
        """Do it; once more on a new connection when the kept one has died unnoticed."""
        kept = self._link.producer is not None
        try:
            return act(*self._connected())
        except _errors(self._link):
            if not kept:
                raise
            self._drop()
        return act(*self._connected())

    def _connected(self) -> tuple[Connection, Producer]:
        link = self._link
        if link.connection is None:
            link.connection = self._connection()
        if link.producer is None:
            _connect_once(link.connection)
            link.producer = Producer(link.connection.channel(), serializer="json", auto_declare=False)
        return link.connection, link.producer

    def _connection(self) -> Connection:
        seconds = _ANSWER_SECONDS
        connection = self._app.connection_for_write(connect_timeout=seconds)
        options: dict[str, Any] = {"read_timeout": seconds, "write_timeout": seconds}
        if connection.transport.driver_type == "redis":
            options = {"socket_connect_timeout": seconds, "socket_timeout": seconds, "retry_on_timeout": False}
        connection.transport_options = (connection.transport_options or {}) | options
        return connection

    def _drop(self) -> None:
        connection, self._link.connection, self._link.producer = self._link.connection, None, None
        self._link.declared.clear()
        if connection is not None:
            connection.release()

    def _hold(self) -> None:
        """Let no thread send while this one forks, as long as that one's broker answers."""
        if self._link.lock.acquire(timeout=_ANSWER_SECONDS):
            self._forking = threading.get_ident()

    def _let_go(self) -> None:
        if self._forking == threading.get_ident():
            self._forking = None
            self._link.lock.release()

    def _forget(self) -> None:
        """Leave the link to whom it belongs, unclosed."""
        self._forking = None
        self._inherited.append(self._link)
        self._link = _Link(rests_until=self._link.rests_until, failure=self._link.failure)

    def _shown(self) -> str:
        return masked(str(self._app.conf.broker_url))


def _connect_once(connection: Connection) -> None:
    connection.ensure_connection(max_retries=0, interval_start=0, interval_step=0, reraise_as_library_errors=False)


def _nothing() -> None:
    """What a forked child does for a transport that is gone."""


def _errors(link: _Link) -> tuple[type[BaseException], ...]:
    told = link.connection
    return (
        (OSError, KombuError) if told is None else (*told.connection_errors, *told.channel_errors, OSError, KombuError)
    )


def _batched(producer: Producer) -> AbstractContextManager[Any]:
    batch: Callable[[int], AbstractContextManager[Any]] | None = getattr(producer, "batch", None)
    return nullcontext() if batch is None else batch(_BATCH)


def _depth(connection: Connection, producer: Producer, queue: str) -> int:
    channel: Any = producer.channel
    if hasattr(channel, "conn_or_acquire"):  # Redis: one list a queue, as no message has a priority
        with channel.conn_or_acquire() as client:
            return int(client.llen(queue))
    probe: Any = connection.channel()
    try:
        return int(probe.queue_declare(queue, passive=True).message_count)
    except connection.channel_errors:  # no such queue, so no message; the answer has closed the channel
        return 0
    finally:
        probe.close()


def ping(url: str, *, timeout: float = 5) -> None:
    """Connect to the broker and log in, in about `timeout` seconds; raises `Unreachable` with what it said."""
    options = {"socket_connect_timeout": timeout, "socket_timeout": timeout}
    with Connection(url, connect_timeout=timeout, transport_options=options) as connection:
        errors: tuple[type[BaseException], ...] = (*connection.connection_errors, *connection.channel_errors, OSError)
        try:
            _connect_once(connection)
        except errors as error:
            raise Unreachable(f"cannot reach the broker at {masked(url)}: {error}") from error
