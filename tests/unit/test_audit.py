"""The audit of dependencies fails for a vulnerability, and for nothing else."""

from __future__ import annotations

import json

import pytest

from tests import audit

SOUND = {"name": "flask", "version": "3.1.3", "vulns": []}
BAD = {"name": "jinja2", "version": "3.1.2", "vulns": [{"id": "PYSEC-1"}]}
UNKNOWN = {"name": "mine", "skip_reason": "not found on PyPI"}


def printed(*dependencies: object) -> str:
    return json.dumps({"dependencies": dependencies})


@pytest.mark.parametrize(
    ("answer", "ends", "told"),
    [
        ((0, printed(SOUND, UNKNOWN), ""), 0, "1 of 2 dependencies were audited: nothing is known"),
        ((1, printed(SOUND, BAD), ""), 1, "jinja2 3.1.2: PYSEC-1"),
        ((1, "", "No module named pip_audit"), 0, "NOT audited: exit code 1, No module named pip_audit"),
        ((124, "", "no answer within 120 s"), 0, "NOT audited: exit code 124, no answer"),
    ],
)
def test_only_a_vulnerability_fails_the_check(answer: tuple[int, str, str], ends: int, told: str) -> None:
    ended, shown = audit.audit(lambda: None, lambda: answer)
    assert (ended, told in shown) == (ends, True), shown


def test_without_a_network_it_says_at_once_that_nothing_was_audited() -> None:
    def never() -> tuple[int, str, str]:
        raise AssertionError("nobody is asked")

    assert audit.audit(lambda: "PyPI is away", never) == (0, "dependencies were NOT audited: PyPI is away")


def test_what_takes_too_long_is_ended() -> None:
    assert audit.ask(0.2, ("-c", "import time; time.sleep(60)"))[0] == 124
