"""sql.query, on the Postgres of the tests."""

from __future__ import annotations

import pytest

from orchestrator.errors import Fail
from tests.support import wait_for
from workers.functions.sql import query


def test_rows_come_as_maps_with_json_values(database_url: str) -> None:
    sql = """
    SELECT 1 AS n, 1.50::numeric AS price, 'x' AS t, NULL AS nothing, date '2026-11-29' AS d, true AS b,
      timestamptz '2026-11-29 12:00+00' AS at, interval '90 s' AS took, '\\x00ff'::bytea AS raw,
      uuid '018f6a5e-0000-7000-8000-000000000000' AS id, '{"a": [1]}'::jsonb AS doc, ARRAY[1.5, 2]::numeric[] AS many
    """
    told = query(database_url, sql)
    (row,) = told["rows"]
    assert told["count"] == 1
    assert row.pop("at").startswith("2026-11-29T")
    assert row == {
        "n": 1,
        "price": "1.50",
        "t": "x",
        "nothing": None,
        "d": "2026-11-29",
        "b": True,
        "took": 90.0,
        "raw": "AP8=",
        "id": "018f6a5e-0000-7000-8000-000000000000",
        "doc": {"a": [1]},
        "many": ["1.5", "2"],
    }


def test_values_are_parameters_and_never_sql(database_url: str) -> None:
    nasty = "'; DROP TABLE apps; --"
    assert query(database_url, "SELECT :name AS name", {"name": nasty})["rows"] == [{"name": nasty}]


def test_a_change_is_committed_and_counted(database_url: str) -> None:
    query(database_url, "CREATE TABLE shop (id int)")
    assert query(database_url, "INSERT INTO shop SELECT generate_series(1, 7)") == {"rows": [], "count": 7}
    assert query(database_url, "UPDATE shop SET id = id + 1 WHERE id < :n", {"n": 4})["count"] == 3
    assert query(database_url, "DELETE FROM shop RETURNING id", max_rows=7)["count"] == 7


def test_more_rows_than_allowed_fail_and_change_nothing(database_url: str) -> None:
    query(database_url, "CREATE TABLE shop (id int)")
    with pytest.raises(Fail, match="more than 5 rows"):
        query(database_url, "INSERT INTO shop SELECT generate_series(1, 6) RETURNING id", max_rows=5)
    assert query(database_url, "SELECT count(*) AS n FROM shop")["rows"] == [{"n": 0}]


@pytest.mark.parametrize("url", ["postgres", "nosuchdatabase://host/x", ""])
def test_an_unusable_url_is_a_failure_that_says_so(url: str) -> None:
    with pytest.raises(Fail, match="URL|driver"):
        query(url, "SELECT 1")


def test_a_wrong_statement_is_an_error(database_url: str) -> None:
    with pytest.raises(Exception, match="nothing_of_ours"):
        query(database_url, "SELECT * FROM nothing_of_ours")


def test_no_connection_stays_open(database_url: str) -> None:
    for _ in range(3):
        query(database_url, "SELECT 1")
    sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
    wait_for(lambda: query(database_url, sql)["rows"] == [{"n": 1}])


def test_urls_as_platforms_write_them_work(database_url: str) -> None:
    url = database_url.replace("postgresql+psycopg2://", "postgres://")
    assert query(url, "SELECT 1 AS one")["rows"] == [{"one": 1}]
