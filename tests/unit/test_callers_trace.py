"""What a start tells of its caller's trace, without loading what traces."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from orchestrator.services.callers_trace import callers_trace


def test_a_start_while_another_thread_loads_the_tracer_tells_of_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", ModuleType("opentelemetry.trace"))
    assert callers_trace() is None


def test_a_start_where_nothing_traces_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert callers_trace() is None
    assert "opentelemetry.trace" not in sys.modules
