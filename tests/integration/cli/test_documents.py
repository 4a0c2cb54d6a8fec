"""`validate`, `register`, `graph`, `functions`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Orchestrator
from orchestrator.domain.definition_schema import definition_schema
from orchestrator.errors import InvalidDefinition
from orchestrator.store.db import Database
from orchestrator.store.workers import announce_functions
from tests.hands import Hands, announce
from tests.integration.cli.conftest import Cli

ORDER = """
name: order
steps:
  - {name: charge, function: ok}
  - {name: ship, function: ok, depends_on: [charge]}
"""
BROKEN = ORDER.replace("[charge]", "[chrage]").replace("name: charge, ", "name: charge, retry: {delay: -1}, ")


@pytest.fixture
def order(tmp_path: Path) -> Path:
    path = tmp_path / "order [b].yaml"
    path.write_text(ORDER)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


def test_a_valid_document_is_told_so_without_any_server(bare: Cli, order: Path) -> None:
    said = bare("validate", order)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"✓ {order}: 'order' is valid, 2 steps\n"


def test_the_schema_of_the_format_is_printed_without_any_server(bare: Cli) -> None:
    said = bare("validate", "--schema")
    assert (said.code, said.err) == (0, "")
    assert said.json == definition_schema() == bare("validate", "--schema", "--json").json


@pytest.mark.parametrize("args", [[], ["--schema", "order.yaml"]], ids=["neither", "both"])
def test_validate_takes_either_files_or_the_wish_for_the_schema(bare: Cli, args: list[str]) -> None:
    said = bare("validate", *args)
    assert (said.code, said.out) == (2, "")
    assert "Give one FILE or more to check, or --schema" in said.err


def test_every_problem_is_told_with_its_path_and_its_hint(bare: Cli, order: Path, broken: Path) -> None:
    said = bare("validate", order, broken)
    assert said.code == 2
    lines = said.out.splitlines()
    assert lines[:2] == [f"✓ {order}: 'order' is valid, 2 steps", f"✗ {broken}: 2 problems"]
    assert "  steps[0].retry.delay: " in said.out
    assert "  steps[1].depends_on[0]: " in said.out
    assert "charge" in said.out.splitlines()[-1]


def test_problems_are_told_as_json(bare: Cli, order: Path, broken: Path) -> None:
    said = bare("validate", "--json", order, broken)
    assert said.code == 2
    good, bad = said.json["items"]
    assert good == {"file": str(order), "valid": True, "workflow": "order", "problems": [], "warnings": []}
    assert (bad["valid"], bad["workflow"]) == (False, None)
    assert [problem["path"] for problem in bad["problems"]] == ["steps[0].retry.delay", "steps[1].depends_on[0]"]
    assert all(set(problem) == {"path", "message", "hint"} for problem in bad["problems"])


def test_a_document_may_come_from_standard_input(bare: Cli) -> None:
    assert bare("validate", "-", stdin=ORDER).out == "✓ -: 'order' is valid, 2 steps\n"


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"name: x\n" * 200_000, b"\x00", b"[" * 100_000, b"{", b"- a", b"3", b"x: &a [*a]"]
)
def test_what_is_no_document_is_a_clear_problem(bare: Cli, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    said = bare("validate", path)
    assert said.code == 2
    assert said.out.startswith(f"✗ {path}: ")
    assert "Traceback" not in said.out + said.err
    assert len(said.out) < 2_000


def test_a_folder_is_no_document(bare: Cli, tmp_path: Path) -> None:
    said = bare("validate", tmp_path)
    assert (said.code, said.out.splitlines()[1]) == (2, f"  cannot read '{tmp_path}': Is a directory")


def test_a_document_is_registered_as_a_revision_unless_nothing_changed(cli: Cli, order: Path) -> None:
    assert cli("register", order).out == "✓ order: revision 1, app default\n"
    assert cli("register", order).out == "✓ order: unchanged, revision 1, app default\n"
    order.write_text(ORDER + "label: Orders\n")
    said = cli("register", order, "--json").json["items"][0]
    assert {key: said[key] for key in ("workflow", "revision", "created", "owner", "valid")} == {
        "workflow": "order",
        "revision": 2,
        "created": True,
        "owner": {"kind": "app", "name": "default"},
        "valid": True,
    }


def test_a_document_is_registered_for_an_app_or_a_group(cli: Cli, order: Path) -> None:
    assert cli("register", order, "--group", "shops").out == "✓ order: revision 1, group shops\n"
    assert cli("register", order, "--app", "shop").out == "✓ order: revision 1, app shop\n"


def test_nothing_is_registered_when_one_of_the_documents_is_invalid(cli: Cli, order: Path, broken: Path) -> None:
    said = cli("register", order, broken)
    assert said.code == 2
    assert str(broken) in said.out
    assert str(order) not in said.out
    assert said.err == "nothing was registered\n"
    assert cli("start", "order").code == 3
    assert cli("register", order, broken, "--json").json["items"][1]["valid"] is False


def test_who_registered_a_document_is_in_the_audit_log(cli: Cli, db: Database, order: Path) -> None:
    cli("register", order)
    with db.transaction() as conn:
        assert str(conn.exec_driver_sql("SELECT actor FROM audit_log").scalar_one()).startswith("cli:")


def test_a_function_no_worker_has_announced_is_warned_about_once_workers_have_announced_some(
    cli: Cli, db: Database, order: Path
) -> None:
    assert "warning" not in cli("register", order).out
    with db.transaction() as conn:
        announce(conn, "okay")
    said = cli("register", order)
    assert said.code == 0
    assert "  warning: steps[0].function: no worker knows the function 'ok' yet" in said.out
    assert len(cli("register", order, "--json").json["items"][0]["warnings"]) == 2


@pytest.fixture
def client(cli: Cli) -> Iterator[Orchestrator]:
    """The Python client with the command line's environment."""
    client = Orchestrator.from_env()
    yield client
    client.close()


