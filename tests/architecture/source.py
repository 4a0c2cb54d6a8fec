"""The project's own source, read as syntax trees."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, eq=False)
class Source:
    """One Python file. `module` is its dotted name; a package's is that of its folder."""

    path: Path
    module: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


@dataclass(frozen=True)
class Import:
    """One imported name: `import target`, or `name` from `target` (the submodule itself where it is one)."""

    source: Source
    line: int
    target: str
    name: str | None

    def __str__(self) -> str:
        shown = self.target if self.name is None else f"{self.name} from {self.target}"
        return f"{self.source.name}:{self.line} imports {shown}"


@cache
def read(folder: str) -> tuple[Source, ...]:
    """Every Python file under a folder of the project."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    gc.collect()
    gc.disable()  # the trees are millions of objects, and stay
    try:
        return tuple(Source(path, _module(path), ast.parse(path.read_text(), str(path))) for path in paths)
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(source: Source) -> tuple[ast.AST, ...]:
    """Every node of the file's tree."""
    return tuple(ast.walk(source.tree))


def _module(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(source: Source) -> tuple[Import, ...]:
    """Everything the file imports, at its top or anywhere else."""
    return tuple(_imports(source))


def _imports(source: Source) -> Iterator[Import]:
    for node in nodes(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(source, node.lineno, alias.name, None)
        elif isinstance(node, ast.ImportFrom):
            package = _absolute(source, node)
            for alias in node.names:
                inner = f"{package}.{alias.name}"
                found = Import(source, node.lineno, inner, None) if is_module(inner) else None
                yield found or Import(source, node.lineno, package, alias.name)


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    own = source.module.split(".")
    package = own if source.path.name == "__init__.py" else own[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


@cache
def is_module(dotted: str) -> bool:
    """Whether the dotted name is a module or package of this project."""
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def within(dotted: str, package: str) -> bool:
    """Whether the dotted name is the package or inside it."""
    return dotted == package or dotted.startswith(package + ".")


@cache
def texts(source: Source) -> tuple[tuple[int, str], ...]:
    """Every string of the file but its docstrings, with its line; what an f-string fills in shows as `{}`."""
    return tuple(_texts(source.tree, _docstrings(source)))


def _texts(node: ast.AST, skipped: set[int]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(_part(part) for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from _texts(child, skipped)


def _part(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"


def _docstrings(source: Source) -> set[int]:
    """Strings that stand alone as a statement."""
    return {
        id(node.value) for node in nodes(source) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of the file."""
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
