"""Rates as people write them."""

from __future__ import annotations

import pytest

from orchestrator.domain.rate import parse_rate
from orchestrator.functions import make_spec


@pytest.mark.parametrize(
    ("text", "count", "period"), [("10/s", 10, 1), ("100/m", 100, 60), (" 5000 / h ", 5000, 3600), ("2/30s", 2, 30)]
)
def test_a_rate_is_a_count_and_a_period(text: str, count: int, period: float) -> None:
    rate = parse_rate(text)
    assert (rate.count, rate.period, rate.spacing) == (count, period, period / count)


@pytest.mark.parametrize("text", ["", "10", "0/s", "-1/s", "10/x", "1.5/s", "10/s/s", "ten per second"])
def test_what_is_no_rate_is_told_as_the_function_is_registered(text: str) -> None:
    with pytest.raises(ValueError, match="a rate is written like '10/s'"):
        make_spec(print, rate=text)
