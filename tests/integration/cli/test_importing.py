"""`import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.domain.load import load_text
from tests.integration.cli.conftest import Cli

WHOLE = """
version: 1.0
tasks:
  first: {action: shop.first, next: [{when: <% succeeded() %>, do: second}]}
  second: {action: shop.second}
"""
LOSSY = WHOLE.replace("shop.second}", "shop.second, odd: 1}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "whole.yaml").write_text(WHOLE)
    (tmp_path / "lossy.yaml").write_text(LOSSY)
    (tmp_path / "other.yaml").write_text("services: {}")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.json").write_text('{"type": "object"}')
    (tmp_path / "secret.json").write_text('{"type": "object", "title": "secret"}')
    flows = "shop.A: {tasks: [A], schema: order}\nshop.B: {tasks: [B], schema: ../secret}\n"
    (tmp_path / "flows.yml").write_text(flows)
    return tmp_path


def test_workflows_are_printed_and_what_is_said_of_them_goes_to_stderr(bare: Cli, folder: Path) -> None:
    said = bare("import", folder / "whole.yaml")
    assert said.code == 0
    assert load_text(said.out) == {
        "name": "whole",
        "steps": [
            {"name": "first", "function": "shop.first"},
            {"name": "second", "function": "shop.second", "depends_on": ["first"]},
        ],
    }
    assert "'whole', 2 steps, all of it" in said.err
    assert "functions: shop.first, shop.second" in said.err


def test_the_code_tells_whether_something_was_lost_or_a_file_was_not_imported(bare: Cli, folder: Path) -> None:
    lossy = bare("import", folder / "lossy.yaml", folder / "whole.yaml")
    assert lossy.code == 1
    assert "lost: tasks.second.odd: is not a key that is known here" in lossy.err
    assert bare("import", folder / "other.yaml", folder / "lossy.yaml").code == 2
    assert bare("import", folder / "not there.yaml", folder / "whole.yaml").code == 3
    assert bare("import", folder / "whole.yaml", "--from", "attune").code == 2


def test_files_are_written_and_not_written_over(bare: Cli, folder: Path) -> None:
    out = folder / "new" / "workflows"
    said = bare("import", folder / "flows.yml", "--out", out, "--json")
    assert said.code == 1  # a schema outside of the folder 'schemas' is not read
    [file] = said.json["items"]
    first, second = file["workflows"]
    assert (file["engine"], first["written"], first["lost"]) == ("celery-director", str(out / "shop.A.yaml"), False)
    assert first["document"]["input_schema"] == {"type": "object"}
    assert [(f["kind"], f["path"]) for f in second["findings"]] == [("lost", "['shop.B'].schema")]
    assert load_text((out / "shop.A.yaml").read_text()) == first["document"]
    again = bare("import", folder / "flows.yml", "--out", out)
    assert again.code == 2
    assert "there already: give --force" in again.err
    assert bare("import", folder / "flows.yml", "--out", out, "--force").code == 1


def test_options_that_do_not_go_together_are_refused(bare: Cli, folder: Path) -> None:
    for options in (["--out", "x", "--register"], ["--app", "a"], ["--register", "--app", "a", "--group", "g"]):
        assert bare("import", folder / "whole.yaml", *options).code == 2


def test_what_is_whole_is_registered_and_the_rest_by_force(cli: Cli, folder: Path) -> None:
    assert cli("import", folder / "lossy.yaml", "--register").code == 1
    assert cli("workflows", "--json").json["items"] == []
    said = cli("import", folder / "whole.yaml", "--register")
    assert (said.code, "registered whole, revision 1" in said.err) == (0, True)
    assert cli("import", folder / "lossy.yaml", "--register", "--force").code == 1
    assert [item["name"] for item in cli("workflows", "--json").json["items"]] == ["lossy", "whole"]
