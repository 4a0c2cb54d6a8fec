"""Runs written to a file, and brought in elsewhere."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import Unreachable
from orchestrator.services.coordinate import tick
from orchestrator.services.export import Exported, export, find_roots
from orchestrator.services.lines import text_of
from orchestrator.services.pause import resume
from orchestrator.services.remove_exported import remove_exported
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters
from tests.coding import Coders
from tests.documents import document, step
from tests.families import below, start_family
from tests.integration.cli.conftest import Cli, work_off
from tests.integration.engine.retention.old import left
from tests.support import wait_for

SECRET = {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}
ODD = "line\u2028 and \\u0000 'quotes\" é 日本 🎈 -- ;"


def code(ctx: Any, input: Any) -> Any:
    ctx.step("own", lambda: ODD)
    ctx.call("ok", {"x": 1})
    return ctx.await_child(ctx.spawn_child("leaf", {"card": ""}, child_id=f"of-{ctx.run_id}"))


def fill(hands: Coders) -> dict[str, str]:
    """A family with items, a code-first run, a failed one, and one that waits; by what they are."""
    fan = step("each", with_items=list(range(3)), input={"n": "{{ item }}", "odd": ODD})
    waits = {"name": "wait", "wait_for": {"event": "go"}, "depends_on": ["each"]}
    down = below("down", "leaf", input={"card": "{{ input.card }}"})
    leaf = document(step("a", input={"told": "{{ input.card }}"}), name="leaf", input_schema=SECRET)
    top = document(down, fan, waits, name="top", input_schema=SECRET)
    made = {"top": start_family(hands, top, leaf, input={"card": "1234-5678"})}
    signal(hands.engine, made["top"], "go", {"by": None})
    made["code"] = hands.begin(code)
    hands.finish(made["code"])
    made["failed"] = hands.start(document(step("a", function="fail", retry={"max_attempts": 1}), name="fails"))
    work_off(hands)
    made["open"] = hands.start(document(step("a"), {"name": "w", "wait_for": {"event": "e"}}, name="open"))
    with hands.db.transaction() as conn:
        conn.execute(LINES, {"odd": ODD})
    return made


LINES = text("""
INSERT INTO step_logs (run_id, step_id, attempt, at, stream, level, message)
SELECT run_id, s.id, 1, now(), 'log', 'INFO', :odd || coalesce(r.input ->> 'card', '') || name
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id
""")


@pytest.fixture(scope="module")
def source(module_db: Database) -> Coders:
    """Where the runs were."""
    return Coders(module_db)


@pytest.fixture(scope="module")
def filled(source: Coders) -> dict[str, str]:
    return fill(source)


@pytest.fixture(scope="module")
def exported(source: Coders, filled: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, done = tmp_path_factory.mktemp("archive") / "runs.jsonl", Exported()
    roots = find_roots(source.db, RunFilters())
    file.write_bytes(b"".join(map(text_of, export(source.db, roots, done))))
    assert (done.trees, done.runs) == (4, 6)
    return file


@pytest.fixture
def elsewhere(db: Database, cli: Cli) -> Coders:
    """Where they come in: what the command line is about."""
    return Coders(db)


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def ended_only(found: list[Any]) -> list[Any]:
    """Without the tree of the run that was open, which came in paused."""
    place = next(n for n, line in enumerate(found) if line.get("workflow") == "open")
    end = next(n for n, line in enumerate(found) if n > place and line["kind"] == "end")
    return found[:place] + found[end + 1 :]


def plain(found: list[Any]) -> list[Any]:
    """Without the ids of revisions, which are new everywhere."""
    ids = {line["id"]: f"{line['workflow']} {line['number']}" for line in found if line["kind"] == "revision"}
    return [json.loads(_renamed(json.dumps(line), ids)) for line in found]


def _renamed(text: str, ids: dict[str, str]) -> str:
    for old, new in ids.items():
        text = text.replace(old, new)
    return text


def test_what_is_exported_from_where_it_was_imported_is_the_same(
    cli: Cli, exported: Path, source: Coders, elsewhere: Coders, tmp_path: Path
) -> None:
    first = lines(exported)
    assert "1234-5678" not in exported.read_text()
    assert {line["kind"] for line in first} >= {
        "step",
        "attempt",
        "journal",
        "signal",
        "log",
        "event",
        "child",
        "history",
    }
    said = cli("runs", "import", exported, "--json").json
    assert said == {"count": 4, "runs": 6, "known": 0, "revisions": 5}
    again = tmp_path / "again.jsonl.gz"
    assert cli("runs", "export", "--all", "--to", again).code == 0
    second = [json.loads(line) for line in gzip.decompress(again.read_bytes()).splitlines()]
    assert plain(ended_only(second)) == plain(ended_only(first))
    assert cli("runs", "import", exported, "--json").json == {"count": 0, "runs": 0, "known": 4, "revisions": 0}
    assert left(elsewhere.db) | {"run_events": 0} == left(source.db) | {"run_events": 0}


def test_an_imported_run_is_seen_like_any_other_and_marked(
    cli: Cli, filled: dict[str, str], exported: Path, elsewhere: Coders
) -> None:
    cli("runs", "import", exported)
    assert [run["id"] for run in cli("runs", "--tag", "imported", "--roots-only", "--json").json["items"]] == [
        filled[name] for name in ("open", "failed", "code", "top")
    ]
    for args in (
        ["show", filled["top"]],
        ["show", filled["top"], "--tree"],
        ["show", filled["top"], "--step", "each", "--items"],
        ["show", filled["open"], "--why", "w"],
        ["watch", filled["top"]],
        ["logs", filled["top"]],
        ["journal", filled["code"]],
        ["graph", filled["top"]],
    ):
        said = cli(*args)
        assert (said.code, said.out != "") == (0, True), (args, said)
    assert "was running when it was exported" in cli("show", filled["open"]).out
    assert "5678" not in cli("show", filled["top"], "--json").out
    assert "imported" in cli("show", filled["top"]).out


def test_nothing_of_it_is_run_until_somebody_wants_it(
    cli: Cli, filled: dict[str, str], exported: Path, elsewhere: Coders
) -> None:
    cli("runs", "import", exported)
    with elsewhere.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET wake_at = now() WHERE status = 'waiting'"))
    for _ in range(3):
        tick(elsewhere.engine)
        elsewhere.work()
    assert {name: elsewhere.status(id) for name, id in filled.items()} == {
        "top": "succeeded", "code": "succeeded", "failed": "failed", "open": "paused",
    }  # fmt: skip
    retry(elsewhere.engine, filled["failed"])
    again = rerun(elsewhere.engine, filled["top"]).run_id
    signal(elsewhere.engine, again, "go")
    resume(elsewhere.engine, filled["open"])
    signal(elsewhere.engine, filled["open"], "e")
    tick(elsewhere.engine)
    work_off(elsewhere)
    assert [elsewhere.status(id) for id in (again, filled["open"], filled["failed"])] == [
        "succeeded",
        "succeeded",
        "failed",
    ]


def test_a_history_of_the_file_can_be_replayed(exported: Path, filled: dict[str, str]) -> None:
    (history,) = testing.histories(exported)
    assert history["run_id"] == filled["code"]
    assert testing.replay(history, code).status == "succeeded"
    with pytest.raises(testing.HistoryDiffers):
        testing.replay(history, lambda ctx, input: ctx.step("other", int))


def test_the_latest_revision_here_stays_the_latest(cli: Cli, exported: Path, elsewhere: Coders) -> None:
    own = document(step("mine"), name="top")
    first = elsewhere.start(own)
    cli("runs", "import", exported)
    shown = cli("workflows", "top", "--json").json
    assert (shown["revision"], shown["document"]["steps"][0]["name"]) == (1, "mine")
    assert {run["revision"] for run in cli("runs", "--workflow", "top", "--json").json["items"]} == {1, 2}
    elsewhere.start(document(step("more"), name="top"))
    assert cli("workflows", "top", "--json").json["revision"] == 3
    assert elsewhere.status(first) == "running"


def test_who_takes_nothing_of_an_export_is_not_waited_for(
    source: Coders, filled: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.store.archive.READER_SECONDS", 0.05)

    def begun() -> Iterator[Any] | None:
        """An export of which something was taken; None when this process paused before it had come so far."""
        lines = export(source.db, [filled["top"]], Exported())
        try:
            assert [next(lines)["kind"] for _ in range(3)] == ["archive", "revision", "revision"]
        except Unreachable:
            return None
        return lines

    lines = wait_for(begun, what="an export is begun")
    assert lines is not None

    def open_ones() -> int:
        with source.db.transaction() as conn:
            return int(conn.execute(text(_OPEN_SNAPSHOTS)).scalar_one())

    wait_for(lambda: open_ones() == 0, what="Postgres has ended the transaction")
    with pytest.raises(Unreachable):
        list(lines)


_OPEN_SNAPSHOTS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()
"""


