"""How people write moments."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from remuda.base.errors import UsageError
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.when import parse_when

HOUR = 3_600 * 10**9
# 2026-03-01, ten past two in the afternoon, in a zone two hours ahead of UTC.
NOW = datetime(2026, 3, 1, 14, 10, tzinfo=timezone(timedelta(hours=2)))
NOON = round(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()) * 10**9

pytestmark = pytest.mark.remuda_rule("EXT-49")


@pytest.mark.parametrize(
    "text, meant",
    [
        ("17", Until(17)),
        ("2026-03-01T12:00:00Z", Until(now_ns=NOON)),
        ("2026-03-01 14:00", Until(now_ns=NOON)),
        ("14:00", Until(now_ns=NOON)),
        ("14:00:00.000001", Until(now_ns=NOON + 1_000)),
        ("14:00:00.000000001", Until(now_ns=NOON + 1)),
        ("2026-03-01 14:00:00.123456789+02:00", Until(now_ns=NOON + 123_456_789)),
        ("2026-03-01T12:00:00.1234567Z", Until(now_ns=NOON + 123_456_700)),
        ("14:10", Until(now_ns=NOON + HOUR // 6)),
        ("14:11", Until(now_ns=NOON - 24 * HOUR + 11 * HOUR // 60)),
        ("12:00Z", Until(now_ns=NOON)),
        ("07:00-05:00", Until(now_ns=NOON)),
        ("12:11Z", Until(now_ns=NOON - 24 * HOUR + 11 * HOUR // 60)),
        # There it is the next day already, ten past two in the night.
        ("02:00+14:00", Until(now_ns=NOON)),
        ("10m", Until(now_ns=NOON)),
        ("1h10m", Until(now_ns=NOON - HOUR)),
        ("0s", Until(now_ns=NOON + HOUR // 6)),
    ],
)
def test_a_text_means_a_moment(text: str, meant: Until) -> None:
    assert parse_when(text, NOW, "WHEN", NOW.tzinfo) == meant


@pytest.mark.parametrize(
    "text",
    ["", "soon", "25:00", "2026-13-01", "-5m", "1" * 19, "\u0661"],
)
def test_another_text_is_refused_and_the_forms_are_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--since "):
        parse_when(text, NOW, "--since")


@pytest.mark.parametrize(
    "text, meant",
    [
        # Summer time begins on 29 March: at two o'clock it is three.
        ("2026-03-29 01:30", datetime(2026, 3, 29, 0, 30, tzinfo=UTC)),
        ("2026-03-29 03:30", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("2026-01-31", datetime(2026, 1, 30, 23, tzinfo=UTC)),
        ("06:00", datetime(2026, 3, 29, 4, tzinfo=UTC)),
        ("08:00", datetime(2026, 3, 28, 7, tzinfo=UTC)),
    ],
)
def test_a_time_has_the_offset_that_the_zone_had_then(
    text: str, meant: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 3, 29, 5, tzinfo=UTC)
    due = Until(now_ns=round(meant.timestamp()) * 10**9)
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        assert parse_when(text, now, "WHEN") == due
    finally:
        monkeypatch.undo()
        time.tzset()
