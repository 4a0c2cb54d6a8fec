"""What is stored of an attempt that was given secrets shows none of them, and is JSON all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands


@pytest.mark.parametrize(
    ("secret", "echo", "shown"),
    [
        ("5432", {"port": 5432, "url": "db:5432", "5432": [5432, 54321]}, {"port": "***", "url": "db:***"}),
        ("true", {"port": True, "url": "true", "true": [False]}, {"port": True, "url": "***"}),
        ("null", {"port": None, "url": "null", "null": [0]}, {"port": None, "url": "***"}),
    ],
)
def test_a_secret_that_looks_like_a_bare_word_of_json(db: Database, secret: str, echo: Any, shown: Any) -> None:
    """`fromjson` cannot read the mask, so that what is stored of the input is masked as text."""
    hands = Hands(db, {"echo": lambda port: echo})
    hands.engine = replace(hands.engine, secrets={"port": secret})
    given = {"port": "{{ fromjson(secrets.port) }}"}
    run_id = hands.start(document(step("a", function="echo", input=given), output={}))
    hands.work()
    stored = hands.steps(run_id)["a"]
    assert stored["status"] == "succeeded"
    assert stored["input"] == {"port": shown["port"]}
    assert stored["output"] | shown == stored["output"]
    assert secret not in stored["output"]
    assert "***" in stored["output"]
