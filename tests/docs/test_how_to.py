"""Code of the how-tos that needs an installation."""

from __future__ import annotations

import re

import pytest

from tests.architecture.pages import page
from tests.docs.test_examples import run_code


def test_a_run_is_started_with_the_row_it_is_for_or_not_at_all(
    database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", broker_url)
    ((info, code),) = page("docs/how-to/start-in-my-transaction.md").blocks()
    run_code(code, info)
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.+)", code)
