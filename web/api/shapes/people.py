"""Shapes of who asks, and of what people did."""

from __future__ import annotations

from orchestrator.domain.roles import Role
from web.api.shapes.base import (
    Shape,
    at,
    at_or_null,
    flag,
    id_of,
    id_or_null,
    json_value,
    number,
    page_of,
    text,
    text_or_null,
    word,
)


class MeShape(Shape):
    id = id_of("Of the token.")
    name = text()
    role = word(Role)
    app = text_or_null("The one that is open to it; null: all.")


class TokenShape(Shape):
    id = id_of()
    name = text()
    role = word(Role)
    app = text_or_null("The one that is open to it; null: all.")
    status = word(("active", "expired", "revoked"))
    password = flag("Whether its holder can sign in with a password.")
    created_at = at()
    created_by = text()
    expires_at = at_or_null()
    last_used_at = at_or_null("To the minute.")
    revoked_at = at_or_null()


class NewTokenShape(Shape):
    id = id_of()
    name = text()
    role = word(Role)
    app = text_or_null()
    token = text("Shown now, and never again.")


class TokenNameShape(Shape):
    id = id_of()
    name = text()
    password = flag("Whether its holder can sign in with a password.")


class ActShape(Shape):
    id = number()
    at = at()
    actor = text("Who: `api:NAME`, `web:NAME`, `cli:USER`, `hook:NAME`, ...")
    action = text()
    target_kind = text("`run`, `workflow`, `app`, `token`, ...")
    target_id = text("The id of a run, the name of anything else.")
    reason = text_or_null()
    data = json_value()
    bulk_id = id_or_null()


TokenPage = page_of(TokenShape)
ActPage = page_of(ActShape)
