"""`from orchestrator import Orchestrator`."""

from __future__ import annotations

import os
import pwd
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from orchestrator import Orchestrator, RunHandle
from orchestrator.config import Config
from orchestrator.domain.states import RunStatus
from orchestrator.errors import Conflict, InvalidDefinition, InvalidInput, NotFound
from orchestrator.ids import new_id
from orchestrator.store.db import Database
from orchestrator.store.reads import list_audit
from tests.documents import document, step
from tests.hands import Hands, audited

ORDER = document(step("charge"), step("ship", "charge"), name="order")
PYTHON = f"python:{pwd.getpwuid(os.getuid()).pw_name}"
YAML = "name: order\nsteps:\n  - {name: charge, function: ok}\n"


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


@pytest.fixture
def client(hands: Hands) -> Orchestrator:
    client = Orchestrator(hands.engine)
    client.register(ORDER)
    return client


def test_a_run_is_started_waited_for_and_read(client: Orchestrator, hands: Hands) -> None:
    run = client.start("order", {"amount": 5}, tags=["eu"])
    assert (run.status, run.output, run.error) == ("running", None, None)
    hands.work()
    assert run.wait(timeout=30) is run
    assert (run.status, run.output, run.error) == (RunStatus.SUCCEEDED, {"ship": {}}, None)
    assert [item["name"] for item in run.steps()] == ["charge", "ship"]
    assert (run.view()["input"], run.view()["tags"]) == ({"amount": 5}, ["eu"])
    assert repr(run) == f"RunHandle({run.id!r})"


def test_waiting_ends_with_the_run_however_it_ends(client: Orchestrator, hands: Hands) -> None:
    client.register(document(step("charge", function="fail"), name="failing"))
    run = client.start("failing")
    worker = threading.Thread(target=hands.work)
    worker.start()
    assert run.wait(timeout=30).status == "failed"
    worker.join()
    assert run.error == {"type": "RuntimeError", "message": "no luck", "step": "charge"}
    assert run.output is None
    assert [item["name"] for item in run.steps("failed")] == ["charge"]


def test_waiting_too_long_raises_and_the_run_goes_on(client: Orchestrator) -> None:
    run = client.start("order")
    with pytest.raises(TimeoutError, match=f"run {run.id} has not ended within 0 s; it goes on"):
        run.wait(timeout=0)
    assert run.status == "running"


def test_a_secret_is_masked_in_views_and_true_in_the_output(client: Orchestrator, hands: Hands) -> None:
    secret = {"properties": {"token": {"type": "string", "writeOnly": True}}}
    gives: dict[str, Any] = {"name": "give", "pass": None, "input": "{{ input.token }}"}
    client.register(document(gives, name="secret", input_schema=secret, output={"token": "{{ steps.give.output }}"}))
    run = client.start("secret", {"token": "abcd-1234"})
    assert run.output == {"token": "abcd-1234"}
    assert "abcd" not in str(run.view()) + str(list(run.steps())) + str(list(client.runs(workflow="secret")))


@pytest.mark.parametrize("how", ["map", "text", "json", "path", "path as text"])
def test_a_document_is_registered_from_whatever_holds_it(hands: Hands, tmp_path: Path, how: str) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(YAML)
    forms: dict[str, Any] = {
        "map": {"name": "order", "steps": [{"name": "charge", "function": "ok"}]},
        "text": YAML,
        "json": '{"name": "order", "steps": [{"name": "charge", "function": "ok"}]}',
        "path": path,
        "path as text": str(path),
    }
    registered = Orchestrator(hands.engine).register(forms[how], group="shops")
    assert (registered.workflow, registered.revision, registered.created) == ("order", 1, True)
    assert (registered.owner.kind, registered.owner.name) == ("group", "shops")


def test_what_is_wrong_is_raised(client: Orchestrator) -> None:
    with pytest.raises(InvalidDefinition, match="steps"):
        client.register({"name": "x"})
    with pytest.raises(NotFound, match="no file 'none.yaml'"):
        client.register("none.yaml")
    with pytest.raises(NotFound, match="did you mean 'order'"):
        client.start("ordre")
    with pytest.raises(InvalidInput):
        client.start("order", {"bad": {1, 2}})
    for id in (new_id(), "latest", ""):
        with pytest.raises(NotFound, match="there is no run"):
            client.run(id)
        with pytest.raises(NotFound, match="there is no run"):
            client.cancel(id)


def test_the_same_key_gives_the_first_run(client: Orchestrator) -> None:
    assert client.start("order", idempotency_key="k").id == client.start("order", idempotency_key="k").id


