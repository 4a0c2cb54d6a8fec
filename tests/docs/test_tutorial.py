"""The quick start and the tutorial are followed from beginning to end, on real servers."""

from __future__ import annotations

import pytest

from tests.architecture.pages import page
from tests.docs.following import Follower


@pytest.mark.timeout(300)
def test_the_quick_start_and_the_tutorial_do_what_they_say(follower: Follower) -> None:
    assert follower.follow(page("docs/quickstart.md")) == 2
    assert follower.follow(page("docs/tutorial.md")) >= 30
