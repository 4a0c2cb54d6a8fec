"""Step functions are found, or what is wrong with their modules is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.domain.definition import Backoff, Retry
from orchestrator.errors import InvalidConfig
from orchestrator.functions import Registry, UnknownFunction, announced, describe_retry, load_modules, make_spec


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which modules are imported from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def told(module: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        load_modules([module])
    (problem,) = caught.value.problems
    return str(problem)


def test_a_module_that_is_not_there_is_named_with_a_near_one_and_the_folder(folder: Path) -> None:
    (folder / "nc_stock.py").touch()
    (folder / "nc_pack").mkdir()
    (folder / "nc_pack" / "billing.py").touch()
    assert told("nc_stokc").startswith("ORCHESTRATOR_FUNCTIONS: there is no module 'nc_stokc' in " + str(folder))
    assert told("nc_stokc").endswith("(did you mean 'nc_stock'?)")
    assert told("nc_pack.biling").endswith("(did you mean 'nc_pack.billing'?)")
    assert "did you mean" not in told("zzzzzzzz")


def test_the_name_of_a_file_is_answered_with_that_of_its_module(folder: Path) -> None:
    (folder / "nc_file.py").touch()
    assert told("nc_file.py").endswith("(did you mean 'nc_file'?)")


def test_a_module_that_cannot_be_imported_is_told_in_a_line_with_where(folder: Path) -> None:
    (folder / "nc_needs.py").write_text("import nc_nothing\n")
    (folder / "nc_syntax.py").write_text("x = 1 +\n")
    (folder / "nc_raises.py").write_text("def f():\n    raise ValueError('one\\ntwo')\n\nf()\n")
    (folder / "nc_exits.py").write_text("raise SystemExit('no')\n")
    assert told("nc_needs").endswith("ModuleNotFoundError: No module named 'nc_nothing' (nc_needs.py, line 1)")
    assert told("nc_syntax").endswith("SyntaxError: invalid syntax (nc_syntax.py, line 1)")
    assert told("nc_raises").endswith("'nc_raises' cannot be imported: ValueError: one two (nc_raises.py, line 2)")
    assert told("nc_exits").endswith("SystemExit: no (nc_exits.py, line 1)")


def test_who_looks_for_a_function_in_vain_is_told_where_they_come_from() -> None:
    with pytest.raises(UnknownFunction, match=r"'a' is not known here .*ORCHESTRATOR_FUNCTIONS"):
        Registry().find("a")
    with pytest.raises(
        UnknownFunction, match=r"'chrage' is not known here; did you mean 'charge'\? \(those of a test\)"
    ):
        _of_a_test().find("chrage")


def _of_a_test() -> Registry:
    made = Registry("those of a test")
    made.put(make_spec(lambda: None, "charge"))
    return made


@pytest.mark.parametrize(
    "retry", [None, Retry(3, 2.5, Backoff.EXPONENTIAL, retry_on=("OSError",), while_="attempt < 2")]
)
def test_a_functions_retry_survives_the_way_through_the_database(retry: Retry | None) -> None:
    spec = make_spec(lambda: None, "charge", retry=retry)
    known = announced("charge", "io", json.loads(json.dumps(describe_retry(spec))))
    assert (known.queue, known.retry) == ("io", retry)