def test_the_python_client_warns_of_what_the_command_line_does(
    cli: Cli, client: Orchestrator, db: Database, order: Path
) -> None:
    for announced in ((), ("okay",), ("okay", "ok")):
        with db.transaction() as conn:
            announce(conn, *announced)
        told = cli("register", order, "--json").json["items"][0]["warnings"]
        assert [asdict(warning) for warning in client.register(order).warnings] == told
        assert bool(told) == (announced == ("okay",))


@pytest.mark.parametrize(("setting", "value"), [("MAX_STEPS", "1"), ("MAX_DOCUMENT_BYTES", "60")])
def test_the_python_client_refuses_what_the_command_line_does(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, order: Path, setting: str, value: str
) -> None:
    monkeypatch.setenv(f"ORCHESTRATOR_{setting}", value)
    told = cli("register", order, "--json").json["items"][0]["problems"]
    client = Orchestrator.from_env()
    with closing(client), pytest.raises(InvalidDefinition) as refused:
        client.register(order)
    assert [asdict(problem) for problem in refused.value.problems] == told
    assert value in told[0]["message"]


@pytest.mark.parametrize(("form", "begins"), [("mermaid", "flowchart"), ("dot", "digraph"), ("svg", "<svg")])
def test_a_document_is_drawn(bare: Cli, order: Path, tmp_path: Path, form: str, begins: str) -> None:
    said = bare("graph", order, "--format", form)
    assert said.code == 0
    assert begins in said.out
    drawn = bare("graph", order, "--format", form, "--json").json
    assert drawn | {"graph": drawn["graph"].strip()} == {
        "workflow": "order",
        "format": form,
        "graph": said.out.strip(),
    }
    target = tmp_path / "drawn"
    assert bare("graph", order, "--format", form, "-o", target).out == ""
    assert target.read_text().rstrip("\n") == said.out.rstrip("\n")


def test_a_drawing_that_cannot_be_written_says_where(bare: Cli, order: Path, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "order.svg"
    said = bare("graph", order, "-o", target)
    assert said.code == 2
    assert f"cannot write '{target}': No such file or directory" in said.err


def test_a_run_is_drawn_with_the_states_of_its_steps(cli: Cli, hands: Hands) -> None:
    document: Any = {"name": "order", "steps": [{"name": "charge", "function": "fail"}]}
    hands.start(document)
    before = cli("graph", "latest").out
    hands.work()
    after = cli("graph", "latest").out
    assert before != after
    assert "failed" in after


def test_announced_functions_are_listed(cli: Cli, db: Database) -> None:
    said = cli("functions")
    assert (said.code, said.out) == (0, "")
    assert "no worker has announced any" in said.err
    spec = {"module": "shop.payments", "queue": "io", "description": "Take [b]money[/].", "input_schema": {}}
    with db.transaction() as conn:
        announce_functions(conn, [{"name": "payments.charge"} | spec])
        conn.exec_driver_sql("UPDATE functions SET seen_at = seen_at - interval '4 minutes'")
    line = cli("functions").out.splitlines()[1]
    assert line == "payments.charge  io     shop.payments  4 min ago  Take [b]money[/]."
    assert cli("functions", "--json").json["items"][0]["name"] == "payments.charge"


def test_local_functions_are_listed_without_any_server(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_FUNCTIONS", "orchestrator.examples.order")
    assert "example.order.charge" in bare("functions", "--local").out
    names = [item["name"] for item in bare("functions", "--local", "--json").json["items"]]
    assert {"example.order.charge", "python.echo"} <= set(names)
    monkeypatch.setenv("ORCHESTRATOR_FUNCTIONS", "no.such.module")
    assert bare("functions", "--local").code == 2
