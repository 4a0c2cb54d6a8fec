"""Shapes of what acts answer."""

from __future__ import annotations

from orchestrator.services.bulk import Verb
from web.api.shapes.base import (
    Shape,
    a,
    a_or_null,
    at,
    counts,
    flag,
    id_of,
    id_or_null,
    json_value,
    many,
    number,
    number_or_null,
    page_of,
    text,
    text_or_null,
    texts,
    word,
)
from web.api.shapes.runs import RunShape


class ActedShape(Shape):
    run = a(RunShape, "The run after the act.")


class OpenedShape(ActedShape):
    opened = number("How many steps were opened again.")


class RerunShape(Shape):
    run = a(RunShape, "The new run.")
    kept = number("How many steps keep their earlier ends.")
    failing = texts("Those of them that failed, and will fail the new run.")


class EarlierShape(Shape):
    id = number()
    actor = text()
    sent_at = at()


class SignaledShape(Shape):
    id = number()
    step = text_or_null("The step that has taken it; null: it is kept.")
    item = number_or_null("The index of the step's item that has taken it.")
    earlier = a_or_null(EarlierShape, "One of the same name that came before.")


class ApprovalShape(Shape):
    run_id = id_of()
    step = text()
    item = number_or_null("The index of the step's item that asks.")
    workflow = text()
    app = text()
    since = at()
    title = text_or_null()
    description = text_or_null()
    fields = json_value("The JSON Schema of each field of its form, by name.")  # type: ignore[assignment]
    assignees = texts()
    until = text_or_null()


class BulkItemShape(Shape):
    id = id_of()
    done = flag()
    error = text_or_null("Why the verb was refused.")
    new_run_id = id_or_null("Of a rerun.")


class BulkShape(Shape):
    preview = flag("Whether nothing was done.")
    verb = word(Verb)
    bulk_id = id_or_null("What the entries in the audit log have in common; null for a preview.")
    count = number("How many runs were found.")
    counts = counts("How many of each status.")
    first = many(RunShape, "The first few.")
    items = many(BulkItemShape, "What became of each; empty for a preview.")


ApprovalPage = page_of(ApprovalShape)
