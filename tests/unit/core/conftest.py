"""What many tests through the door start from."""

from __future__ import annotations

import pytest

from tests.unit.core.door import Caller, leaf


@pytest.fixture
def door() -> Caller:
    """A leaf, a node of ten cores and a new application."""
    found = Caller(leaf("a"))
    found.node("n1", {"vcore": 10})
    found.app("app")
    return found
