"""The package as it is published: built, installed in a fresh environment, and started there."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.integration.local_up import SHOWN, up_in
from tests.integration.workers.forks import ROOT

USE = """
from orchestrator import Orchestrator, RetryPolicy, testing
from web.app import create_app
from workers import make

reveal_type(RetryPolicy(max_attempts=3).max_attempts)
reveal_type(Orchestrator.from_env().start("order").status)
"""


def _run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _known_to_git() -> list[str]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in filter(None, names.split("\0")) if (ROOT / name).is_file()]


def _sources(folder: Path) -> Path:
    """The files of the checkout that git knows, so that nothing left over gets into the wheel."""
    for name in _known_to_git():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def _environment(folder: Path, wheel: Path) -> Path:
    """A virtual environment with the wheel alone; its folder of programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    _run(sys.executable, "-m", "pip", "--python", folder, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    return folder / "bin"


def _add_libraries(folder: Path) -> None:
    """Let an environment see the libraries of this one."""
    site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
    # As a line of a .pth file the folder is looked in, and what its own .pth files add (the checkout) is not.
    (Path(site) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")


def _check_sdist(sdist: Path) -> None:
    """It has whatever the checkout has, and its tests can be run."""
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(sdist.parent, filter="data")
    assert set(_known_to_git()) - held == {".gitignore"}
    unpacked = sdist.parent / sdist.name.removesuffix(".tar.gz")
    assert "passed" in _run(sys.executable, "-m", "pytest", "-q", "tests/unit/test_ids.py", cwd=unpacked)


def _check_wheel(wheel: Path, version: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
        told = message_from_bytes(archive.read(f"orchestrator-{version}.dist-info/METADATA"))
    assert {f"{name}/py.typed" for name in ("orchestrator", "workers", "web", "migrations")} <= set(held)
    assert f"orchestrator-{version}.dist-info/licenses/LICENSE" in held
    assert [name for name in held if name.startswith(("tests/", "docs/")) or "/" not in name] == []
    assert (told["Version"], told["License-Expression"]) == (version, "Apache-2.0")
    text = str(told.get_payload())
    assert "Durable workflows" in text
    assert [extra for extra in told.get_all("Provides-Extra", []) if f"extra `{extra}`" not in text] == []
    assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")] == []


def _check_types(programs: Path, folder: Path) -> None:
    """mypy finds the types in the wheel; without the libraries beside it, which makes it quick."""
    (folder / "use.py").write_text(USE)
    options = ("--config-file=", f"--cache-dir={folder / 'types'}", f"--python-executable={programs / 'python'}")
    said = _run(sys.executable, "-m", "mypy", *options, "use.py", cwd=folder)
    assert [line.partition("note: ")[2] for line in said.splitlines()[:2]] == [
        'Revealed type is "int"',
        'Revealed type is "orchestrator.domain.states.RunStatus"',
    ]


@pytest.mark.timeout(600)
def test_the_wheel_runs_up_in_a_fresh_environment(tmp_path: Path) -> None:
    sources = _sources(tmp_path / "sources")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, cwd=sources)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    wheel = next(tmp_path.glob("orchestrator-*.whl"))
    _check_sdist(next(tmp_path.glob("orchestrator-*.tar.gz")))
    _check_wheel(wheel, version)
    programs = _environment(tmp_path / "fresh", wheel)
    _check_types(programs, tmp_path)
    _add_libraries(tmp_path / "fresh")
    where = _run(programs / "python", "-c", "import orchestrator; print(orchestrator.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path))
    assert _run(programs / "orchestrator", "--version", cwd=tmp_path) == f"orchestrator, version {version}\n"
    (folder := tmp_path / "project").mkdir()
    with up_in(folder, program=[str(programs / "orchestrator")]) as up:
        up.wait_said(SHOWN)
        assert "order succeeded" in up.said
        for path in ("/login", "/static/app.css", "/static/vendor/htmx-2.0.11.min.js", "/docs/index.html"):
            with urllib.request.urlopen(up.running["web_url"] + path, timeout=30) as answer:
                assert answer.status == 200
