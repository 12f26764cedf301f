"""Times of the API server as Unix seconds, against Python's own calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remuda_kubernetes.objects.times import unix_seconds
from remuda_kubernetes.objects.values import ObjectError


def test_every_day_of_two_centuries_agrees_with_the_calendar() -> None:
    moment = datetime(1960, 1, 1, 23, 59, 58, tzinfo=UTC)
    while moment.year < 2160:
        assert unix_seconds(moment.strftime("%Y-%m-%dT%H:%M:%SZ")) == int(moment.timestamp())
        moment += timedelta(days=1)


@pytest.mark.parametrize(
    "text, expected",
    [
        (None, 0),
        ("", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T00:00:00Z", 951782400),
        ("2026-11-25T20:15:58.123456Z", 1795637758),
    ],
)
def test_fractions_are_cut_and_no_time_is_zero(text: str | None, expected: int) -> None:
    assert unix_seconds(text) == expected


@pytest.mark.parametrize(
    "text",
    ["now", "2026-11-25", "2026-11-25T20:15:58", "2026-13-25T20:15:58Z", "9" * 100_000],
)
def test_another_text_is_an_error_that_shows_the_form(text: str) -> None:
    with pytest.raises(ObjectError, match="write it like 2026-11-25T20:15:58Z"):
        unix_seconds(text)
