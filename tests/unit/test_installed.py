"""What a Celery project's process tells: `orchestrator.install`, without a broker."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from celery import Celery
from celery.utils.serialization import get_pickleable_exception

import orchestrator
from orchestrator import installed
from orchestrator.domain.celery_task import ANSWERS, ERROR, FAILURE, TASKS, callbacks, read_message
from orchestrator.installed import describe_failure, describe_tasks


class Odd(ValueError):
    def __init__(self, one: int, two: object) -> None:
        super().__init__(f"{one} and a lock")
        self.two = two


@pytest.fixture
def app() -> Celery:
    made = Celery("shop", broker="memory://", set_as_current=False)
    made.conf.task_routes = {"shop.far": {"queue": "far"}}

    @made.task(name="shop.near", shared=False)
    def near() -> None:
        """Is near.

        By.
        """

    @made.task(name="shop.far", shared=False)
    def far() -> None: ...

    return made


@pytest.fixture
def sent(app: Celery, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """What the project's process sends."""
    messages: list[tuple[str, list[Any], dict[str, Any]]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **options: messages.append((name, args, options)))
    return messages


def test_the_app_is_given_back_and_may_be_installed_twice(app: Celery) -> None:
    assert orchestrator.install(orchestrator.install(app)) is app
    assert ERROR in app.tasks
    assert [task["name"] for task in describe_tasks(app)] == ["shop.far", "shop.near"]


def test_tasks_are_told_with_their_queue_and_their_first_line(app: Celery) -> None:
    assert describe_tasks(app) == [
        {"name": "shop.far", "queue": "far", "description": None},
        {"name": "shop.near", "queue": "celery", "description": "Is near."},
    ]


def test_a_router_that_fails_costs_the_queue_and_not_the_worker(app: Celery) -> None:
    def router(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **_: Any) -> None:
        raise KeyError(name)

    app.conf.task_routes = (router,)
    assert [task["queue"] for task in describe_tasks(app)] == [None, None]


def test_a_failure_is_told_with_its_bases_and_the_traceback_celery_gives(app: Celery, sent: list[Any]) -> None:
    orchestrator.install(app)
    app.tasks[ERROR](None, FileNotFoundError("x"), "Traceback: here", "step", "token")
    ((name, (told, *of), options),) = sent
    assert (name, of, options["queue"], options["serializer"]) == (FAILURE, ["step", "token"], ANSWERS, "json")
    assert (told["type"], told["message"], told["traceback"]) == ("FileNotFoundError", "x", "Traceback: here")
    assert {"OSError", "Exception"} <= set(told["classes"])
    read = read_message(name, [told, *of])
    assert read.error["type"] == "FileNotFoundError"  # type: ignore[union-attr, index]


class Alone(Exception):
    def __init__(self, one: int, two: object) -> None:
        super().__init__(f"{one} alone")
        self.two = two


@pytest.mark.parametrize("kind", [Odd, Alone])
def test_an_exception_that_cannot_be_pickled_keeps_its_name(
    app: Celery, sent: list[Any], kind: type[Odd] | type[Alone]
) -> None:
    orchestrator.install(app)
    try:
        raise kind(1, threading.Lock())
    except Exception as error:  # noqa: BLE001 - as Celery catches it
        handed_on = get_pickleable_exception(error)
        assert type(handed_on) is not kind
        app.tasks[ERROR](None, handed_on, None, "step", "token")
    ((_, (told, *_), _),) = sent
    assert told["type"] == told["classes"][0] == kind.__name__
    assert told["message"] == str(kind(1, None))


def test_a_wrapped_exception_is_told_by_the_name_of_what_it_wraps() -> None:
    told = describe_failure(get_pickleable_exception(Alone(1, threading.Lock())), None)
    assert (told["type"], told["classes"]) == ("Alone", ["Alone"])
    assert "1 alone" in told["message"]


@pytest.mark.parametrize(
    ("how", "words"),
    [({"expired": True}, "too late"), ({"terminated": True}, "ended while it ran"), ({}, "before it began")],
)
def test_a_revoked_task_is_told_if_a_step_has_called_it(
    app: Celery, sent: list[Any], how: dict[str, Any], words: str
) -> None:
    orchestrator.install(app)
    request = type("Request", (), {"errbacks": callbacks("step", "token")[1]})()
    other = type("Request", (), {"errbacks": [{"task": "mine", "args": []}]})()
    for asked in (request, other, type("Request", (), {"errbacks": None})()):
        installed.signals.task_revoked.send(sender=app.tasks["shop.near"], request=asked, **how)
    ((name, (told, *of), _),) = sent
    assert (name, of, told["type"]) == (FAILURE, ["step", "token"], "TaskRevokedError")
    assert words in told["message"]


def test_a_ready_worker_tells_its_tasks_and_that_of_another_app_does_not(app: Celery, sent: list[Any]) -> None:
    orchestrator.install(app)
    for worker in (type("Worker", (), {"app": app})(), type("Worker", (), {"app": Celery(set_as_current=False)})()):
        installed.signals.worker_ready.send(sender=worker)
    ((name, (tasks,), _),) = sent
    assert (name, [task["name"] for task in tasks]) == (TASKS, ["shop.far", "shop.near"])


def test_a_broker_that_is_away_costs_what_was_to_be_told_and_nothing_else(
    app: Celery, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError("nobody")

    monkeypatch.setattr(app, "send_task", away)
    orchestrator.install(app)
    app.tasks[ERROR](None, ValueError("x"), None, "step", "token")
    assert "the orchestrator could not be told: ConnectionRefusedError: nobody" in caplog.text
