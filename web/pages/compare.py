"""A run beside another one."""

from __future__ import annotations

from typing import Any

from flask import request

from orchestrator.domain.blobs import by_content
from orchestrator.domain.difference import difference_text
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.store.reads import find_run, get_run, get_step
from orchestrator.store.reads.difference import compare_steps
from web.application import database
from web.pages.forms import whole_number
from web.pages.frame import page_blueprint, render
from web.pages.open_run import open_run

compare = page_blueprint("compare")

_PAGE = 200
_MOST_SHOWN = 100_000  # characters of a difference


@compare.get("/runs/<run_id>/compare")
def show(run_id: str) -> str:
    """With `other`, an id or the end of one."""
    run, fault = open_run(run_id), None
    asked = request.args.get("other", "").strip()
    values: dict[str, Any] = {"other": None, "asked": asked, "everything": request.args.get("all") == "1"}
    if asked:
        try:
            values |= _beside(run.id, asked, everything=values["everything"])
        except (NotFound, InvalidInput) as error:
            fault = str(error)
    return render("run/compare.html", run=run, fault=fault, changed=_changed, **values)


@compare.get("/runs/<run_id>/compare/step")
def step(run_id: str) -> str:
    """What differs of a step that both runs have; secrets stay hidden."""
    run, other, name = open_run(run_id), open_run(request.args.get("other", "")), request.args.get("name", "")
    with database().transaction() as conn:
        left, right = get_step(conn, run.id, name), get_step(conn, other.id, name)
    differences = {
        what: _changed(by_content(left[what]), by_content(right[what])) for what in ("input", "output", "error")
    }
    return render("run/compare_step.html", run=run, other=other, name=name, differences=differences)


def _changed(left: Any, right: Any) -> list[str]:
    """The lines of the difference of two values, as many of them as a page shows."""
    return difference_text(left, right)[:_MOST_SHOWN].splitlines()


def _beside(run_id: str, asked: str, *, everything: bool) -> dict[str, Any]:
    with database().transaction() as conn:
        other = open_run(find_run(conn, asked))
        left, right = (by_content(get_run(conn, id)) for id in (run_id, other.id))
        skip = whole_number(request.args.get("skip", "")) or 0
        rows, more = compare_steps(conn, run_id, other.id, different=not everything, skip=skip, limit=_PAGE)
    return {"other": other, "left": left, "right": right, "rows": rows, "next": skip + _PAGE if more else None}