def test_exported_runs_are_removed_when_that_is_wanted_unless_they_have_changed(
    cli: Cli, elsewhere: Coders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fill(elsewhere)
    file = tmp_path / "old.jsonl.gz"
    assert cli("runs", "export", "--all", "--to", file, "--then-delete").code == 2

    def act_first(*args: Any, **given: Any) -> int:
        """Somebody retries one of them between the two."""
        retry(elsewhere.engine, made["failed"])
        return remove_exported(*args, **given)

    monkeypatch.setattr("orchestrator.cli.export_runs.remove_exported", act_first)
    said = cli("runs", "export", "--all", "--to", file, "--then-delete", "--yes", "--json").json
    assert (said["count"], said["runs"], said["deleted"]) == (3, 5, 2)
    assert {run["id"] for run in cli("runs", "--json").json["items"]} == {made["open"], made["failed"]}
    assert not file.with_name(file.name + ".part").exists()
    assert cli("runs", "import", file, "--json").json == {"count": 2, "runs": 4, "known": 1, "revisions": 0}


BROKEN = {
    "": "line 1: is missing: the file is empty",
    '{"kind": "tree"}\n': "line 1: is not the beginning of an export of runs",
    "[]\n": "line 1: is not a line of an export of runs",
    '{"kind": "archive", "format": 2}\n': "a later version of the orchestrator has written it",
    '{"kind": "archive"}\n': "nothing is known of it",
    "\x00\xff\n": "line 1: is not JSON",
    "[" * 100_000 + "\n": "line 1: is not JSON",
    '{"kind": "archive", "format": 1, "x": NaN}\n': "NaN is no JSON",
}


@pytest.mark.parametrize(("content", "told"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_file_that_is_none_is_refused(shared_cli: Cli, tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content.encode("latin-1"))
    said = shared_cli("runs", "import", file)
    assert (said.code, told in said.err) == (2, True), said


def test_a_file_that_was_cut_or_changed_names_the_line_and_what_came_before_it_stays(
    cli: Cli, exported: Path, elsewhere: Coders, tmp_path: Path
) -> None:
    whole = exported.read_text().splitlines(keepends=True)
    ends = [n for n, line in enumerate(whole) if '"kind":"end"' in line]
    run = next(n for n, line in enumerate(whole) if '"kind":"run"' in line and n > ends[0])
    step_line = next(n for n, line in enumerate(whole) if '"kind":"step"' in line and n > run)

    def tried(*changed: str) -> str:
        file = tmp_path / "broken.jsonl"
        file.write_text("".join(changed))
        said = cli("runs", "import", file)
        assert (said.code, "unexpected" in said.err) == (2, False), said
        return said.err

    assert f"line {step_line + 1}: is not JSON" in tried(*whole[:step_line], whole[step_line][:40])
    assert [item["workflow"] for item in cli("runs", "--json").json["items"]] == ["open"]
    assert f"the file was cut after line {step_line}" in tried(*whole[:step_line])
    lost = [*whole[:step_line], *whole[step_line + 1 :]]
    assert "some are lost" in tried(*lost)

    def with_line(change: dict[str, Any], at: int = step_line) -> str:
        return tried(*whole[:at], json.dumps(json.loads(whole[at]) | change) + "\n", *whole[at + 1 :])

    assert "does not know of a step: color" in with_line({"color": "red"})
    assert 'breaks the rule "status"' in with_line({"status": "happy"})
    assert "is a step without id, or in no state" in with_line({"status": 7})
    assert "is a step without id, or in no state" in with_line({"id": "../../x"})
    assert "holds a reference into a blob store" in with_line({"output": [{"$orchestrator.blob": "x"}]})
    assert "invalid input syntax" in with_line({"position": "DROP TABLE"})
    assert "of a run that does not come before it" in with_line({"run_id": "00000000-0000-0000-0000-000000000000"})
    assert "a revision that comes before it" in with_line({"revision_id": "x"}, run)
    assert "half of a surrogate pair" in with_line({"output": "\ud800"})
    assert "holds a character that cannot be stored: NUL" in with_line({"app": "a\0b"}, run)
    assert "whose idempotency key is no text" in with_line({"idempotency_key": [1]}, run)
    assert [item["workflow"] for item in cli("runs", "--json").json["items"]] == ["open"]
    revision = next(n for n, line in enumerate(whole) if '"kind":"revision"' in line and n > ends[0])
    assert "whose document was changed" in with_line({"document": {"name": "x"}}, revision)
    packed = tmp_path / "cut.gz"
    packed.write_bytes(gzip.compress(exported.read_bytes())[:-200])
    said = cli("runs", "import", packed)
    assert (said.code, "cannot be read: Compressed file ended" in said.err) == (2, True), said
    assert (
        "4 runs imported" in cli("runs", "import", exported).out or "were here" in cli("runs", "import", exported).out
    )


def test_a_line_may_be_large_and_not_too_large(
    shared_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.cli.import_runs.MOST_BYTES", 1000)
    monkeypatch.setattr("orchestrator.services.import_runs.MOST_BYTES", 1000)
    file = tmp_path / "x.jsonl"
    file.write_text('{"kind": "archive", "format": 1}\n' + "x" * 5000 + "\n")
    assert "line 2: has more than" in shared_cli("runs", "import", file).err


def test_options_that_do_not_go_together_are_told(shared_cli: Cli, tmp_path: Path) -> None:
    for args in ([], ["--all", "--workflow", "x"], ["--all", "--json"], ["--all", "--then-delete"]):
        assert shared_cli("runs", "export", *args).code == 2
    assert shared_cli("runs", "export", "--all", "--to", tmp_path / "no" / "x").code == 2
    assert shared_cli("runs", "import", tmp_path / "none").code == 3
    assert shared_cli("runs", "export", "--status", "canceling").out == '{"kind":"archive","format":1}\n'
