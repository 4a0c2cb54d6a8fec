from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.bootstrap import settings_of
from orchestrator.config import Config
from orchestrator.data_folder import DataFolder, Running
from orchestrator.errors import InvalidConfig
from orchestrator.services.engine import Settings

URLS = {"DATABASE_URL": "postgresql://u:hidden@db/app", "REDIS_URL": "redis://:hidden@cache:6379/0"}


def _problems(env: dict[str, str]) -> dict[str, str]:
    with pytest.raises(InvalidConfig) as caught:
        Config.from_env(env)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_two_urls_are_enough() -> None:
    config = Config.from_env(URLS)
    assert config.database_url == "postgresql+psycopg2://u:hidden@db/app"
    assert config.broker_url == "redis://:hidden@cache:6379/0"
    assert (config.app, config.port, config.queues) == ("default", 8000, ("default",))
    assert config.warnings == ()


def test_every_setting_is_read() -> None:
    config = Config.from_env(
        URLS
        | {
            "PORT": "9000",
            "SECRET_KEY": "0123456789abcdef",
            "ORCHESTRATOR_APP": "shop",
            "ORCHESTRATOR_FUNCTIONS": "shop.steps, shop.mail",
            "ORCHESTRATOR_QUEUES": "default,io,,io",
            "ORCHESTRATOR_CONCURRENCY": "7",
            "ORCHESTRATOR_POOL_SIZE": "3",
            "ORCHESTRATOR_LEASE_SECONDS": "30",
            "ORCHESTRATOR_TICK_SECONDS": "0.5",
            "ORCHESTRATOR_RESEND_SECONDS": "2",
            "ORCHESTRATOR_CONTINUATION_SECONDS": "0",
            "ORCHESTRATOR_TIMEOUT_GRACE_SECONDS": "1.5",
            "ORCHESTRATOR_MAX_LOST": "5",
            "ORCHESTRATOR_WINDOW": "10",
            "ORCHESTRATOR_BATCH": "20",
            "ORCHESTRATOR_MAX_OUTPUT_BYTES": "2 MiB",
            "ORCHESTRATOR_MAX_DOCUMENT_BYTES": "4096",
            "ORCHESTRATOR_MAX_STEPS": "50",
            "ORCHESTRATOR_LOG_LEVEL": "debug",
            "ORCHESTRATOR_DATA_DIR": "/srv/data",
        }
    )
    assert (config.port, config.secret_key, config.app) == (9000, "0123456789abcdef", "shop")
    assert (config.functions, config.queues) == (("shop.steps", "shop.mail"), ("default", "io"))
    assert (config.concurrency, config.pool_size, config.max_lost) == (7, 3, 5)
    assert (config.lease_seconds, config.heartbeat_seconds) == (30, 10)
    assert (config.tick_seconds, config.resend_seconds, config.continuation_seconds) == (0.5, 2, 0)
    assert (config.timeout_grace_seconds, config.window, config.batch) == (1.5, 10, 20)
    assert (config.max_output_bytes, config.max_document_bytes, config.max_steps) == (2 << 20, 4096, 50)
    assert (config.log_level, config.data_dir) == ("DEBUG", Path("/srv/data"))


def test_empty_variables_count_as_unset() -> None:
    config = Config.from_env(URLS | {"PORT": "", "ORCHESTRATOR_WINDOW": " ", "SECRET_KEY": ""})
    assert (config.port, config.window, config.secret_key) == (8000, 100, None)


def test_all_faults_are_reported_at_once() -> None:
    problems = _problems(
        {
            "DATABASE_URL": "mysql://db/app",
            "REDIS_URL": "redis://cache:port/0",
            "PORT": "eighty",
            "SECRET_KEY": "short",
            "ORCHESTRATOR_LEASE_SECONDS": "nan",
            "ORCHESTRATOR_WINDOW": "0",
            "ORCHESTRATOR_MAX_OUTPUT_BYTES": "lots",
            "ORCHESTRATOR_FUNCTIONS": "shop.steps,not-a-module",
            "ORCHESTRATOR_LOG_LEVEL": "loud",
            "ORCHESTRATOR_BROKER_TLS_VERIFY": "perhaps",
        }
    )
    assert set(problems) == {
        "DATABASE_URL",
        "REDIS_URL",
        "PORT",
        "SECRET_KEY",
        "ORCHESTRATOR_LEASE_SECONDS",
        "ORCHESTRATOR_WINDOW",
        "ORCHESTRATOR_MAX_OUTPUT_BYTES",
        "ORCHESTRATOR_FUNCTIONS",
        "ORCHESTRATOR_LOG_LEVEL",
        "ORCHESTRATOR_BROKER_TLS_VERIFY",
    }


@pytest.mark.parametrize("port", ["0", "65536", "-1", "80.5", "1e3"])
def test_impossible_ports_are_faults(port: str) -> None:
    assert "PORT" in _problems(URLS | {"PORT": port})


@pytest.mark.parametrize("seconds", ["-1", "0", "inf", "nan", "soon"])
def test_impossible_times_are_faults(seconds: str) -> None:
    assert "ORCHESTRATOR_TICK_SECONDS" in _problems(URLS | {"ORCHESTRATOR_TICK_SECONDS": seconds})


def test_a_heartbeat_slower_than_half_the_lease_is_a_fault() -> None:
    env = URLS | {"ORCHESTRATOR_LEASE_SECONDS": "10", "ORCHESTRATOR_HEARTBEAT_SECONDS": "6"}
    assert "ORCHESTRATOR_HEARTBEAT_SECONDS" in _problems(env)
    assert Config.from_env(env | {"ORCHESTRATOR_HEARTBEAT_SECONDS": "5"}).heartbeat_seconds == 5


