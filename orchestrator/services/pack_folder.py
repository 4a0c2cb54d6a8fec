"""Read a pack from its folder: `pack.yaml`, and a workflow in each file of `workflows/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.pack import MANIFEST, Pack, in_file, make_pack
from orchestrator.errors import NotFound, OrchestratorError, Problem, ProblemsError
from orchestrator.services.documents import read_document

FOLDER = "workflows"
SUFFIXES = (".yaml", ".yml", ".json")


def read_pack(folder: str | Path, *, limits: Limits = LIMITS) -> Pack:
    """The pack in `folder`. Raises `NotFound` for a folder that is none, and `InvalidPack` with all problems of all
    files. Folders in `workflows/` and files that are neither YAML nor JSON are not looked at."""
    root = Path(folder)
    if not (root / MANIFEST).is_file():
        raise NotFound(f"'{folder}' is no pack: it has no file '{MANIFEST}'")
    problems: list[Problem] = []
    manifest = _read(root, MANIFEST, limits, problems)
    paths = [f"{FOLDER}/{path.name}" for path in sorted((root / FOLDER).glob("*")) if _is_document(path)]
    read = {path: _read(root, path, limits, problems) for path in paths}
    return make_pack(manifest, {path: data for path, data in read.items() if data is not None}, limits, problems)


def _is_document(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and not path.is_dir()


def _read(root: Path, path: str, limits: Limits, problems: list[Problem]) -> Any:
    """The data of a file; None for one that cannot be read, whose problems are added to `problems`."""
    try:
        data = read_document(root / path, limits=limits)
    except ProblemsError as error:
        problems += [in_file(path, problem) for problem in error.problems]
    except OrchestratorError as error:
        problems.append(Problem(path, str(error)))
    else:
        return {} if data is None else data
    return None
