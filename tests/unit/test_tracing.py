from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.config import Config
from orchestrator.config_telling import Traces, read_traces
from orchestrator.domain.tracing import attempt_span, read_traceparent, run_span, trace_of
from orchestrator.errors import InvalidConfig
from orchestrator.ids import new_id

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("text", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f" 00-{TRACE.upper()}-{SPAN}-03 ", True),
        (f"cc-{TRACE}-{SPAN}-01-what-will-be", True),
    ],
)
def test_a_caller_is_read_from_its_header(text: str, sampled: bool) -> None:
    caller = read_traceparent(text)
    assert caller is not None
    assert (caller.trace_id, caller.span_id, caller.sampled) == (TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-{'x' * 500}",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
    ],
)
def test_what_is_no_such_header_is_no_caller(text: str | None) -> None:
    assert read_traceparent(text) is None
    root = new_id()
    assert trace_of(root, text) == trace_of(root, None)


def test_ids_are_those_of_the_standard_and_differ_for_what_differs() -> None:
    run = new_id()
    ids = [run_span(run), run_span(run, 1), attempt_span(run, 1), attempt_span(run, 2), attempt_span(new_id(), 1)]
    assert len(set(ids)) == 5
    assert {len(id) for id in ids} == {16}
    assert len(trace_of(run, None)) == 32
    # Samplers go by the lower half of a trace's id, which is no chance in a UUID of version 7.
    assert len({int(trace_of(new_id(), None), 16) >> 60 & 0xF for _ in range(200)}) == 16


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, Traces()),
        ({"OTEL_SERVICE_NAME": "x"}, Traces()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, Traces(("otlp",))),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "True"}, Traces()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, Traces()),
        (
            {"OTEL_TRACES_EXPORTER": "otlp, console", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            Traces(("otlp", "console"), "grpc"),
        ),
    ],
)
def test_traces_are_on_where_the_standard_variables_say_so(env: dict[str, str], found: Traces) -> None:
    assert read_traces(env) == found
    assert Config.from_env(env, need=()).traces == found


def test_where_traces_are_shown_is_an_address_with_a_place_for_the_id() -> None:
    for wrong in ("https://x/trace", "javascript:alert('{trace_id}')"):
        with pytest.raises(InvalidConfig, match="ORCHESTRATOR_TRACE_URL"):
            Config.from_env({"ORCHESTRATOR_TRACE_URL": wrong}, need=())


def test_an_exporter_that_is_not_there_is_a_fault_and_a_missing_sdk_is_none() -> None:
    code = """
import sys
if sys.argv[1] == "missing":
    sys.modules["opentelemetry"] = None
from orchestrator.config import Config
from orchestrator.tracing.load import load_attempts
config = Config.from_env({"OTEL_TRACES_EXPORTER": "nonsense"}, need=())
print(load_attempts(config, None, "w", lambda: None))
"""
    missing = subprocess.run([sys.executable, "-c", code, "missing"], capture_output=True, text=True, check=True)
    assert (missing.stdout.strip(), "pip install 'orchestrator[otel]'" in missing.stderr) == ("None", True)
    wrong = subprocess.run([sys.executable, "-c", code, "there"], capture_output=True, text=True, check=False)
    assert "OTEL_TRACES_EXPORTER: asks for 'nonsense', which is not installed" in wrong.stderr
