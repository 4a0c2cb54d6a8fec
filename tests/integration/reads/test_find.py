"""A run meant by what a person types."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from orchestrator.errors import InvalidInput, NotFound
from orchestrator.store.reads import find_run
from tests.integration.reads.rows import add_run, add_workflow

ONE = "01234567-89ab-7cde-8f01-23456789abcd"
TWIN = "01234567-89ab-7cde-8f02-aaaaaaaaaaaa"
OTHER = "01234568-0000-7000-8000-bbbbbbbbbbbb"


@pytest.fixture
def runs(conn: Connection) -> None:
    revision = add_workflow(conn)
    for id in (ONE, TWIN, OTHER):
        add_run(conn, revision, id=id)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "typed",
    [ONE, ONE.upper(), f" {ONE} ", ONE.replace("-", ""), ONE[:24], "0123456789ab7cde8f01", ONE[-6:], ONE[-14:]],
)
def test_a_run_is_found_by_its_id_its_beginning_or_its_end(conn: Connection, typed: str) -> None:
    assert find_run(conn, typed) == ONE


@pytest.mark.usefixtures("runs")
def test_latest_is_the_newest_run(conn: Connection) -> None:
    assert find_run(conn, "latest") == OTHER
    assert find_run(conn, "LATEST") == OTHER


def test_latest_of_no_runs_is_not_found(conn: Connection) -> None:
    with pytest.raises(NotFound, match="no run yet"):
        find_run(conn, "latest")


@pytest.mark.usefixtures("runs")
def test_a_beginning_that_fits_several_runs_is_refused_and_names_them(conn: Connection) -> None:
    with pytest.raises(InvalidInput, match="fits several runs") as refused:
        find_run(conn, "01234567-89ab")
    assert ONE in str(refused.value)
    assert TWIN in str(refused.value)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("typed", ["ffffff", "01234567-89ab-7cde-8f01-23456789abce"])
def test_an_id_nobody_has_is_not_found(conn: Connection, typed: str) -> None:
    with pytest.raises(NotFound, match="there is no run"):
        find_run(conn, typed)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("typed", ["", "order", "01234", "%%%%%%", "'; --", "0123456_", "a" * 33, "名前名前名前"])
def test_what_cannot_be_part_of_an_id_is_refused(conn: Connection, typed: str) -> None:
    with pytest.raises(InvalidInput, match="not a run's id"):
        find_run(conn, typed)
