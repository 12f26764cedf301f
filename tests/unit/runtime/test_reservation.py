"""The delay before a reservation, as people type it and by default."""

from __future__ import annotations

import pytest

from remuda.base.errors import UsageError
from remuda.config.settings import RESERVATION_DELAY, RESERVATION_DELAY_NS
from remuda.core.scheduler import Scheduler
from remuda.runtime.reservation import (
    default_delay_ns,
    read_delay,
)

SECOND = 1_000_000_000


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize(
    "text, delay_ns",
    [("2s", 2 * SECOND), ("1ns", 1), ("1m30s", 90 * SECOND), ("0.5s", SECOND // 2), ("off", None)],
)
def test_a_delay_is_a_duration_or_off(text: str, delay_ns: int | None) -> None:
    assert read_delay("--x", text) == delay_ns


@pytest.mark.parametrize("text", ["", "2", "0", "0s", "-2s", "never", "OFF", "2 s"])
def test_a_bad_delay_is_answered_with_what_is_good(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_delay("--x", text)
    assert str(caught.value) == (
        f"--x: '{text}' is not a duration above 0, for example 2s or 1m30s; "
        "'off' for no reservations at all"
    )


@pytest.mark.remuda_rule("RSV-3", "KV-4")
def test_the_default_is_two_seconds_unless_the_environment_disables_reservations() -> None:
    assert default_delay_ns({}) == 2 * SECOND
    assert default_delay_ns({"DISABLE_RESERVATION": "false"}) == 2 * SECOND
    assert default_delay_ns({"DISABLE_RESERVATION": "true"}) is None


@pytest.mark.remuda_rule("RSV-3")
def test_core_loop_and_command_have_the_same_default() -> None:
    default = Scheduler()._cluster.reservation_delay_ns
    assert default == RESERVATION_DELAY_NS == read_delay("--x", RESERVATION_DELAY)
