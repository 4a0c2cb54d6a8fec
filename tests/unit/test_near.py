"""Names a person may have meant."""

from __future__ import annotations

import pytest

from orchestrator.domain.near import did_you_mean, near_hint, nearest


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("chrage", ["ship", "charge"], "; did you mean 'charge'?"),
        ("CHARGE", ["charge"], "; did you mean 'charge'?"),
        ("заказ-1", ["заказ-2", "order"], "; did you mean 'заказ-2'?"),
        ("xyz", ["charge"], ""),
        ("parcels.mising", ["parcels.slow"], ""),
        ("parcels.lable", ["parcels.slow", "parcels.label"], "; did you mean 'parcels.label'?"),
        ("shp.fetch", ["shop.fetch"], "; did you mean 'shop.fetch'?"),
        ("charge", [], ""),
        ("charge", ["charge"], ""),
    ],
)
def test_the_nearest_name_is_offered_if_it_is_near(name: str, names: list[str], hint: str) -> None:
    assert did_you_mean(name, names) == hint
    assert near_hint(name, names) == (hint.removeprefix("; ") or None)
    assert (nearest(name, names) or "") == (hint.split("'")[1] if hint else "")