def test_unknown_settings_are_warnings_that_name_a_near_one() -> None:
    config = Config.from_env(URLS | {"ORCHESTRATOR_WINDW": "5", "ORCHESTRATOR_XYZZY": "1", "OTHER": "1"})
    assert [(warning.path, warning.hint) for warning in config.warnings] == [
        ("ORCHESTRATOR_WINDW", "did you mean ORCHESTRATOR_WINDOW?"),
        ("ORCHESTRATOR_XYZZY", None),
    ]


def test_secrets_stay_out_of_repr() -> None:
    shown = repr(Config.from_env(URLS | {"SECRET_KEY": "hidden-hidden-hidden"}))
    assert "hidden" not in shown


def test_secrets_stay_out_of_faults() -> None:
    with pytest.raises(InvalidConfig) as caught:
        Config.from_env({"DATABASE_URL": "postgres://u:xyz zy@db/app", "REDIS_URL": "redis://:xyz#zy@cache/0"})
    assert "xyz" not in str(caught.value)
    assert {problem.path for problem in caught.value.problems} == {"DATABASE_URL", "REDIS_URL"}


def test_broker_url_wins_over_redis_url() -> None:
    config = Config.from_env(URLS | {"BROKER_URL": "amqp://guest@rabbit//"})
    assert config.broker_url == "amqp://guest@rabbit//"


def test_redis_on_a_heroku_dyno_is_trusted_without_a_signed_certificate() -> None:
    env = URLS | {"REDIS_URL": "rediss://:p@ec2-1.compute-1.amazonaws.com:6380"}
    assert Config.from_env(env).broker_url.endswith("?ssl_cert_reqs=required")
    assert Config.from_env(env | {"DYNO": "web.1"}).broker_url.endswith("?ssl_cert_reqs=none")
    strict = env | {"DYNO": "web.1", "ORCHESTRATOR_BROKER_TLS_VERIFY": "true"}
    assert Config.from_env(strict).broker_url.endswith("?ssl_cert_reqs=required")


def test_missing_servers_are_faults_that_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig) as caught:
        Config.from_env({"ORCHESTRATOR_DATA_DIR": str(tmp_path)})
    assert [problem.path for problem in caught.value.problems] == ["DATABASE_URL", "REDIS_URL"]
    assert all("orchestrator up" in str(problem.hint) for problem in caught.value.problems)


def test_only_the_needed_servers_must_be_there(tmp_path: Path) -> None:
    env = {"ORCHESTRATOR_DATA_DIR": str(tmp_path), "DATABASE_URL": "postgres://db/app"}
    assert Config.from_env(env, need=("database",)).broker_url == ""
    assert Config.from_env({"ORCHESTRATOR_DATA_DIR": str(tmp_path)}, need=()).database_url == ""


def test_a_running_up_is_found_in_the_data_folder(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    env = {"ORCHESTRATOR_DATA_DIR": str(tmp_path)}
    with folder.lock():
        folder.publish(Running(1, "postgresql+psycopg2://here/app", "redis://here/0", "http://here"))
        config = Config.from_env(env)
        given = Config.from_env(env | {"DATABASE_URL": "postgres://elsewhere/app"})
    assert (config.database_url, config.broker_url) == ("postgresql+psycopg2://here/app", "redis://here/0")
    assert given.database_url == "postgresql+psycopg2://elsewhere/app"
    with pytest.raises(InvalidConfig):
        Config.from_env(env)


def test_a_child_process_gets_the_same_settings() -> None:
    config = Config.from_env(URLS | {"ORCHESTRATOR_FUNCTIONS": "shop.steps", "ORCHESTRATOR_QUEUES": "a,b"})
    again = Config.from_env(config.environment())
    assert (again.database_url, again.broker_url) == (config.database_url, config.broker_url)
    assert (again.functions, again.queues, again.data_dir) == (config.functions, config.queues, config.data_dir)


def test_modules_of_a_package_that_ours_would_hide_are_a_fault() -> None:
    assert (
        "give yours another name"
        in _problems(URLS | {"ORCHESTRATOR_FUNCTIONS": "workers.tasks"})["ORCHESTRATOR_FUNCTIONS"]
    )
    assert Config.from_env(URLS | {"ORCHESTRATOR_FUNCTIONS": "workers2,web.tasks"}).functions == (
        "workers2",
        "web.tasks",
    )


def test_a_commands_own_defaults_hold_where_the_environment_sets_nothing() -> None:
    assert Config.from_env(URLS, queues=("*",)).all_queues
    assert Config.from_env(URLS | {"ORCHESTRATOR_QUEUES": "a"}, queues=("*",)).queues == ("a",)
    assert not Config.from_env(URLS).all_queues


def test_secrets_of_templates_are_named_in_lower_case_and_shown_nowhere() -> None:
    config = Config.from_env({**URLS, "ORCHESTRATOR_SECRET_API_KEY": "hunter2", "ORCHESTRATOR_SECRET_": "nameless"})
    assert config.secrets == {"api_key": "hunter2"}
    assert config.warnings == ()
    assert "hunter2" not in repr(config)


def test_an_engine_made_by_hand_has_the_defaults_of_the_settings() -> None:
    assert settings_of(Config.from_env(URLS)) == Settings()