def test_a_run_started_in_the_callers_transaction_is_part_of_it(
    client: Orchestrator, hands: Hands, database_url: str
) -> None:
    engine = create_engine(database_url)
    with engine.connect() as mine, mine.begin() as transaction:
        lost = client.start("order", connection=mine)
        transaction.rollback()
    with pytest.raises(NotFound):
        client.run(lost.id)
    with engine.begin() as mine:
        mine.execute(text("CREATE TABLE parcels (id int)"))
        kept = client.start("order", connection=mine)
        assert hands.outbox.depth("default") == 0
    assert client.run(kept.id).status == "running"
    engine.dispose()


def test_runs_are_found_page_by_page(client: Orchestrator, hands: Hands) -> None:
    made = [client.start("order").id for _ in range(5)]
    client.register(document(step("x"), name="other"))
    other = client.start("other")
    assert [run["id"] for run in client.runs(page_size=2)] == [other.id, *made[::-1]]
    assert [run["id"] for run in client.runs(workflow="order", page_size=2)] == made[::-1]
    hands.work()
    assert list(client.runs(status="running")) == []
    assert len(list(client.runs(status=["succeeded", RunStatus.FAILED]))) == 6
    with pytest.raises(NotFound):
        list(client.runs(app="nobody"))


def test_runs_are_acted_on_by_handle_or_id_and_the_audit_log_has_it(client: Orchestrator, hands: Hands) -> None:
    run = client.start("order")
    client.pause(run, reason="lunch")
    assert run.status == "paused"
    client.resume(run.id)
    client.cancel(run.id.upper(), reason="enough", force=True)
    assert run.status == "canceled"
    assert client.retry(run) == 2
    with pytest.raises(Conflict):
        client.resume(run)
    with hands.db.transaction() as conn:
        assert audited(conn, "cancel") == [(PYTHON, run.id, "enough")]
        assert audited(conn, "pause") == [(PYTHON, run.id, "lunch")]


def test_steps_are_marked_held_and_released_and_runs_rerun(client: Orchestrator, hands: Hands) -> None:
    run = client.start("order", {"n": 1})
    client.hold(run, "ship", reason="call first")
    client.mark(run.id, "charge", "succeeded", output=5)
    (_, ship) = run.steps()
    assert (ship["status"], ship["held"]["by"], ship["held"]["reason"]) == ("ready", PYTHON, "call first")
    client.release(run, "ship")
    hands.work()
    assert run.status == "succeeded"
    again = client.rerun(run, input={"n": 2}, from_steps="ship", reason="a new box")
    assert (again.view()["rerun_of"], again.view()["input"]) == (run.id, {"n": 2})
    assert [(s["name"], s["reused"], s["output"]) for s in again.steps()] == [
        ("charge", True, 5),
        ("ship", False, None),
    ]
    with pytest.raises(NotFound):
        client.mark(run, "chrage", "skipped")
    with pytest.raises(Conflict):
        client.hold(run, "ship")
    with pytest.raises(ValueError, match="done"):
        client.mark(run, "ship", "done")
    with hands.db.transaction() as conn:
        acts = [audited(conn, act) for act in ("hold", "mark", "release", "rerun")]
    assert [[entry[0] for entry in act] for act in acts] == [[PYTHON]] * 4


def test_many_runs_are_acted_on_by_filter(client: Orchestrator, hands: Hands) -> None:
    made = [client.start("order", tags=["eu"]).id for _ in range(3)]
    found = client.bulk("cancel", tags=["eu"], dry_run=True)
    assert (found.count, found.counts, found.done, found.refused) == (3, {"running": 3}, [], [])
    client.cancel(made[0])
    done = client.bulk("cancel", tags=["eu"], status=["running", "canceled"], reason="enough", force=True)
    assert [one.run_id for one in done.done] == [made[2], made[1]]
    assert [(one.run_id, one.error) for one in done.refused] == [
        (made[0], "the run is canceled: it cannot be canceled")
    ]
    with hands.db.transaction() as conn:
        entries = list_audit(conn, bulk_id=done.id).items
    assert [(e["target_id"], e["actor"], e["reason"]) for e in entries] == [
        (made[1], PYTHON, "enough"),
        (made[2], PYTHON, "enough"),
    ]
    reruns = client.bulk("rerun", workflow="order", revision="latest")
    assert {client.run(one.given.run_id).view()["rerun_of"] for one in reruns.done} == set(made)
    with pytest.raises(InvalidInput, match="at least one filter"):
        client.bulk("cancel")
    with pytest.raises(ValueError, match="explode"):
        client.bulk("explode", workflow="order")


@pytest.fixture
def from_env(database_url: str, broker_url: str) -> Iterator[Orchestrator]:
    client = Orchestrator.from_env(Config.from_env({"DATABASE_URL": database_url, "REDIS_URL": broker_url}))
    yield client
    client.close()


def test_a_client_is_made_from_the_environment(from_env: Orchestrator) -> None:
    from_env.register(document({"name": "greet", "pass": None, "input": "hello"}, name="hello"))
    handle = from_env.start("hello")
    assert isinstance(handle, RunHandle)
    assert handle.wait(30).output == {"greet": "hello"}
