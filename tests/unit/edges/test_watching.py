"""What is looked at again and again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from remuda.edges.watching import look_every


@pytest.mark.remuda_rule("EXT-39")
def test_a_look_that_fails_is_logged_once_and_is_not_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcomes = iter([None, MemoryError(), MemoryError(), None, OSError("gone"), None])

    def look() -> None:
        outcome = next(outcomes, asyncio.CancelledError())
        if outcome is not None:
            raise outcome

    with suppress(asyncio.CancelledError):
        asyncio.run(look_every(lambda: 0, look))
    assert [each.levelname for each in caplog.records] == ["ERROR", "ERROR"]
    assert [str(each.exc_info[1]) for each in caplog.records if each.exc_info] == ["", "gone"]
