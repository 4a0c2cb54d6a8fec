"""Shapes of webhooks."""

from __future__ import annotations

from orchestrator.domain.signatures import SCHEMES
from web.api.shapes.base import Shape, at, at_or_null, flag, id_of, json_value, page_of, text, text_or_null, word


class HookShape(Shape):
    id = id_of("Its address is `/api/v1/hooks/ID`.")
    name = text()
    app = text()
    workflow = text_or_null("What it starts, if it starts something.")
    event = text_or_null("What it sends, if it sends something.")
    run = text_or_null("To which run: a template.")
    scheme = word(SCHEMES, "How calls are signed.")
    input = json_value("Template of the run's input, or of the event's payload.")
    idempotency_key = text_or_null("Template.")
    enabled = flag()
    created_at = at()
    created_by = text()
    last_called_at = at_or_null()


class HookSecretShape(Shape):
    id = id_of()
    name = text()
    path = text("Where it is called.")
    secret = text("What signs calls. Shown now, and never again.")


class CalledShape(Shape):
    run_id = id_of("The run that was started, or got the event.")
    created = flag("Whether this call has started it.")


HookPage = page_of(HookShape)
