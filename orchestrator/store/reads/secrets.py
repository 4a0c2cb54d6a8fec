"""What must not be shown of a run: the secret fields of its input and output, and their echoes elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.masking import NOTHING_SECRET, Masker
from orchestrator.domain.secret_fields import find_secrets, has_secrets, mask_fields


@dataclass(frozen=True, slots=True)
class RunSecrets:
    """A run's secrets; `show*` methods give what may be seen."""

    input_schema: Any = None
    output_schema: Any = None
    masker: Masker = NOTHING_SECRET

    def show_input(self, value: Any) -> Any:
        return self.show(mask_fields(self.input_schema, value))

    def show_output(self, value: Any) -> Any:
        return self.show(mask_fields(self.output_schema, value))

    def show(self, value: Any) -> Any:
        """Any JSON of the run (a step's input, an error, a log line) without the secrets it echoes."""
        return self.masker.value(value)


# A document may be large, and taken apart anew each time: most have no secret field, which their text alone tells.
_SCHEMAS = text("""
SELECT id, document -> 'input_schema' AS input_schema, document -> 'output_schema' AS output_schema
FROM workflow_revisions WHERE id = ANY(CAST(:ids AS uuid[])) AND strpos(CAST(document AS text), 'writeOnly') > 0
""")


def load_schemas(conn: Connection, revision_ids: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Input and output schema by revision, for those that have secret fields."""
    rows = conn.execute(_SCHEMAS, {"ids": sorted(set(revision_ids))})
    schemas = {str(row.id): (row.input_schema, row.output_schema) for row in rows}
    return {id: pair for id, pair in schemas.items() if any(map(has_secrets, pair))}


def secrets_of(schemas: tuple[Any, Any] | None, input: Any) -> RunSecrets:
    """The secrets of a run with this input, given its revision's schemas from `load_schemas`."""
    if schemas is None:
        return RunSecrets()
    return RunSecrets(*schemas, find_secrets(schemas[0], input))


_RUN = text("SELECT revision_id FROM workflow_runs WHERE id = :id")
_INPUT = text("SELECT input FROM workflow_runs WHERE id = :id")


def load_secrets(conn: Connection, run_id: str) -> RunSecrets:
    """The run's secrets; none for a run that is not there."""
    revision_id = conn.execute(_RUN, {"id": run_id}).scalar()
    schemas = load_schemas(conn, [revision_id]).get(str(revision_id)) if revision_id else None
    if schemas is None:
        return RunSecrets()
    return secrets_of(schemas, conn.execute(_INPUT, {"id": run_id}).scalar())
