"""Parts of pages without a browser: what an address means, the bars of a timeline, what an act will do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from werkzeug.datastructures import MultiDict

from orchestrator.store.reads import StepBrief
from orchestrator.store.reads.step_rows import Span
from web.lasting import between
from web.pages.consequences import consequences
from web.pages.gantt import WIDTH, draw_timeline
from web.pages.run_query import RunQuery
from web.templating import in_words, parts

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ODD = 'a/b #1: 100% "x" &c=1'


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_an_address_says_again_what_was_understood_of_it() -> None:
    given = MultiDict(
        [("workflow", ODD), ("status", "failed"), ("status", "nonsense"), ("tag", "a"), ("tag", "b"), ("range", "7d")]
    )
    query = RunQuery.of(given)
    assert query.statuses == ("failed",)
    app = Flask(__name__)
    app.add_url_rule("/runs", "runs.index", lambda: "")
    with app.test_request_context():
        address = query.url()
    with app.test_request_context(address) as context:
        assert RunQuery.of(context.request.args) == query


@pytest.mark.parametrize("given", ["9999-99-99", "yesterday", "0001-01-01T00:00:00Z", "", "2026-03-01T12:00:00"])
def test_no_moment_of_an_address_breaks_the_page(given: str) -> None:
    query = RunQuery.of(MultiDict([("since", given), ("until", given)]))
    since, until = query.span(NOW)
    assert since < until


def test_words_of_a_search_are_filters() -> None:
    values = RunQuery().searched('no money input.id=7 input."a b".c="x y" input.broken tag:x')
    assert values == RunQuery(error="no money input.broken", where=("input.id=7", 'input."a b".c="x y"'), tags=("x",))
    query = RunQuery().searched('workflow:"a b" tag:x tag:y status:failed status:no app:shop card  declined')
    assert query == RunQuery(workflow="a b", tags=("x", "y"), statuses=("failed",), app="shop", error="card declined")


def test_a_span_takes_the_place_of_a_range_and_back() -> None:
    query = RunQuery(range="7d").with_(since=at(0), until=at(9))
    assert (query.range, query.since) == ("", at(0))
    assert query.with_(range="1h") == RunQuery(range="1h")
    assert query.filters(None, at(100)).created_after == at(0)


def test_a_timeline_shows_attempts_and_the_time_between_them() -> None:
    spans = [
        Span(0, "queued", at(0), at(10), 0),
        Span(0, "failed", at(10), at(20), 1),
        Span(0, "succeeded", at(60), at(100), 2),
        Span(1, "running", at(50), None, 1),
    ]
    steps = [_brief(0), _brief(1), _brief(2)]
    drawn = draw_timeline(steps, spans, at(100))
    assert drawn is not None
    told = [(bar.status, float(bar.x), float(bar.width)) for bar in drawn.bars[0]]
    assert told == [("queued", 0, 100), ("failed", 100, 100), ("pending", 200, 400), ("succeeded", 600, 400)]
    assert float(drawn.bars[1][0].x) + float(drawn.bars[1][0].width) == WIDTH
    assert drawn.bars[2] == []
    assert draw_timeline(steps, [], NOW) is None


def _brief(position: int) -> StepBrief:
    fields = dict.fromkeys(StepBrief.__dataclass_fields__)
    return StepBrief(**fields | {"position": position, "name": str(position)})  # type: ignore[arg-type]


def test_a_confirm_says_what_will_happen() -> None:
    counts = {"running": 3, "pending": 11, "ready": 1, "waiting": 1, "succeeded": 4}
    told = " ".join(consequences("cancel", counts))
    assert "3 steps that run get the chance to finish" in told
    assert "12 steps will not start" in told
    retried = consequences("retry", {"failed": 1, "canceled": 2, "upstream_failed": 3, "succeeded": 1})
    assert retried == [
        "6 steps run again: what failed or was canceled, and what depended on it.",
        "1 step that succeeded is kept.",
    ]


def test_the_parts_of_a_bar_fill_it_and_none_is_lost() -> None:
    counts = {"succeeded": 100_000, "failed": 1, "pending": 0}
    shown = list(parts(counts))
    assert [part["status"] for part in shown] == ["succeeded", "failed"]
    assert sum(float(part["width"]) for part in shown) == pytest.approx(100, abs=0.1)
    assert float(shown[1]["width"]) >= 1
    assert in_words(counts) == "100,000 succeeded, 1 failed"


def test_a_short_time_is_told_in_milliseconds() -> None:
    assert between(at(0), at(0.023)) == "23 ms"
    assert between(at(0).isoformat(), at(75).isoformat()) == "1 min 15 s"
