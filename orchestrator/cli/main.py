"""The command `orchestrator`: its commands by name, and what each kind of error means for the exit code."""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click

from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.text import clean
from orchestrator.domain.near import nearest
from orchestrator.errors import InvalidConfig, NotFound, OrchestratorError, ProblemsError, Unreachable

# Each command is a module of its own and is imported when it is called: `validate` needs no database driver.
# In the order of the help; the text is the command's own first line (a test compares).
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("orchestrator.cli.up", "Start everything on this machine."),
    "worker": ("orchestrator.cli.worker", "Run a worker."),
    "beat": ("orchestrator.cli.beat", "Run the coordinator."),
    "web": ("orchestrator.cli.web", "Serve the web interface."),
    "db": ("orchestrator.cli.db", "Upgrade or check the database."),
    "validate": ("orchestrator.cli.validate", "Check workflow documents."),
    "import": ("orchestrator.cli.importing", "Make workflow documents of other engines' documents."),
    "register": ("orchestrator.cli.register", "Store workflow documents as new revisions."),
    "unregister": ("orchestrator.cli.unregister", "Delete workflows."),
    "pack": ("orchestrator.cli.pack", "Install, upgrade, remove and list packs."),
    "graph": ("orchestrator.cli.graph", "Draw a workflow or a run."),
    "workflows": ("orchestrator.cli.workflows", "List workflows by name, or show one."),
    "functions": ("orchestrator.cli.functions", "List the functions steps may call."),
    "start": ("orchestrator.cli.start", "Start a run."),
    "runs": ("orchestrator.cli.runs", "List runs, newest first; or delete, export or import some."),
    "show": ("orchestrator.cli.show", "Show a run, one of its steps, or the items of one."),
    "watch": ("orchestrator.cli.watch", "Watch a run until it ends."),
    "logs": ("orchestrator.cli.logs", "Show what a run's steps logged and printed."),
    "journal": ("orchestrator.cli.journal", "Show what the function of a code-first run did."),
    "cancel": ("orchestrator.cli.cancel", "Cancel runs."),
    "pause": ("orchestrator.cli.pause", "Pause runs: nothing new of them starts."),
    "resume": ("orchestrator.cli.resume", "Let paused runs go on."),
    "retry": ("orchestrator.cli.retry", "Let failed or canceled runs go on."),
    "rerun": ("orchestrator.cli.rerun", "Run runs once more, each as a new run."),
    "mark": ("orchestrator.cli.mark", "Say how a step ended, instead of what it did."),
    "hold": ("orchestrator.cli.hold", "Keep one step of a run from starting."),
    "release": ("orchestrator.cli.release", "Let a held step go on."),
    "signal": ("orchestrator.cli.signal", "Send an event to a run."),
    "approvals": ("orchestrator.cli.approvals", "List approvals that wait for people, oldest first."),
    "approve": ("orchestrator.cli.approve", "Say yes to an approval."),
    "reject": ("orchestrator.cli.reject", "Say no to an approval."),
    "pools": ("orchestrator.cli.pools", "List pools, show one, or change one."),
    "apps": ("orchestrator.cli.apps", "List apps, show one, or change one."),
    "blobs": ("orchestrator.cli.blobs", "Look at the blob store, and remove what nothing refers to."),
    "workers": ("orchestrator.cli.workers", "List worker and beat processes."),
    "token": ("orchestrator.cli.token", "Create, list and revoke tokens of the API and the admin pages."),
    "alert": (
        "orchestrator.cli.alert",
        "Tell people and programs of failures: set, list, test, pause and delete alert rules.",
    ),
    "hook": ("orchestrator.cli.hook", "Make, list and remove webhooks, which start runs or send events."),
    "schedule": (
        "orchestrator.cli.schedule",
        "Start runs by a clock: set, list, pause, fire, backfill and delete schedules.",
    ),
    "audit": ("orchestrator.cli.audit", "List what people did, newest first."),
    "retention": ("orchestrator.cli.retention", "Say how long runs and histories are kept; see what holds."),
    "gc": ("orchestrator.cli.gc", "Remove runs and histories that are older than they are to be kept."),
    "env": ("orchestrator.cli.env", "Print the URLs of the database and the broker."),
    "bench": ("orchestrator.cli.bench", "Measure the engine on this machine."),
}

