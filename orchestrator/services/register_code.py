"""Register code-first workflows: a revision for each version of the code's options, as for documents."""

from __future__ import annotations

import logging

from orchestrator.domain.codes import WorkflowSpec
from orchestrator.domain.parse import parse
from orchestrator.errors import Locked, OrchestratorError, Unreachable
from orchestrator.services.engine import Engine
from orchestrator.services.register import Registered, store

log = logging.getLogger(__name__)


def register_code(
    engine: Engine, spec: WorkflowSpec, *, app: str | None = None, group: str | None = None, actor: str = "worker"
) -> Registered:
    """Store a workflow that is a function; a changed version or option is a new revision.

    Raises `InvalidDefinition` with all problems of its options, and `Conflict` as `register` does.
    """
    code = spec.document["steps"][0]
    shown = {key: value for key, value in code.items() if key != "code"} | {"function": code["code"]}
    definition = parse({**spec.document, "steps": [shown]}, limits=engine.settings.documents)
    return store(engine, definition, spec.document, app=app, group=group, force=False, actor=actor)


def register_workflows(engine: Engine) -> bool:
    """Store all workflows that are functions of this process; one that cannot be is logged. False: others are storing
    one just now, so that it is to be done again. Raises `Unreachable`."""
    done = True
    for spec in engine.functions.workflows:
        try:
            register_code(engine, spec)
        except Unreachable:
            raise
        except Locked as error:
            log.warning("workflow '%s' is registered later: %s", spec.name, error)
            done = False
        except OrchestratorError as error:
            log.error("workflow '%s' of %s could not be registered: %s", spec.name, spec.module, error)
    return done
