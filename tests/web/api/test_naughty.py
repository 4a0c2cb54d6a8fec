"""Texts that break programs: refused, or kept and given back as they are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.documents import document, step
from tests.support import soaked
from tests.web.api.conftest import Api

DATA = Path(__file__).parents[2] / "data"


def cases(name: str) -> list[Any]:
    found: list[Any] = json.loads((DATA / name).read_text())["cases"]
    return found


NAUGHTY: list[str] = cases("naughty_strings.json")


def test_a_naughty_string_is_stored_and_given_back_as_it_is(api: Api) -> None:
    api.register(name="naughty")
    made = api.post("/runs/batch", {"workflow": "naughty", "inputs": [{"t": text, text: 1} for text in NAUGHTY]})
    if made.status_code == 422:  # a key or a text that cannot be stored
        pytest.fail(made.text)
    for id, text in list(zip(made.get_json()["ids"], NAUGHTY, strict=True))[::7]:
        assert api.get(f"/runs/{id}")["input"] == {"t": text, text: 1}


def test_a_naughty_string_as_a_name_a_filter_or_a_cursor_is_answered(api: Api) -> None:
    for text in NAUGHTY[:: soaked(15, 1)]:
        part = quote(text, safe="")
        if part and text not in (".", ".."):
            assert api.call("GET", f"/workflows/{part}").status_code == 404
            assert api.call("GET", f"/runs/{part}/steps/{part}").status_code == 404
        for name in ("workflow", "tag", "error", "after", "app"):
            assert api.call("GET", f"/runs?{name}={part}").status_code in (200, 404, 422), (name, text)


def test_a_naughty_string_in_a_definition_is_taken_as_it_is_or_told(api: Api) -> None:
    for text in NAUGHTY[:: soaked(25, 1)]:
        made = document(step("a", input={"t": f"{{% raw %}}{text}{{% endraw %}}"}), name="odd", description=text)
        answer = api.post("/workflows", made)
        assert answer.status_code in (200, 201, 422), answer.text
        if answer.status_code != 422:
            assert api.get("/workflows/odd")["document"] == made


def test_what_is_no_json_is_refused_and_what_is_json_is_read(api: Api) -> None:
    for case in cases("json_suite.json"):
        body = base64.b64decode(case["base64"]) * case.get("times", 1)
        answer = api.call("POST", "/runs", data=body, content_type="application/json")
        allowed = {"n": (400,), "y": (400, 422), "i": (400, 422)}[case["name"][0]]
        assert answer.status_code in allowed, (case["name"], answer.text)


def test_what_is_yaml_or_not_is_checked_as_a_definition(api: Api) -> None:
    for case in cases("yaml_suite.json")[:: soaked(8, 1)]:
        answer = api.call("POST", "/workflows", data=case["yaml"].encode(), content_type="application/yaml")
        assert answer.status_code == 422, (case, answer.text)
        assert (
            api.call(
                "POST", "/workflows/validate", data=case["yaml"].encode(), content_type="application/yaml"
            ).get_json()["valid"]
            is False
        )
