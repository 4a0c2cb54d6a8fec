"""Shapes of workflows and their revisions."""

from __future__ import annotations

from web.api.shapes.base import (
    ProblemItem,
    Shape,
    a,
    at,
    at_or_null,
    flag,
    id_of,
    json_value,
    many,
    number,
    page_of,
    text,
    text_or_null,
    texts,
    word,
)


class OwnerShape(Shape):
    kind = word(("app", "group"))
    name = text()


class WorkflowShape(Shape):
    id = id_of()
    name = text()
    owner = a(OwnerShape)
    pack = text_or_null("The pack it came with.")
    revision = number("The number of its latest revision.")
    version = text_or_null("The author's own label of that revision.")
    label = text_or_null()
    description = text_or_null()
    tags = texts()
    code = text_or_null("Where the function of a code-first workflow is: `module:name`.")
    created_at = at()
    changed_at = at_or_null("When its latest revision was registered.")


class WorkflowDetailShape(WorkflowShape):
    document = json_value("The definition as it was registered last.")


class RevisionShape(Shape):
    workflow = text()
    number = number()
    version = text_or_null()
    created_at = at()
    latest = flag()


class RevisionDetailShape(RevisionShape):
    document = json_value("The definition as it was registered.")


class ChangeShape(Shape):
    path = text("Where: `steps.charge.retry.delay`, a step by its name.")
    kind = word(("added", "removed", "changed"))
    before = json_value("What was there; null for what was added.")
    after = json_value("What is there; null for what was removed.")


class DifferenceShape(Shape):
    workflow = text()
    before = number("The number of the one revision.")
    after = number("The number of the other.")
    changes = many(ChangeShape)
    text = text("The same as lines of YAML, `-` and `+` before what was removed and added.")


class RegisteredShape(Shape):
    workflow = text()
    revision = number()
    owner = a(OwnerShape)
    created = flag("Whether this is a new revision; false: it equals the latest.")
    warnings = many(ProblemItem, "What is odd about a valid document.")


class ValidatedShape(Shape):
    valid = flag()
    workflow = text_or_null("Its name, if it is valid.")
    problems = many(ProblemItem, "All that is wrong with it.")
    warnings = many(ProblemItem, "What is odd about it.")


WorkflowPage = page_of(WorkflowShape)
RevisionPage = page_of(RevisionShape)
