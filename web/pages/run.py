"""One run."""

from __future__ import annotations

from web.pages.frame import page_blueprint

run = page_blueprint("run")


@run.get("/runs/<run_id>")
def show(run_id: str) -> str:
    return run_id
