"""`pack`, `unregister`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli

WORKFLOW = "name: {name}\nsteps:\n  - {{name: a, pass: true, input: {word}}}\n"


def make(folder: Path, version: str, **words: str) -> Path:
    (folder / "workflows").mkdir(parents=True, exist_ok=True)
    (folder / "pack.yaml").write_text(f"name: shop\nversion: '{version}'\nlabel: A shop\n")
    for old in (folder / "workflows").iterdir():
        old.unlink()
    for name, word in words.items():
        (folder / "workflows" / f"{name}.yaml").write_text(WORKFLOW.format(name=name, word=word))
    return folder


def test_a_pack_from_install_to_removal(cli: Cli, tmp_path: Path) -> None:
    folder = make(tmp_path / "shop", "1", order="x", refund="x")
    said = cli("pack", "install", folder, "--dry-run")
    assert (said.code, said.out.splitlines()[0]) == (
        0,
        "✓ shop 1 would be installed: 2 workflows added, app default",
    )
    assert cli("pack", "list").err == "no pack is installed: orchestrator pack install DIR\n"
    assert cli("pack", "install", folder).out.splitlines() == [
        "✓ shop 1 installed: 2 workflows added, app default",
        "  + order, revision 1",
        "  + refund, revision 1",
    ]
    assert (cli("pack", "install", folder).code, cli("pack", "upgrade", folder).code) == (2, 0)
    make(folder, "2", order="y")
    upgraded = cli("pack", "upgrade", folder, "--json", "--reason", "spring").json
    assert (upgraded["before"], upgraded["version"], upgraded["dry_run"]) == ("1", "2", False)
    assert [(w["workflow"], w["change"], w["revision"]) for w in upgraded["workflows"]] == [
        ("order", "changed", 2),
        ("refund", "removed", 1),
    ]
    (listed,) = cli("pack", "list", "--json").json["items"]
    assert (listed["name"], listed["label"], listed["workflows"]) == (
        "shop",
        "A shop",
        [{"name": "order", "revision": 2}],
    )
    assert "order, revision 2" in cli("pack", "show", "SHOP").out
    assert "shop" in cli("workflows").out
    assert cli("pack", "remove", "shop").out.splitlines() == [
        "✓ shop 2 removed: 1 workflow removed, app default",
        "  - order, revision 2",
    ]
    assert cli("pack", "show", "shop").code == cli("pack", "remove", "shop").code == 3
    acts = [(item["action"], item["reason"]) for item in cli("audit", "--json").json["items"]]
    assert acts == [("remove", None), ("upgrade", "spring"), ("upgrade", None), ("install", None)]


def test_every_problem_of_a_pack_is_told_with_its_file(cli: Cli, tmp_path: Path) -> None:
    folder = make(tmp_path / "shop", "1", order="'{{ nope }}'")
    (folder / "workflows" / "b.yaml").write_text("name: b\n")
    said = cli("pack", "install", folder)
    assert (said.code, said.out) == (2, "")
    assert "workflows/order.yaml: steps[0].input: 'nope' is not defined" in said.err
    assert "workflows/b.yaml: steps: is required" in said.err
    assert cli("pack", "install", tmp_path / "nowhere").code == 3


@pytest.mark.parametrize("of", [(), ("--group", "europe")])
def test_a_workflow_is_deleted(cli: Cli, tmp_path: Path, of: tuple[str, ...]) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(WORKFLOW.format(name="order", word="x"))
    cli("register", path, *of)
    assert cli("unregister", "orders", *of).code == 3
    said = cli("unregister", "order", *of, "--reason", "sold out")
    assert (said.code, said.out) == (0, "order deleted\n")
    assert cli("workflows", "--json").json["items"] == []
    assert cli("register", path, *of).out.startswith("✓ order: unchanged, revision 1")
    assert [w["name"] for w in cli("workflows", "--json").json["items"]] == ["order"]


def test_a_workflow_of_a_pack_is_left_to_its_pack(cli: Cli, tmp_path: Path) -> None:
    folder = make(tmp_path / "shop", "1", order="x")
    cli("pack", "install", folder)
    make(folder, "1", order="y")
    path = folder / "workflows" / "order.yaml"
    assert (cli("register", path).code, cli("unregister", "order").code) == (2, 2)
    assert cli("register", path, "--force").code == 0
    assert cli("unregister", "order", "--force").code == 0
