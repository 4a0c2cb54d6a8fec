"""Packs are installed, upgraded and removed as one unit; deleted workflows keep their history (docs/packs.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.pack import Pack, make_pack
from orchestrator.errors import Conflict, InvalidPack, NotFound
from orchestrator.services.apps import set_app
from orchestrator.services.cancel import cancel
from orchestrator.services.pack_folder import read_pack
from orchestrator.services.packs import Act, install_pack, remove_pack, upgrade_pack
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.unregister import unregister
from orchestrator.store.db import Database
from orchestrator.store.reads import list_packs, list_workflows
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands, audited, together


def saying(word: str, name: str) -> dict[str, Any]:
    return document(step("a", input={"word": word}), name=name)


def pack(*names: str, word: str = "x", name: str = "p", version: str = "1") -> Pack:
    documents = {f"workflows/{one}.yaml": saying(word, one) for one in names}
    return make_pack({"name": name, "version": version}, documents, testing.Settings().documents)


def said(box: Sandbox, name: str, app: str | None = None) -> str:
    run_id = start(box.engine, name, None, StartOptions(app)).run_id
    box.drive(run_id)
    return str(box.result(run_id).output["a"]["word"])


def names(box: Sandbox) -> list[tuple[str, str | None]]:
    return [(one["name"], one["pack"]) for one in list_workflows(box.connection).items]


def test_a_pack_is_installed_with_all_its_workflows() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        done = install_pack(box.engine, pack("order", "refund"))
        assert [(w.workflow, w.change, w.revision) for w in done.workflows] == [
            ("order", "added", 1),
            ("refund", "added", 1),
        ]
        assert names(box) == [("order", "p"), ("refund", "p")]
        assert said(box, "order") == "x"
        (shown,) = list_packs(box.connection)
        assert (shown["name"], shown["version"], shown["upgraded_at"]) == ("p", "1", None)
        assert shown["workflows"] == [{"name": "order", "revision": 1}, {"name": "refund", "revision": 1}]
        with pytest.raises(Conflict, match="has the pack 'p', version 1 already: upgrade it"):
            install_pack(box.engine, pack("order", name="P"))


def test_an_upgrade_adds_changes_and_removes() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        install_pack(box.engine, pack("order", "refund", "same"))
        newer = [*pack("order", "extra", word="y", version="2").files, *pack("same").files]
        done = upgrade_pack(box.engine, Pack("p", "2", "Shop", None, tuple(newer)))
        assert (done.before, done.version) == ("1", "2")
        assert [(w.workflow, w.change, w.revision) for w in done.workflows] == [
            ("extra", "added", 1),
            ("order", "changed", 2),
            ("same", "unchanged", 1),
            ("refund", "removed", 1),
        ]
        assert names(box) == [("extra", "p"), ("order", "p"), ("same", "p")]
        with pytest.raises(NotFound):
            start(box.engine, "refund")
        with pytest.raises(NotFound, match="app 'default' has no pack 'q'"):
            upgrade_pack(box.engine, pack("order", name="q"))


def test_a_workflow_that_comes_back_goes_on_with_its_revisions() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        install_pack(box.engine, pack("order"))
        remove_pack(box.engine, "p")
        assert (names(box), list_packs(box.connection)) == ([], [])
        assert register(box.engine, saying("z", "order")).revision == 2
        unregister(box.engine, "order")
        done = install_pack(box.engine, pack("order", word="z"))
        assert [(w.change, w.revision) for w in done.workflows] == [("added", 2)]
        assert said(box, "order") == "z"


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        for act in (Act(), Act(group="g")):
            told = install_pack(box.engine, pack("order"), Act(act.app, act.group, dry_run=True))
            assert told.counts == {"added": 1}
        assert (names(box), list_packs(box.connection)) == ([], [])
        install_pack(box.engine, pack("order"))
        told = upgrade_pack(box.engine, pack("refund", version="2"), Act(dry_run=True))
        assert told.counts == {"added": 1, "removed": 1}
        assert remove_pack(box.engine, "p", Act(dry_run=True)).counts == {"removed": 1}
        assert names(box) == [("order", "p")]
        assert list_packs(box.connection)[0]["version"] == "1"
        assert audited(box.connection, "upgrade") == audited(box.connection, "remove") == []


def test_a_name_of_another_is_an_error_that_names_it_and_nothing_is_stored() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, saying("mine", "Order"))
        install_pack(box.engine, pack("refund", name="other"))
        with pytest.raises(InvalidPack) as refused:
            install_pack(box.engine, pack("order", "refund", "third"))
        assert [(p.path, p.message) for p in refused.value.problems] == [
            ("workflows/order.yaml: name", "app 'default' has a workflow 'Order' already, which is of no pack"),
            (
                "workflows/refund.yaml: name",
                "app 'default' has a workflow 'refund' already, which is of the pack 'other'",
            ),
        ]
        assert names(box) == [("Order", None), ("refund", "other")]
        assert [one["name"] for one in list_packs(box.connection)] == ["other"]


def test_a_workflow_of_a_pack_is_changed_and_deleted_with_it_only_unless_forced() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        install_pack(box.engine, pack("order"))
        assert not register(box.engine, saying("x", "order")).created
        with pytest.raises(Conflict, match="'order' is of the pack 'p': upgrade that, or use force"):
            register(box.engine, saying("hotfix", "order"))
        assert said(box, "order") == "x"
        register(box.engine, saying("hotfix", "order"), force=True)
        assert (said(box, "order"), names(box)) == ("hotfix", [("order", "p")])
        upgrade_pack(box.engine, pack("order"))
        assert said(box, "order") == "x"
        with pytest.raises(Conflict, match="'order' is of the pack 'p'"):
            unregister(box.engine, "order")
        unregister(box.engine, "order", force=True)
        assert names(box) == []
        assert upgrade_pack(box.engine, pack("order")).counts == {"added": 1}


@pytest.mark.parametrize("by", ["unregister", "upgrade", "remove"])
def test_active_runs_keep_a_workflow_unless_forced_and_go_on_in_their_revision(db: Database, by: str) -> None:
    hands = Hands(db)
    if by == "unregister":
        register(hands.engine, saying("x", "order"))
    else:
        install_pack(hands.engine, pack("order"))
    run_id = start(hands.engine, "order").run_id
    acts: dict[str, Callable[[bool], object]] = {
        "unregister": lambda force: unregister(hands.engine, "order", force=force),
        "upgrade": lambda force: upgrade_pack(hands.engine, pack("refund"), Act(force=force)),
        "remove": lambda force: remove_pack(hands.engine, "p", Act(force=force)),
    }
    with pytest.raises(Conflict, match="'order' has 1 active run"):
        acts[by](False)
    acts[by](True)
    with pytest.raises(NotFound):
        start(hands.engine, "order")
    hands.work()
    assert hands.status(run_id) == "succeeded"
    with db.transaction() as conn:
        assert conn.execute(text("SELECT count(*) FROM workflow_revisions")).scalar_one() >= 1


def test_a_run_that_has_ended_keeps_nothing(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, saying("x", "order"))
    run_id = start(hands.engine, "order").run_id
    cancel(hands.engine, run_id)
    unregister(hands.engine, "ORDER", reason="no longer sold", actor="ada")
    with db.transaction() as conn:
        assert audited(conn, "unregister") == [("ada", "order", "no longer sold")]
    assert hands.status(run_id) == "canceled"
    with pytest.raises(NotFound, match="app 'default' has no workflow 'order'"):
        unregister(hands.engine, "order")


def test_an_apps_own_workflow_hides_its_groups_until_it_is_deleted() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        for app in ("shop", "bank"):
            set_app(box.engine.db, app, group="europe")
        install_pack(box.engine, pack("order", word="of the group"), Act(group="europe"))
        register(box.engine, saying("its own", "order"), app="shop")
        assert (said(box, "order", "shop"), said(box, "order", "bank")) == ("its own", "of the group")
        unregister(box.engine, "order", app="shop")
        assert said(box, "order", "shop") == "of the group"
        with pytest.raises(NotFound, match="app 'shop' has no workflow 'order'"):
            unregister(box.engine, "order", app="shop")
        install_pack(box.engine, pack("order", word="its pack"), Act(app="shop"))
        assert (said(box, "order", "shop"), said(box, "order", "bank")) == ("its pack", "of the group")
        assert [one["owner"]["kind"] for one in list_packs(box.connection, "shop")] == ["app", "group"]
        assert [one["owner"]["kind"] for one in list_packs(box.connection, "bank")] == ["group"]


def test_acts_on_packs_are_audited() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        install_pack(box.engine, pack("order"), Act(actor="ada", reason="new"))
        upgrade_pack(box.engine, pack("refund", version="2"), Act(actor="ada"))
        remove_pack(box.engine, "p", Act(actor="bob", reason="old"))
        assert audited(box.connection, "install") == [("ada", "p", "new")]
        assert audited(box.connection, "upgrade") == [("ada", "p", None)]
        assert audited(box.connection, "remove") == [("bob", "p", "old")]
        data = box.connection.execute(text("SELECT data FROM audit_log WHERE action = 'upgrade'")).scalar_one()
        assert (data["added"], data["removed"], data["before"]) == (["refund"], ["order"], "1")


def test_upgrades_of_one_pack_at_the_same_moment_follow_each_other(db: Database) -> None:
    hands = Hands(db)
    install_pack(hands.engine, pack("a", "b"))
    packs = [pack("a", "b", "c", word=f"w{n}", version=str(n)) for n in range(6)]
    together([partial(upgrade_pack, hands.engine, one) for one in packs])
    with db.transaction() as conn:
        rows = conn.execute(text("SELECT name, latest_revision FROM workflows ORDER BY name")).all()
        told = conn.execute(
            text("SELECT version, (SELECT min(v.document::text) FROM workflow_revisions v JOIN workflows w"
                 " ON w.id = v.workflow_id AND v.number = w.latest_revision WHERE w.name = 'a') AS a FROM packs")
        ).one()  # fmt: skip
    assert [tuple(row) for row in rows] == [("a", 7), ("b", 7), ("c", 6)]
    assert f"w{told.version}" in told.a


def write(folder: Path, **files: str) -> Path:
    (folder / "workflows").mkdir()
    for name, content in files.items():
        path = folder / "pack.yaml" if name == "pack" else folder / "workflows" / f"{name}.yaml"
        path.write_text(content)
    return folder


def test_a_folder_is_read(tmp_path: Path) -> None:
    write(tmp_path, pack="name: p\nversion: 1.0.2\nlabel: P", order="name: order\nsteps: [{name: a, pass: true}]")
    (tmp_path / "workflows" / "other.json").write_text(json.dumps(saying("x", "other")))
    (tmp_path / "workflows" / "README.md").write_text("# not a workflow")
    (tmp_path / "workflows" / ".hidden.yaml").write_text("{")
    read = read_pack(tmp_path)
    assert (read.name, read.version, read.label) == ("p", "1.0.2", "P")
    assert [file.path for file in read.files] == ["workflows/order.yaml", "workflows/other.json"]


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        pack="name: ''\nauthor: me",
        a="name: a\nsteps: [{name: x, pass: true, depends_on: [y]}]",
        b="steps: [",
        c="name: c\nsteps: [{name: x, pass: true}]",
        d="name: C\nsteps: [{name: x, pass: true}]",
        e="",
    )
    with pytest.raises(InvalidPack) as refused:
        read_pack(tmp_path)
    paths = [problem.path for problem in refused.value.problems]
    assert paths == [
        "workflows/b.yaml",
        "workflows/e.yaml",
        "pack.yaml: name",
        "pack.yaml: author",
        "workflows/a.yaml: steps[0].depends_on[0]",
        "workflows/d.yaml: name",
    ]
    assert refused.value.problems[-1].message == "'C' is the name of the workflow in workflows/c.yaml too"


def test_a_folder_without_a_manifest_or_without_workflows_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is no pack: it has no file 'pack.yaml'"):
        read_pack(tmp_path)
    (tmp_path / "pack.yaml").write_text("name: p")
    with pytest.raises(InvalidPack, match="the pack has no workflow"):
        read_pack(tmp_path)
    (tmp_path / "pack.yaml").write_text("- p")
    with pytest.raises(InvalidPack, match="must be a map with the pack's name"):
        read_pack(tmp_path)


def test_what_is_odd_is_told_with_its_file(db: Database) -> None:
    hands = Hands(db)
    with db.transaction() as conn:
        conn.execute(text("INSERT INTO functions (name, module) VALUES ('known', 'm')"))
    strange = document(step("a", function="knwon"), step("b", function="celery:any.task"), name="w")
    made = make_pack({"name": "p"}, {"workflows/w.yaml": strange}, testing.Settings().documents)
    (odd,) = install_pack(hands.engine, made).warnings
    assert (odd.path, odd.hint) == ("workflows/w.yaml: steps[0].function", "did you mean 'known'?")
