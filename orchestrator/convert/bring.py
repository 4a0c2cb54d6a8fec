"""Import documents of other engines: the way in of this room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from orchestrator.convert.airflow import import_dag
from orchestrator.convert.airflow_data import dags_of
from orchestrator.convert.airflow_python import read_dags
from orchestrator.convert.attune import import_attune
from orchestrator.convert.director import import_director
from orchestrator.convert.finish import NotImported
from orchestrator.convert.guess import Engine, guess, metadata_of
from orchestrator.convert.orquesta import import_orquesta
from orchestrator.convert.report import Imported
from orchestrator.convert.source import Source
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.load import load_text
from orchestrator.domain.loading.decode import decode
from orchestrator.errors import InvalidDefinition, Problem

_UNCLEAR = "it is not clear which engine this is for: say it with --from"
# What a file (the first argument) means by the name of a schema.
ReadSchema = Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of one file: workflows, and why some or all could not be imported."""

    file: str
    engine: Engine | None
    workflows: tuple[Imported, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def lost(self) -> bool:
        return any(workflow.lost for workflow in self.workflows)


@dataclass(frozen=True, slots=True)
class _Read:
    file: str
    text: str
    data: Any
    engine: Engine | None
    problems: tuple[Problem, ...] = ()


def bring(
    files: Sequence[tuple[str, str | bytes]],
    engine: Engine | None = None,
    *,
    limits: Limits = LIMITS,
    read_schema: ReadSchema = lambda file, name: None,
) -> list[Brought]:
    """Import files given by name and content, for all of one engine or for each as it looks. Never raises for what a
    file holds: what is wrong with it is in the answer."""
    read = [_read(file, content, engine, limits) for file, content in files]
    metadata = {PurePath(named).name: one.data for one in read if (named := metadata_of(one.data))}
    known = {one.file: _name(one, metadata) for one in read if one.data is not None}
    workflows = _actions(read, known)
    there = {PurePath(one.file).name for one in read if metadata_of(one.data) is None}
    return [_import(one, metadata, there, known.get(one.file, ""), workflows, limits, read_schema) for one in read]


def _read(file: str, content: str | bytes, engine: Engine | None, limits: Limits) -> _Read:
    try:
        text = decode(content, limits)
        data = None if file.endswith(".py") else load_text(text, limits=limits)
    except InvalidDefinition as error:
        return _Read(file, "", None, engine, error.problems)
    return _Read(file, text, data, engine or guess(file, data))


def _name(one: _Read, metadata: Mapping[str, Any]) -> str:
    """What a workflow is called: as its metadata or itself says, else as the file."""
    about = metadata.get(PurePath(one.file).name, {})
    named = about.get("ref") or (one.data.get("ref") if isinstance(one.data, Mapping) else None)
    if isinstance(named, str) and named:
        return named
    pack, name = about.get("pack"), about.get("name")
    if isinstance(name, str):
        return f"{pack}.{name}" if isinstance(pack, str) else name
    own = one.data.get("name") if isinstance(one.data, Mapping) else None
    stem = PurePath(one.file).stem.removesuffix(".workflow")
    return own if isinstance(own, str) and own else stem if one.file != "-" else "imported"


def _actions(read: Sequence[_Read], known: Mapping[str, str]) -> dict[str, str]:
    """The names by which tasks run the workflows that are imported: theirs, also behind the name of a pack."""
    names = {name: name for one in read if (name := known.get(one.file)) and one.engine in _WITH_ACTIONS}
    short = {name.rpartition(".")[2]: name for name in names}
    for one in read:
        for action in _actions_of(one.data):
            pack, _, last = action.rpartition(".")
            if pack and last in short and action not in names:
                names[action] = short[last]
    return names


_WITH_ACTIONS = (Engine.ORQUESTA, Engine.ATTUNE)


def _actions_of(data: Any) -> Iterator[str]:
    tasks = data.get("tasks") if isinstance(data, Mapping) else None
    values = tasks.values() if isinstance(tasks, Mapping) else tasks if isinstance(tasks, list) else ()
    for task in values:
        if isinstance(task, Mapping) and isinstance(task.get("action"), str) and task["action"].strip():
            yield task["action"].split()[0]


def _import(
    one: _Read,
    metadata: Mapping[str, Any],
    files: Collection[str],
    name: str,
    workflows: Mapping[str, str],
    limits: Limits,
    read_schema: ReadSchema,
) -> Brought:
    if one.problems:
        return Brought(one.file, one.engine, (), one.problems)
    if one.engine is None or not (one.file.endswith(".py") or isinstance(one.data, Mapping)):
        why = _UNCLEAR if one.engine is None else "it must be a map"
        return Brought(one.file, one.engine, (), (Problem("", why),))
    if (named := metadata_of(one.data)) is not None:
        why = f"describes the workflow in '{named}', which is not among the files"
        missing = () if PurePath(named).name in files else (Problem("", why),)
        return Brought(one.file, one.engine, (), missing)
    source = Source(one.file, one.data, name, one.text, metadata.get(PurePath(one.file).name, {}))
    made = list(_made(one, source, workflows, limits, read_schema))
    return Brought(
        one.file,
        one.engine,
        tuple(result for result in made if isinstance(result, Imported)),
        tuple(problem for result in made if isinstance(result, NotImported) for problem in result.problems),
    )


def _made(
    one: _Read, source: Source, workflows: Mapping[str, str], limits: Limits, read_schema: ReadSchema
) -> Iterator[Imported | NotImported]:
    try:
        if one.engine is Engine.DIRECTOR:
            yield from import_director(source, lambda name: read_schema(one.file, name), limits)
        elif one.engine is Engine.ORQUESTA:
            yield import_orquesta(source, workflows, limits)
        elif one.engine is Engine.ATTUNE:
            yield import_attune(source, workflows, limits)
        else:
            yield from _dags(one, source, limits)
    except NotImported as error:
        yield error


def _dags(one: _Read, source: Source, limits: Limits) -> Iterator[Imported | NotImported]:
    dags = read_dags(source.text) if one.file.endswith(".py") else dags_of(source.data, source.name)
    if not dags:
        yield NotImported([Problem("", "no DAG is made in this file")])
    for dag in dags:
        try:
            yield import_dag(dag, source.told, limits)
        except NotImported as error:
            yield NotImported([Problem(dag.id, problem.message, problem.hint) for problem in error.problems])
