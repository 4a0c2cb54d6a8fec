"""The way to the broker, with the broker there and away."""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
import redis

from orchestrator import transport as transports
from orchestrator.errors import Unreachable
from orchestrator.ids import new_id, new_token
from orchestrator.store.transition import Queued
from orchestrator.transport import CeleryTransport, NullTransport

FEW_SECONDS = 10  # what a web request may wait for a dead broker, on a machine that is busy or stands still for some


def steps(count: int) -> list[Queued]:
    return [Queued(new_id(), new_token()) for _ in range(count)]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a broker that is there: on a busy machine it may answer after seconds."""
    monkeypatch.setattr(transports, "_ANSWER_SECONDS", 60.0)


@pytest.fixture
def transport(patience: None, broker_url: str) -> Iterator[CeleryTransport]:
    made = CeleryTransport(broker_url, rest=0)
    yield made
    made.close()


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def quickly(transport: CeleryTransport) -> Unreachable:
    """The error of sending to a dead broker, given in time."""
    began = time.monotonic()
    with pytest.raises(Unreachable) as caught:
        transport.send("default", steps(3))
    assert time.monotonic() - began < FEW_SECONDS
    return caught.value


def in_a_child(act: Callable[[], object]) -> int:
    """Do it in a forked child, which does not come back into the tests; its exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException:  # noqa: BLE001 - whatever it is, this process has no other end
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_each_step_is_a_message_and_the_depth_counts_them(transport: CeleryTransport) -> None:
    assert transport.depth("default") == 0
    transport.send("default", steps(250))
    transport.send("other", steps(1))
    transport.send("other", [])
    assert (transport.depth("default"), transport.depth("other")) == (250, 1)


def test_steps_can_share_messages(patience: None, broker_url: str) -> None:
    transport = CeleryTransport(broker_url, entries=100)
    transport.send("default", steps(250))
    assert transport.depth("default") == 3
    transport.close()


def test_a_broker_nobody_listens_for_is_told_at_once(silent: int) -> None:
    error = quickly(CeleryTransport("redis://:hunter2@127.0.0.1:1/0"))
    assert "refused" in str(error)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_does_not_answer_is_given_up_soon(silent: int, scheme: str) -> None:
    error = quickly(CeleryTransport(f"{scheme}://user:hunter2@127.0.0.1:{silent}//".replace("//", "//", 1)))
    assert "hunter2" not in str(error)


def test_the_depth_of_a_dead_broker_is_unknown() -> None:
    assert CeleryTransport("redis://127.0.0.1:1/0").depth("default") is None


def test_after_a_failure_callers_do_not_wait_again_for_a_while(silent: int) -> None:
    transport = CeleryTransport(f"redis://127.0.0.1:{silent}/0", rest=60)
    first = quickly(transport)
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(Unreachable) as caught:
            transport.send("default", steps(1))
        assert str(caught.value) == str(first)
    assert time.monotonic() - began < FEW_SECONDS  # 20 that waited would take a second each


def test_a_connection_that_died_unnoticed_is_made_anew(transport: CeleryTransport, broker_url: str) -> None:
    transport.send("default", steps(1))
    with redis.Redis.from_url(broker_url) as client:
        mine = client.client_info()["id"]
        others = [c["id"] for c in client.client_list() if c["db"] == str(urlsplit(broker_url).path[1:])]
        for other in others:
            if int(other) != mine:
                client.client_kill_filter(_id=other)
    transport.send("default", steps(2))
    assert transport.depth("default") == 3


def test_a_broker_that_was_flushed_takes_messages_as_before(transport: CeleryTransport, broker_url: str) -> None:
    transport.send("default", steps(5))
    with redis.Redis.from_url(broker_url) as client:
        client.flushdb()
    transport.send("default", steps(2))
    assert transport.depth("default") == 2


def test_a_forked_child_sends_on_a_connection_of_its_own(transport: CeleryTransport) -> None:
    transport.send("default", steps(1))
    assert in_a_child(lambda: transport.send("default", steps(10))) == 0
    transport.send("default", steps(100))
    assert transport.depth("default") == 111


def test_a_child_forked_while_another_thread_sends_is_not_stuck(transport: CeleryTransport) -> None:
    stop = threading.Event()

    def keep_sending() -> None:
        while not stop.is_set():
            transport.send("default", steps(5))

    thread = threading.Thread(target=keep_sending)
    thread.start()
    try:
        for _ in range(60):
            assert in_a_child(lambda: transport.send("other", steps(1))) == 0
    finally:
        stop.set()
        thread.join()
    assert transport.depth("other") == 60


def test_threads_share_one_producer(transport: CeleryTransport) -> None:
    threads = [threading.Thread(target=transport.send, args=("default", steps(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert transport.depth("default") == 400


def test_the_null_transport_sends_nothing() -> None:
    NullTransport().send("default", steps(3))
    assert NullTransport().depth("default") == 0
