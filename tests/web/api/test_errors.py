"""Every error is a problem, whatever went wrong."""

from __future__ import annotations

import io
import logging

import pytest

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from tests.web.api.checked import Checked
from tests.web.api.conftest import Api
from web.app import create_app
from web.errors import TooManyRequests
from web.rates import Rates


def test_what_the_server_does_not_know_is_a_problem_too(api: Api) -> None:
    for path in ("/nothing", "/runs/", "//runs", "/%2F", "/workflows/x/revisions/0x1", "/workflows/%FF"):
        assert api.call("GET", path).status_code in (400, 404), path
    wrong = api.call("PATCH", "/runs")
    assert (wrong.status_code, sorted(wrong.headers["Allow"].split(", "))) == (405, ["GET", "HEAD", "OPTIONS", "POST"])


@pytest.mark.parametrize(
    ("body", "kind", "status", "told"),
    [
        (b'{"a": 1', "application/json", 400, "line 1, column 8"),
        (b'{"a": NaN}', "application/json", 400, "NaN is not a number"),
        (b'{"a": 1, "a": 2}', "application/json", 400, "stands twice"),
        (b'{"workflow": "\\ud800"}', "application/json", 400, "surrogate"),
        (b"\xff\xfe", "application/json", 400, "UTF-16"),
        (b"[" * 100_000, "application/json", 400, "column"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "Content-Type: application/json"),
        (b"", "application/json", 400, ""),
        (b"[1]", "application/json", 422, "invalid input type"),
        (b'{"workflow": 1}', "application/json", 422, "not a valid string"),
        (b"{}", "application/json", 422, "is missing"),
        (b'{"workflow": "x", "inptu": 1}', "application/json", 422, "is not known here"),
        (b" " * (5 << 20), "application/json", 413, "larger than this server takes"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_why(api: Api, body: bytes, kind: str, status: int, told: str) -> None:
    answer = api.call("POST", "/runs", data=body, content_type=kind)
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")
    assert told in " ".join([problem["detail"], *(error["message"] for error in problem["errors"])])


def test_a_body_in_chunks_is_never_cut_short(api: Api) -> None:
    headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/yaml"}
    for size, status in ((5 << 20, 413), (100, 422)):
        body = b"# " + b"x" * size
        given = {"input_stream": io.BytesIO(body), "environ_overrides": {"wsgi.input_terminated": True}}
        answer = api.call("POST", "/workflows", headers=headers, **given)
        assert (answer.status_code, answer.mimetype) == (status, "application/problem+json"), answer.text


def test_a_fault_of_ours_tells_its_number_and_nothing_else(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(api.checked.app.extensions, "orchestrator.engine", "secret of the house")
    answer = api.call("GET", "/runs", headers={"X-Request-Id": "my-request"})
    assert (answer.status_code, answer.get_json()["request_id"]) == (500, "my-request")
    assert answer.headers["X-Request-Id"] == "my-request"
    assert "secret" not in answer.text
    assert "request my-request failed" in caplog.text
    odd = api.call("GET", "/runs", headers={"X-Request-Id": "a b\u00e9"})
    assert odd.headers["X-Request-Id"] != "a b\u00e9"


def test_requests_that_are_refused_are_in_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "orchestrator.web"):
        answer = api.call("GET", "/runs/x", headers={"X-Request-Id": "r1"})
    assert answer.status_code == 404
    assert any("'/api/v1/runs/x' 404" in line and "request r1 of 'admin'" in line for line in caplog.messages)


def test_a_database_that_is_away_is_told_and_when_to_come_back(closed_port: int) -> None:
    app = create_app(Config(database_url=f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", secret_key="x" * 16))
    answer = Checked(app).call("GET", "/runs", token="orc_" + "x" * 43)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_a_token_that_asks_too_often_is_told_to_wait(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api.checked.app.extensions, "orchestrator.rates", Rates(2, lambda: 0.0))
    statuses = [api.call("GET", "/schema").status_code for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert api.call("GET", "/schema").headers["Retry-After"] == "1"
    assert api.call("GET", "/schema", Role.VIEWER).status_code == 200


def test_a_rate_gives_back_as_time_goes_by() -> None:
    now = [0.0]
    rates = Rates(2, lambda: now[0])
    for _ in range(3):
        rates.take("a")
        rates.take("a")
        with pytest.raises(TooManyRequests):
            rates.take("a")
        now[0] += 1.0
    now[0] += 0.5
    rates.take("b")


def test_other_origins_may_read_where_the_settings_name_them(orchestrator_module_database_url: str) -> None:
    config = Config(
        database_url=orchestrator_module_database_url, secret_key="x" * 16, cors_origins=("https://a.example",)
    )
    client = create_app(config).test_client()
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    allowed = client.options("/api/v1/runs", headers=asked)
    assert allowed.headers["Access-Control-Allow-Origin"] == "https://a.example"
    assert "Authorization" in allowed.headers["Access-Control-Allow-Headers"]
    assert (
        "Access-Control-Allow-Origin" not in client.get("/api/v1/runs", headers={"Origin": "https://b.example"}).headers
    )


def test_no_other_origin_may_read_unless_the_settings_name_it(api: Api) -> None:
    answer = api.call("GET", "/runs", headers={"Origin": "https://a.example"})
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]
