"""What tests of the edges share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.edges.inproc import InProcessScheduler
from tests.unit.edges.cluster import load


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    """A running scheduler that knows the configurations of ``cluster.load``."""
    with InProcessScheduler(load=load) as running:
        yield running
