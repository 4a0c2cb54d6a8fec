"""The package as it is published: built, installed in a fresh environment, and started there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import urllib.request
import venv
from pathlib import Path

import pytest

from tests.integration.local_up import SHOWN, up_in
from tests.integration.workers.forks import ROOT


def _run(*command: object, cwd: Path) -> None:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _sources(folder: Path) -> Path:
    """The files of the checkout that git knows, so that nothing left over gets into the wheel."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def _environment(folder: Path, wheel: Path) -> Path:
    """A virtual environment with the wheel alone, which sees the libraries of this one; its folder of programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
    # As a line of a .pth file the folder is looked in, and what its own .pth files add (the checkout) is not.
    (Path(site) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _run(sys.executable, "-m", "pip", "--python", folder, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    return folder / "bin"


@pytest.mark.timeout(300)
def test_the_wheel_runs_up_in_a_fresh_environment(tmp_path: Path) -> None:
    sources = _sources(tmp_path / "sources")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, cwd=sources)
    (wheel,) = tmp_path.glob("orchestrator-*.whl")
    programs = _environment(tmp_path / "fresh", wheel)
    _run(
        programs / "python",
        "-c",
        f"import orchestrator; assert {str(tmp_path)!r} in orchestrator.__file__",
        cwd=tmp_path,
    )
    (folder := tmp_path / "project").mkdir()
    with up_in(folder, program=[str(programs / "orchestrator")]) as up:
        up.wait_said(SHOWN)
        assert "order succeeded" in up.said
        for path in ("/login", "/static/app.css", "/static/vendor/htmx-2.0.11.min.js"):
            with urllib.request.urlopen(up.running["web_url"] + path, timeout=10) as answer:
                assert answer.status == 200
