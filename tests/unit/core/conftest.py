"""What many tests through the door start from."""

from __future__ import annotations

import pytest

from tests.unit.core.door import Door, leaf


@pytest.fixture
def door() -> Door:
    """A leaf, a node of ten cores and a new application."""
    found = Door(leaf("a"))
    found.node("n1", {"vcore": 10})
    found.app("app")
    return found
