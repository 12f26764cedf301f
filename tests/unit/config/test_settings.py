"""The extra map: chapter 10, section 14, and the rules its rows name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remuda.base.duration import HOUR, MINUTE, SECOND
from remuda.config.setting_table import BY_KEY, SETTINGS
from remuda.config.settings import (
    DEBUG,
    DPANIC,
    ERROR,
    FATAL,
    INFO,
    PANIC,
    WARN,
    LogLevels,
    ProcessSwitches,
    ServiceSettings,
    parse_level,
    read_settings,
    read_switches,
    shim_faults,
)

CHAPTER = Path(__file__).resolve().parents[3] / "docs/spec/10-config.md"


def settings(extra: dict[str, str]) -> ServiceSettings:
    """What a map says."""
    return read_settings(extra)[0]


def warnings(extra: dict[str, str]) -> tuple[str, ...]:
    """What is not understood in a map."""
    return tuple(fault.text() for fault in read_settings(extra)[1])


@pytest.mark.remuda_rule("EVT-101", "EVT-103", "EVT-104", "RM-18", "SI-69", "HLT-2", "KV-5")
def test_without_a_key_there_is_its_default_and_no_warning() -> None:
    assert read_settings({}) == (
        ServiceSettings(
            event_tracking=True,
            event_request_capacity=1000,
            event_ring_buffer_capacity=100_000,
            event_max_streams=100,
            event_max_streams_per_host=15,
            event_response_size=10_000,
            event_store="memory",
            event_store_age_ns=7 * 24 * HOUR,
            event_store_bytes=1_073_741_824,
            rm_pause_timeout_ns=5 * MINUTE,
            rm_user_events_only=False,
            rm_outbound_limit=100_000,
            rm_confirm_timeout_ns=10 * MINUTE,
            enforce_execution_timeout=False,
            reservation_limit_ns=HOUR,
            parity=False,
            health_check_interval_ns=30 * SECOND,
            log_levels=LogLevels(INFO, {}),
        ),
        (),
    )


def test_every_key_of_the_scheduler_is_read() -> None:
    found = settings(
        {
            "event.trackingEnabled": "false",
            "event.requestCapacity": "1",
            "event.ringBufferCapacity": "2",
            "event.maxStreams": "3",
            "event.maxStreamsPerHost": "4",
            "event.RESTResponseSize": "5",
            "event.store": "sqlite:/var/events",
            "event.storeMaxAge": "1h",
            "event.storeMaxSize": "12",
            "rm.pauseTimeout": "-1s",
            "rm.userEventsOnly": "true",
            "rm.outboundLimit": "6",
            "rm.confirmTimeout": "0",
            "application.enforceExecutionTimeout": "T",
            "scheduler.reservationLimit": "2h",
            "scheduler.parity": "1.5",
            "health.checkInterval": "1m",
            "log.level": "WARN",
        }
    )
    assert found == ServiceSettings(
        event_tracking=False,
        event_request_capacity=1,
        event_ring_buffer_capacity=2,
        event_max_streams=3,
        event_max_streams_per_host=4,
        event_response_size=5,
        event_store="sqlite:/var/events",
        event_store_age_ns=HOUR,
        event_store_bytes=12,
        rm_pause_timeout_ns=-SECOND,
        rm_user_events_only=True,
        rm_outbound_limit=6,
        rm_confirm_timeout_ns=0,
        enforce_execution_timeout=True,
        reservation_limit_ns=2 * HOUR,
        parity=True,
        health_check_interval_ns=MINUTE,
        log_levels=LogLevels(WARN, {}),
    )


@pytest.mark.remuda_rule("EVT-106")
@pytest.mark.parametrize("text", ["", "yes", "on", "tRue", " true", "2", "no"])
def test_another_word_is_the_default_and_a_warning(text: str) -> None:
    extra = {"event.trackingEnabled": text}
    assert settings(extra).event_tracking is True
    assert warnings(extra) == ("setting 'event.trackingEnabled' is no boolean, true is used",)


@pytest.mark.remuda_rule("EVT-100", "EVT-102", "EVT-105")
@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_capacity_of_nothing_is_the_default_and_a_warning(text: str) -> None:
    extra = {
        "event.requestCapacity": text,
        "event.ringBufferCapacity": text,
        "event.RESTResponseSize": text,
    }
    found = settings(extra)
    assert found.event_request_capacity == 1000
    assert found.event_ring_buffer_capacity == 100_000
    assert found.event_response_size == 10_000
    assert len(warnings(extra)) == 3


@pytest.mark.remuda_rule("EVT-104")
def test_no_streams_may_be_allowed() -> None:
    extra = {"event.maxStreams": "0", "event.maxStreamsPerHost": "0"}
    assert settings(extra).event_max_streams == 0
    assert settings(extra).event_max_streams_per_host == 0
    assert warnings(extra) == ()


@pytest.mark.remuda_rule("EVT-106")
def test_the_other_spelling_counts_when_the_right_one_is_absent() -> None:
    other = {"event.ringbufferCapacity": "7"}
    assert settings(other).event_ring_buffer_capacity == 7
    assert warnings(other) == ()
    both = {"event.ringBufferCapacity": "8", "event.ringbufferCapacity": "7"}
    assert settings(both).event_ring_buffer_capacity == 8
    bad = {"event.ringBufferCapacity": "bad", "event.ringbufferCapacity": "7"}
    assert settings(bad).event_ring_buffer_capacity == 100_000


@pytest.mark.remuda_rule("EVT-106", "KV-1")
def test_of_unknown_keys_only_those_of_events_are_told() -> None:
    extra = {"event.maxstreams": "1", "mine.own": "x", "Log.level": "debug"}
    assert settings(extra) == settings({})
    assert warnings(extra) == ("setting 'event.maxstreams' is not known and has no effect",)


@pytest.mark.remuda_rule("HLT-2")
@pytest.mark.parametrize(
    "text, nanoseconds, told",
    [("0", 0, 0), ("-5s", 0, 0), ("abc", 30 * SECOND, 1), ("30", 30 * SECOND, 1)],
)
def test_health_checks_are_off_at_zero_and_below(text: str, nanoseconds: int, told: int) -> None:
    extra = {"health.checkInterval": text}
    assert settings(extra).health_check_interval_ns == nanoseconds
    assert len(warnings(extra)) == told


@pytest.mark.parametrize("key", ["rm.confirmTimeout", "scheduler.reservationLimit"])
def test_a_time_limit_below_zero_is_the_default(key: str) -> None:
    assert settings({key: "-1s"}) == settings({})
    assert len(warnings({key: "-1s"})) == 1


@pytest.mark.remuda_rule("KV-5")
@pytest.mark.parametrize(
    "text, parity, told", [("none", False, 0), ("1.5", True, 0), ("1.6", False, 1), ("", False, 1)]
)
def test_parity_is_none_or_that_of_1_5(text: str, parity: bool, told: int) -> None:
    extra = {"scheduler.parity": text}
    assert settings(extra).parity is parity
    assert len(warnings(extra)) == told


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize(
    "text, store",
    [
        ("memory", "memory"),
        ("sqlite:a.db", "sqlite:a.db"),
        ("ndjson:/x", "ndjson:/x"),
        ("sqlite:", "memory"),
        ("ndjson", "memory"),
        ("Memory", "memory"),
        ("redis:x", "memory"),
    ],
)
def test_events_are_stored_in_one_of_three_ways(text: str, store: str) -> None:
    assert settings({"event.store": text}).event_store == store


# ------------------------------------------------------------------------------------- loggers


@pytest.mark.remuda_rule("KV-2")
@pytest.mark.parametrize(
    "text, level",
    [
        ("debug", DEBUG),
        ("Info", INFO),
        ("WARN", WARN),
        ("error", ERROR),
        ("dPanic", DPANIC),
        ("panic", PANIC),
        ("FATAL", FATAL),
        ("", INFO),
        ("-1", DEBUG),
        ("0", INFO),
        ("5", FATAL),
        ("+1", WARN),
        ("-7", DEBUG),
        ("99", FATAL),
        ("9" * 5000, FATAL),
        ("-" + "9" * 5000, DEBUG),
        ("warning", None),
        ("1.5", None),
        (" info", None),
        ("x", None),
    ],
)
def test_a_level_is_a_name_or_a_number(text: str, level: int | None) -> None:
    assert parse_level(text) == level


@pytest.mark.remuda_rule("KV-2")
def test_levels_of_the_map_are_for_all_and_for_loggers_by_name() -> None:
    extra = {"log.level": "ERROR", "log.core.level": "WARN", "log.core.scheduler.ugm.level": "4"}
    expected = LogLevels(ERROR, {"core": WARN, "core.scheduler.ugm": PANIC})
    assert settings(extra).log_levels == expected


@pytest.mark.remuda_rule("KV-2")
def test_without_any_level_it_is_info() -> None:
    assert settings({"log.level": "loud"}).log_levels == LogLevels(INFO, {})


@pytest.mark.remuda_rule("KV-2")
@pytest.mark.parametrize(
    "key", ["log.a..b.level", "log...level", "log.a b.level", "log..level", "log.core.Level"]
)
def test_keys_that_name_no_logger_are_ignored(key: str) -> None:
    assert settings({key: "debug"}).log_levels == LogLevels(INFO, {})


@pytest.mark.remuda_rule("KV-2")
def test_an_invalid_level_of_a_logger_is_ignored() -> None:
    extra = {"log.core.level": "warn", "log.core.rest.level": "loud"}
    assert settings(extra).log_levels == LogLevels(INFO, {"core": WARN})
    assert warnings(extra) == ("setting 'log.core.rest.level' is no level",)


# ---------------------------------------------------------------------- switches and the shim


@pytest.mark.remuda_rule("KV-4")
def test_switches_of_the_process_come_from_its_environment() -> None:
    assert read_switches({}) == ProcessSwitches(
        disable_reservation=False,
        deadlock_detection=False,
        deadlock_timeout_s=60,
        deadlock_exit=False,
    )
    environment = {
        "DISABLE_RESERVATION": "true",
        "DEADLOCK_DETECTION_ENABLED": "1",
        "DEADLOCK_TIMEOUT_SECONDS": "5",
        "DEADLOCK_EXIT": "T",
    }
    assert read_switches(environment) == ProcessSwitches(
        disable_reservation=True,
        deadlock_detection=True,
        deadlock_timeout_s=5,
        deadlock_exit=True,
    )


@pytest.mark.remuda_rule("KV-4")
def test_a_bad_switch_is_the_default() -> None:
    assert read_switches({"DISABLE_RESERVATION": "yes", "DEADLOCK_TIMEOUT_SECONDS": "-1"}) == (
        read_switches({})
    )


@pytest.mark.remuda_rule("KV-3")
def test_every_value_that_a_shim_cannot_read_is_told() -> None:
    faults = shim_faults(
        {
            "service.schedulingInterval": "1s",
            "service.dispatchTimeout": "300",
            "service.disableGangScheduling": "nope",
            "kubernetes.qps": "2147483648",
            "kubernetes.burst": "10",
            "event.maxStreams": "x",
        }
    )
    assert [fault.text() for fault in faults] == [
        "setting 'kubernetes.qps' is no whole number, 1000 is used",
        "setting 'service.disableGangScheduling' is no boolean, false is used",
        "setting 'service.dispatchTimeout' is no duration, 5m is used",
    ]


# ------------------------------------------------------------------------------------ the table


def chapter_rows() -> dict[str, tuple[str, str, str]]:
    """Key -> default, reader, hot reload, as section 14 has them; rows of several keys split."""
    section = CHAPTER.read_text().partition("## 14.")[2].partition("\n## 15.")[0]
    rows: dict[str, tuple[str, str, str]] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        keys = re.findall(r"`([\w.<>]+)`", cells[0])
        for key in keys if len(cells) == 5 else ():
            whole = keys[0].rpartition(".")[0] + key if key.startswith(".") else key
            rows[whole] = (cells[1], cells[2], cells[3])
    return rows


@pytest.mark.remuda_rule("KV-1")
def test_the_table_has_the_keys_of_the_chapter() -> None:
    assert list(BY_KEY) == list(chapter_rows())
    assert len(BY_KEY) == len(SETTINGS)


@pytest.mark.parametrize("key", list(BY_KEY))
def test_reader_and_reload_of_a_key_are_those_of_the_chapter(key: str) -> None:
    _, readers, reload = chapter_rows()[key]
    named = readers.replace("\u2013", "nobody").replace("both", "shim, admission")
    assert BY_KEY[key].readers == tuple(re.findall("core|shim|admission|nobody", named))
    assert BY_KEY[key].reload == ("yes" in reload)


@pytest.mark.parametrize("key", [s.key for s in SETTINGS if "core" in s.readers and s.default])
def test_default_of_a_key_is_that_of_the_chapter(key: str) -> None:
    assert BY_KEY[key].default == chapter_rows()[key][0].strip("`")
