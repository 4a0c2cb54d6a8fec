"""The one direction of travel between rooms (docs/architecture.md)."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Callable, Iterator

import pytest

from tests.architecture.source import ROOT, Import, Source, functions, imports, nodes, read, texts, within

# From the top down. Modules of one line may import each other.
ROOMS = (
    "errors",
    "ids",
    "clock jsonline",
    "config_urls config_telling data_folder",
    "config",
    "domain",
    "convert",
    "functions context",
    "store",
    "services",
    "replay",
    "transport installed blobstore loglines tracing",
    "embedded",
    "bootstrap",
    "client client_packs client_schedules handle",
    "",  # the package itself: what `from orchestrator import ...` gives to users
    "testing",
    "pytest_plugin",
    "examples",
    "up",
    "bench",
    "cli",
)
LEVELS = {name: level for level, names in enumerate(ROOMS) for name in (names.split() or [""])}

CELERY = ("celery", "kombu", "billiard", "amqp", "vine")
FLASK = ("flask", "werkzeug", "marshmallow_sqlalchemy")
DATABASE = ("sqlalchemy", "psycopg2", "alembic")
UNSAFE = ("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve")
PURE = ("errors", "clock", "domain")


def level_of(module: str) -> int:
    """The room of a module of orchestrator; a module in no room has no place in the product."""
    inside = module.removeprefix("orchestrator").lstrip(".")
    room = inside.split(".")[0]
    assert room in LEVELS, f"{module} is in no room: give it a place in ROOMS and in docs/architecture.md"
    return LEVELS[room]


def broken(packages: str, breaks: Callable[[Import], bool]) -> list[str]:
    """The imports of these packages that break a rule."""
    found = (i for package in packages.split() for source in read(package) for i in imports(source))
    return [str(i) for i in found if breaks(i)]


def is_of(found: Import, packages: tuple[str, ...]) -> bool:
    return any(within(found.target, package) for package in packages)


def test_a_module_of_orchestrator_imports_only_from_its_own_room_and_rooms_above() -> None:
    def breaks(found: Import) -> bool:
        if not within(found.target, "orchestrator"):
            return False
        return level_of(found.target) > level_of(found.source.module)

    assert broken("orchestrator", breaks) == []


def test_every_module_of_orchestrator_is_in_a_room() -> None:
    assert [level_of(source.module) for source in read("orchestrator")]


def test_the_page_about_the_architecture_names_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [room for room in LEVELS if room and not room.startswith("__")]
    assert [room for room in rooms if f"`{room}.py`" not in text and f"`{room}/`" not in text] == []


def test_orchestrator_imports_neither_workers_nor_web() -> None:
    assert broken("orchestrator", lambda i: is_of(i, ("workers", "web"))) == []


def test_workers_and_web_never_import_each_other() -> None:
    assert broken("workers", lambda i: is_of(i, ("web",))) == []
    assert broken("web", lambda i: is_of(i, ("workers",))) == []


def test_nothing_imports_tests_or_migrations() -> None:
    assert broken("orchestrator workers web", lambda i: is_of(i, ("tests", "migrations"))) == []


def test_flask_is_in_web_only() -> None:
    assert broken("orchestrator workers", lambda i: is_of(i, FLASK)) == []


def test_celery_is_in_transport_and_workers_only_and_in_what_a_celery_project_calls() -> None:
    def breaks(found: Import) -> bool:
        return is_of(found, CELERY) and found.source.module not in ("orchestrator.transport", "orchestrator.installed")

    assert broken("orchestrator web", breaks) == []


def borrowed(source: Source) -> set[str]:
    """The names a module outside the store may have from SQLAlchemy: the types of what it hands on."""
    if within(source.module, "orchestrator.services"):
        return {"Connection", "Row"}
    if source.module == "orchestrator.testing.sandboxed":
        return {"Connection", "Engine"}
    if source.module == "orchestrator.client" or within(source.module, "orchestrator.replay"):
        return {"Connection"}
    return set()


def test_the_database_is_reached_from_the_store_only() -> None:
    def breaks(found: Import) -> bool:
        if within(found.source.module, "orchestrator.store") or not is_of(found, DATABASE):
            return False
        return found.target != "sqlalchemy" or found.name not in borrowed(found.source)

    assert broken("orchestrator workers web", breaks) == []


def test_the_domain_is_pure() -> None:
    """No SQL, no Celery, no files, no clock, no chance: a decision depends on what it is given.

    `monotonic` and `thread_time` are lent to what bounds its own time.
    """
    doors = ("os", "io", "pathlib", "socket", "subprocess", "time", "random", "secrets", "threading", "logging")

    def breaks(found: Import) -> bool:
        if not within(found.source.module, "orchestrator.domain"):
            return False
        if within(found.target, "orchestrator"):
            return level_of(found.target) not in {LEVELS[room] for room in PURE}
        return is_of(found, doors) and found.name not in ("monotonic", "thread_time")

    assert broken("orchestrator", breaks) == []


def test_nothing_is_pickled() -> None:
    assert broken("orchestrator workers web migrations tests", lambda i: is_of(i, UNSAFE)) == []


def test_nothing_is_imported_inside_a_function() -> None:
    found = [
        f"{source.name}:{node.lineno} in {function.name}"
        for package in ("orchestrator", "workers", "web", "migrations", "tests")
        for source in read(package)
        if not _imports_at_the_top(source)
        for function in functions(source)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert found == []


def _imports_at_the_top(source: Source) -> bool:
    """Whether no import of the file is inside of anything."""
    there = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes(source))
    return there == sum(isinstance(node, ast.Import | ast.ImportFrom) for node in source.tree.body)


def uses(source: Source, module: str, names: set[str]) -> Iterator[str]:
    """Places where the file uses `module.name` or imports the name from the module."""
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == module and node.attr in names:
                yield f"{source.name}:{node.lineno} uses {module}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == module:
            yield from (f"{source.name}:{node.lineno} imports {a.name}" for a in node.names if a.name in names)


def test_the_environment_is_read_in_config_only() -> None:
    doors = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    sources = [s for package in ("orchestrator", "workers", "web", "migrations") for s in read(package)]
    found = [use for s in sources if s.module != "orchestrator.config" for use in uses(s, "os", doors)]
    assert found == []


def test_tests_never_sleep_for_a_while_and_hope() -> None:
    """`wait_for` in tests/support.py waits for a condition with a deadline, and is the only helper that sleeps.

    Step functions that real workers run under test may take time: they are in files of their own.
    """
    sources = [s for s in read("tests") if s.path.name.startswith(("test_", "conftest"))]
    assert [use for s in sources for use in uses(s, "time", {"sleep"})] == []


def test_the_tests_of_the_direction_can_see_a_break() -> None:
    source = Source(
        ROOT / "orchestrator/store/x.py", "orchestrator.store.x", ast.parse("from ..services import settle")
    )
    (found,) = imports(source)
    assert found.target == "orchestrator.services.settle"
    assert level_of(found.target) > level_of(source.module)
    assert list(texts(Source(ROOT / "x.py", "x", ast.parse('"""Doc."""\na = f"UPDATE {b} SET"')))) == [
        (2, "UPDATE {} SET")
    ]


@pytest.mark.parametrize("package", ["orchestrator", "workers", "web"])
def test_every_import_is_of_the_standard_library_this_project_or_a_declared_dependency(package: str) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    declared = {_distribution(line) for line in project["dependencies"]}
    extra = {_distribution(line) for line in project["optional-dependencies"]["otel"]}
    installed = importlib.metadata.packages_distributions()
    # What comes with one of them by its own nature; pytest is there where its plugin is loaded.
    declared |= {"kombu", "billiard", "werkzeug", "markupsafe", "referencing", "pytest"}
    ours = sys.stdlib_module_names | {"orchestrator", "workers", "web", "migrations"}

    def breaks(found: Import) -> bool:
        top = found.target.split(".")[0]
        names = {_distribution(name) for name in installed.get(top, ())}
        is_loaded_at_wish = within(found.source.module, "orchestrator.tracing")
        return top not in ours and names.isdisjoint(declared | extra if is_loaded_at_wish else declared)

    assert broken(package, breaks) == []


def _distribution(requirement: str) -> str:
    """The normalised name of what a requirement asks for."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-").replace(".", "-")
