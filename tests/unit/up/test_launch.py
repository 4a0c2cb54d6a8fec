"""How the launched program ends."""

from __future__ import annotations

import sys

import pytest

from orchestrator.up import launch


def test_ctrl_c_while_the_program_is_imported_is_an_exit_code_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program takes the signal itself once it runs."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(launch.runpy, "run_module", interrupted)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as caught:
        launch.main()
    assert caught.value.code == 130
