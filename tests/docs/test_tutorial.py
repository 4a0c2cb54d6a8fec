"""The tutorial is followed from its beginning to its end, on real servers."""

from __future__ import annotations

from tests.architecture.pages import page
from tests.docs.following import Follower


def test_the_tutorial_does_what_it_says(follower: Follower) -> None:
    assert follower.follow(page("docs/tutorial.md")) >= 30
