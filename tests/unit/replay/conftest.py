"""Functions are rehearsed with no server."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.testing.sandboxed.scratch_database", lambda: pytest.fail("a server was started"))
