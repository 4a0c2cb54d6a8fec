"""Asks whether a dependency has a known vulnerability (pip-audit), where that can be asked: `make audit`.

Exit code 1 when one has. Where nobody answers it says so, at once, and is no failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable

_ASKED = "https://pypi.org/pypi/jinja2/3.1.2/json"  # which has known vulnerabilities
_AUDIT = ("-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off", "--timeout", "10", "-f", "json")
_PROBE_SECONDS, _AUDIT_SECONDS = 5.0, 120.0
_TOO_LONG = 124


def probe() -> str | None:
    """Why nobody can be asked; None when somebody can."""
    try:
        with urllib.request.urlopen(_ASKED, timeout=_PROBE_SECONDS) as answer:
            return None if json.load(answer).get("vulnerabilities") else "PyPI tells nothing about vulnerabilities"
    except (OSError, ValueError) as error:
        return f"PyPI cannot be asked: {error}"


def ask(seconds: float = _AUDIT_SECONDS, words: tuple[str, ...] = _AUDIT) -> tuple[int, str, str]:
    """The exit code of this Python with these arguments, what it printed and what it complained of."""
    try:
        done = subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return _TOO_LONG, "", f"no answer within {seconds:g} s"
    return done.returncode, done.stdout, done.stderr


def audit(probe: Callable[[], str | None] = probe, ask: Callable[[], tuple[int, str, str]] = ask) -> tuple[int, str]:
    """The exit code, and what to tell."""
    hindrance = probe()
    if hindrance is not None:
        return 0, f"dependencies were NOT audited: {hindrance}"
    code, printed, complaint = ask()
    try:
        dependencies = json.loads(printed)["dependencies"]
    except ValueError:
        return 0, f"dependencies were NOT audited: exit code {code}, {_last(complaint)}"
    audited = [one for one in dependencies if "vulns" in one]
    bad = [f"{one['name']} {one['version']}: {v['id']}" for one in audited for v in one["vulns"]]
    told = f"{len(audited)} of {len(dependencies)} dependencies were audited"
    return (1, "\n".join([f"{told}; known vulnerabilities:", *bad])) if bad else (0, f"{told}: nothing is known")


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "and it said nothing"


if __name__ == "__main__":
    ended, told = audit()
    print(told)  # noqa: T201
    sys.exit(ended)
