"""A running loop around a fake scheduler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.runtime.loop import SchedulerLoop
from tests.unit.runtime.fakes import Factory


@pytest.fixture
def factory() -> Factory:
    return Factory()


@pytest.fixture
def loop(factory: Factory) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(factory)
    running.start()
    yield running
    running.stop()
