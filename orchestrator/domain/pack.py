"""A pack: workflows that are installed, upgraded and removed as one unit (docs/packs.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.domain.definition import Definition
from orchestrator.domain.format.schemas import PackSchema
from orchestrator.domain.limits import Limits
from orchestrator.domain.parse import parse
from orchestrator.domain.shape import schema_problems
from orchestrator.errors import InvalidDefinition, InvalidPack, Problem

MANIFEST = "pack.yaml"
_SCHEMA = PackSchema()


@dataclass(frozen=True, slots=True)
class PackFile:
    """A workflow document of a pack; `path` as people know it, `workflows/order.yaml`."""

    path: str
    document: Mapping[str, Any]
    definition: Definition


@dataclass(frozen=True, slots=True)
class Pack:
    """What a pack holds."""

    name: str
    version: str | None
    label: str | None
    description: str | None
    files: tuple[PackFile, ...]


def make_pack(manifest: Any, documents: Mapping[str, Any], limits: Limits, earlier: Sequence[Problem] = ()) -> Pack:
    """The pack of a manifest and of documents by path, as data. Raises `InvalidPack` with all problems of all files,
    those found `earlier` among them."""
    problems = [*earlier, *_of_manifest(manifest)]
    files = []
    for path, document in documents.items():
        try:
            files.append(PackFile(path, document, parse(document, limits=limits)))
        except InvalidDefinition as error:
            problems += [in_file(path, problem) for problem in error.problems]
    problems += _doubled(files)
    if not documents and not earlier:
        problems.append(Problem("workflows", "the pack has no workflow: they are files such as workflows/order.yaml"))
    if problems:
        raise InvalidPack(problems)
    return Pack(
        manifest["name"], manifest.get("version"), manifest.get("label"), manifest.get("description"), tuple(files)
    )


def in_file(path: str, problem: Problem) -> Problem:
    """The problem with the name of its file."""
    return replace(problem, path=f"{path}: {problem.path}" if problem.path else path)


def _of_manifest(manifest: Any) -> list[Problem]:
    if manifest is None:  # which is told already
        return []
    if not isinstance(manifest, dict):
        return [Problem(MANIFEST, "must be a map with the pack's name")]
    return [in_file(MANIFEST, problem) for problem in schema_problems(_SCHEMA, manifest)]


def _doubled(files: Sequence[PackFile]) -> Iterator[Problem]:
    first: dict[str, PackFile] = {}
    for file in files:
        name = file.definition.name
        known = first.setdefault(name.casefold(), file)
        if known is not file:
            yield Problem(f"{file.path}: name", f"'{name}' is the name of the workflow in {known.path} too")
