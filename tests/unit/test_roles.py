from __future__ import annotations

from itertools import pairwise

from orchestrator.domain.roles import Role


def test_each_role_may_do_what_those_before_it_may() -> None:
    assert list(map(str, Role)) == ["viewer", "operator", "author", "admin"]
    assert all(less < more and more >= less and not less >= more for less, more in pairwise(Role))
    assert [role for role in Role if role >= Role.AUTHOR] == [Role.AUTHOR, Role.ADMIN]
