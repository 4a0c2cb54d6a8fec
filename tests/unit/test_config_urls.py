from __future__ import annotations

import pytest

from orchestrator.config_urls import broker_url, database_url, masked, psql_url


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("postgres://u:p@h:5432/d", "postgresql+psycopg2://u:p@h:5432/d"),
        ("postgresql://u:p@h/d?sslmode=require", "postgresql+psycopg2://u:p@h/d?sslmode=require"),
        ("postgresql+psycopg2://h/d", "postgresql+psycopg2://h/d"),
        ("POSTGRES://h/d", "postgresql+psycopg2://h/d"),
        ("postgresql:///d?host=/var/run/postgresql", "postgresql+psycopg2:///d?host=/var/run/postgresql"),
        ("postgres://u:p%40ss@h/d", "postgresql+psycopg2://u:p%40ss@h/d"),
    ],
)
def test_database_urls_are_normalised(given: str, made: str) -> None:
    assert database_url(given) == made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("sqlite:///x.db", "not Postgres"),
        ("host=db user=me", "not a URL"),
        ("'postgres://h/d'", "quotes"),
        ("postgres://u:p w@h/d", "white space"),
        ("postgres://u:p#w@h/d", "%23"),
        ("postgres://u:pa:ss@h:x/d", "port"),
        ("postgresql+asyncpg://h/d", "not Postgres"),
    ],
)
def test_database_urls_that_cannot_work_say_why(given: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        database_url(given)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("valkey://h", "redis://h"),
        ("rediss://:p@h:6380/1", "rediss://:p@h:6380/1?ssl_cert_reqs=required"),
        ("rediss://:p@h?ssl_cert_reqs=none", "rediss://:p@h?ssl_cert_reqs=none"),
        ("rediss://h?ssl_ca_certs=/ca.pem", "rediss://h?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock?virtual_host=0"),
        ("unix://:p@/run/redis.sock?db=3", "redis+socket://:p@/run/redis.sock?virtual_host=3"),
        ("redis+socket:///run/redis.sock?virtual_host=2", "redis+socket:///run/redis.sock?virtual_host=2"),
        ("amqp://u:p@h:5672/vhost", "amqp://u:p@h:5672/vhost"),
        ("amqps://u:p@h//", "amqps://u:p@h//"),
    ],
)
def test_broker_urls_are_normalised(given: str, made: str) -> None:
    assert broker_url(given) == made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("http://h", "not a broker"),
        ("cache:6379", "not a URL"),
        ("redis://h/zero", "is a number"),
        ("redis://h:99999/0", "port"),
        ("unix://", "no socket"),
    ],
)
def test_broker_urls_that_cannot_work_say_why(given: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        broker_url(given)


def test_psql_takes_the_url_without_the_driver() -> None:
    assert psql_url("postgresql+psycopg2://u:p@h/d?sslmode=require") == "postgresql://u:p@h/d?sslmode=require"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:secret@h:6379/0", "redis://:***@h:6379/0"),
        ("postgresql://u:s%40@h/d", "postgresql://u:***@h/d"),
        ("redis://h/0", "redis://h/0"),
        ("redis+socket://:s@/run/r.sock?virtual_host=0", "redis+socket://:***@/run/r.sock?virtual_host=0"),
    ],
)
def test_masked_urls_hold_no_password(url: str, shown: str) -> None:
    assert masked(url) == shown