_OBJECTS = 50_000  # made since it was last looked for garbage: what is imported is none

# Settings that say where the servers are: without them there is nothing to reach.
_SERVERS = ("DATABASE_URL", "REDIS_URL")


class PipeClosed(Exception):
    """The reader of stdout has closed it. Not a `BrokenPipeError`: click turns that into exit code 1."""


@contextmanager
def _pipe_watched() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosed from error


class Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def make_context(self, *args: Any, **given: Any) -> click.Context:
        with _pipe_watched():
            return super().make_context(*args, **given)

    def invoke(self, ctx: click.Context) -> Any:
        with _pipe_watched():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS:
            return super().resolve_command(ctx, args)
        near = nearest(name, COMMANDS)
        hint = f" Did you mean '{near}'?" if near else ""
        raise click.UsageError(f"There is no command '{name}'.{hint}", ctx)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="orchestrator", prog_name="orchestrator")
@click.option("--debug", is_flag=True, help="Show the traceback of an unexpected error.")
def cli(debug: bool) -> None:
    """Durable workflows on Python, Celery and Postgres.

    RUN is a run's id, 6 or more characters of its beginning or end, or 'latest'.

    \b
    Exit codes: 0 done, 1 the run did not succeed, 2 usage or invalid,
    3 not found, 4 Postgres or the broker cannot be reached.
    """


def main(args: Sequence[str] | None = None) -> None:
    """The entry point: runs the command and exits with its code."""
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # the process ends: nothing is looked through once more
    sys.exit(run(list(sys.argv[1:] if args is None else args)))


def _without_debug(args: list[str]) -> tuple[bool, list[str]]:
    """`--debug` may stand anywhere before `--`, whatever the command; the other words."""
    words = args.index("--") if "--" in args else len(args)
    left = [word for word in args[:words] if word != "--debug"]
    return len(left) < words, left + args[words:]


def run(args: list[str]) -> int:
    """Run a command line; its exit code. Errors are sentences on stderr."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)
    logging.basicConfig(level=logging.WARNING, format="orchestrator: %(message)s", stream=sys.stderr)
    debug, args = _without_debug(args)
    try:
        _check_encoding(args)
        code = cli.main(args, prog_name="orchestrator", standalone_mode=False)
        if sys.stdout is not None:  # closed: orchestrator ... >&-
            sys.stdout.flush()
        return code if isinstance(code, int) else Exit.OK
    except (BrokenPipeError, PipeClosed):
        # Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place: whatever it is becomes a sentence and a code
        return _tell(error, debug)


def _tell(error: Exception, debug: bool) -> int:
    """Say what is wrong on stderr; the exit code for it."""
    if isinstance(error, Ended):
        return error.code
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if debug:
        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code if isinstance(error, click.UsageError) else Exit.INVALID
    if isinstance(error, ProblemsError):
        return _tell_problems(error)
    if isinstance(error, OrchestratorError):
        _say(str(error))
        return _code_of(error)
    hint = "" if debug else "; --debug shows where"
    _say(f"unexpected {type(error).__name__}: {' '.join(str(error).split())[:300]}{hint}")
    return Exit.UNEXPECTED


def _tell_problems(error: ProblemsError) -> int:
    if len(error.problems) == 1:
        _say(str(error))
    else:
        _say(error.headline, *(f"  {problem}" for problem in error.problems))
    missing = [problem.path in _SERVERS and "is not set" in problem.message for problem in error.problems]
    return Exit.UNREACHABLE if isinstance(error, InvalidConfig) and all(missing) else Exit.INVALID


def _code_of(error: OrchestratorError) -> int:
    if isinstance(error, NotFound):
        return Exit.NOT_FOUND
    return Exit.UNREACHABLE if isinstance(error, Unreachable) else Exit.INVALID


def _say(first: str, *more: str) -> None:
    click.echo("\n".join([f"orchestrator: {clean(first)}", *map(clean, more)]), err=True)


def _check_encoding(args: Sequence[str]) -> None:
    for arg in args:
        if any("\ud800" <= character <= "\udfff" for character in arg):
            raise click.UsageError(f"'{clean(arg)}' is not valid UTF-8.")


def _never_fail_on_a_character(stream: TextIO | Any) -> None:
    """Print what the terminal's encoding lacks as an escape."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
