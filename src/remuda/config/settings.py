"""The service settings that come as the extra map, read into typed values.

No value of this map makes a registration fail: instead of a bad value the default counts, and the
caller gets a fault. Reading is pure; the code that applies a setting decides what its change
causes. The owner of the map keeps unknown keys (KV-1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from remuda.base.duration import SECOND, parse_duration
from remuda.base.go_text import parse_bool, parse_int32, parse_uint64, parse_whole
from remuda.base.message import message
from remuda.config.findings import cut
from remuda.config.setting_table import (
    BOOLEAN,
    BY_KEY,
    DURATION,
    INT32,
    LOGGER_KEY,
    NUMBER,
    POSITIVE,
    SHIM,
    Setting,
)

T = TypeVar("T")

_PARITIES: Final = {"none": False, "1.5": True}

STORE_MEMORY: Final = "memory"

# How severe a record has to be: the numbers of the levels in KV-2.
DEBUG: Final = -1
INFO: Final = 0
WARN: Final = 1
ERROR: Final = 2
DPANIC: Final = 3
PANIC: Final = 4
FATAL: Final = 5

_LEVELS: Final = {
    "": INFO,
    "debug": DEBUG,
    "info": INFO,
    "warn": WARN,
    "error": ERROR,
    "dpanic": DPANIC,
    "panic": PANIC,
    "fatal": FATAL,
}

_LOG_PREFIX, _LOG_SUFFIX = LOGGER_KEY.split("<logger>")


# How old an ask must be to reserve a node, unless the process is told otherwise (RSV-3).
RESERVATION_DELAY_NS: Final = 2 * SECOND

# The same as people type it.
RESERVATION_DELAY: Final = "2s"


@message
class LogLevels:
    """Which records are logged: ``default``, and loggers whose level is set by name.

    A logger that is not named uses its nearest ancestor's. Rules: KV-2.
    """

    default: int
    loggers: Mapping[str, int]


@message
class SettingFault:
    """A setting without effect. The record leaves out its value, which may be secret (EXT-23).

    ``kind``: what the value should be, "" if the key itself is not known. ``default``: what is
    used instead, "" for nothing.
    """

    key: str
    kind: str = ""
    default: str = ""

    def text(self) -> str:
        """Return the fault as one line. Rules: EVT-106, EXT-23."""
        what = f"setting {cut(self.key)!r}"
        if not self.kind:
            return f"{what} is not known and has no effect"
        instead = f", {self.default} is used" if self.default else ""
        return f"{what} is no {self.kind}{instead}"


@message
class ServiceSettings:
    """The settings that the scheduler itself uses; durations are nanoseconds.

    Rules: chapter 10 section 14, EVT-93, EVT-101, EVT-102, EVT-103, EVT-104, EVT-105, EVT-106,
    EVT-132, RM-15, RM-18, SI-69, APP-30, RSV-10, HLT-2.
    """

    event_tracking: bool
    event_request_capacity: int
    event_ring_buffer_capacity: int
    event_max_streams: int
    event_max_streams_per_host: int
    event_response_size: int
    event_store: str
    event_store_age_ns: int
    event_store_bytes: int
    rm_pause_timeout_ns: int
    rm_user_events_only: bool
    rm_outbound_limit: int
    rm_confirm_timeout_ns: int
    enforce_execution_timeout: bool
    reservation_limit_ns: int
    parity: bool
    health_check_interval_ns: int
    log_levels: LogLevels


@message
class ProcessSwitches:
    """The switches of the process, fixed when it starts. Rules: KV-4."""

    disable_reservation: bool
    deadlock_detection: bool
    deadlock_timeout_s: int
    deadlock_exit: bool


def read_settings(extra: Mapping[str, str]) -> tuple[ServiceSettings, tuple[SettingFault, ...]]:
    """Return the settings in a map, and a fault for each value that was not understood.

    Implements: EVT-100, EVT-106. Rules: KV-1, KV-2, KV-5.
    """
    reader = _Reader(extra)
    settings = ServiceSettings(
        event_tracking=reader.value("event.trackingEnabled", parse_bool),
        event_request_capacity=reader.value("event.requestCapacity", _positive),
        event_ring_buffer_capacity=reader.value("event.ringBufferCapacity", _positive),
        event_max_streams=reader.value("event.maxStreams", parse_uint64),
        event_max_streams_per_host=reader.value("event.maxStreamsPerHost", parse_uint64),
        event_response_size=reader.value("event.RESTResponseSize", _positive),
        event_store=reader.value("event.store", _store),
        event_store_age_ns=reader.value("event.storeMaxAge", _timeout),
        event_store_bytes=reader.value("event.storeMaxSize", _positive),
        rm_pause_timeout_ns=reader.value("rm.pauseTimeout", parse_duration),
        rm_user_events_only=reader.value("rm.userEventsOnly", parse_bool),
        rm_outbound_limit=reader.value("rm.outboundLimit", parse_uint64),
        rm_confirm_timeout_ns=reader.value("rm.confirmTimeout", _timeout),
        enforce_execution_timeout=reader.value("application.enforceExecutionTimeout", parse_bool),
        reservation_limit_ns=reader.value("scheduler.reservationLimit", _timeout),
        parity=reader.value("scheduler.parity", _PARITIES.get),
        health_check_interval_ns=max(0, reader.value("health.checkInterval", parse_duration)),
        log_levels=LogLevels(reader.value("log.level", parse_level), _loggers(extra, reader)),
    )
    reader.unknown_event_keys()
    return settings, tuple(reader.faults)


def read_switches(environment: Mapping[str, str]) -> ProcessSwitches:
    """Return the switches in the environment of a process; a bad value is the default.

    Implements: KV-4.
    """

    def switch(name: str) -> bool:
        return parse_bool(environment.get(name, "")) or False

    seconds = parse_uint64(environment.get("DEADLOCK_TIMEOUT_SECONDS", ""))
    return ProcessSwitches(
        disable_reservation=switch("DISABLE_RESERVATION"),
        deadlock_detection=switch("DEADLOCK_DETECTION_ENABLED"),
        deadlock_timeout_s=60 if seconds is None else seconds,
        deadlock_exit=switch("DEADLOCK_EXIT"),
    )


def shim_faults(extra: Mapping[str, str]) -> tuple[SettingFault, ...]:
    """Return a fault for each value of a shim key that a shim cannot read.

    A shim that finds any rejects the whole update. Rules: KV-3.
    """
    return tuple(
        _fault(key, BY_KEY[key])
        for key, text in sorted(extra.items())
        if key in BY_KEY and SHIM in BY_KEY[key].readers and not _readable(BY_KEY[key].kind, text)
    )


def parse_level(text: str) -> int | None:
    """Return the level of a name in any case, or of a number; None if it is no level.

    Numbers beyond the levels mean the last one on that side. Rules: KV-2.
    """
    if text.lower() in _LEVELS:
        return _LEVELS[text.lower()]
    number = parse_whole(text)
    return None if number is None else min(max(number, DEBUG), FATAL)


class _Reader:
    """Reads values of one map and notes those that are not understood."""

    def __init__(self, extra: Mapping[str, str]) -> None:
        self.extra = extra
        self.faults: list[SettingFault] = []

    def value(self, key: str, parse: Callable[[str], T | None]) -> T:
        """Return the value of a key, of its other spelling, or the default."""
        setting = BY_KEY[key]
        used = setting.alias if key not in self.extra and setting.alias in self.extra else key
        if used in self.extra:
            value = parse(self.extra[used])
            if value is not None:
                return value
            self.faults.append(_fault(used, setting))
        default = parse(setting.default)
        assert default is not None, key
        return default

    def unknown_event_keys(self) -> None:
        """Note keys that look like those of events and are not. Rules: EVT-106."""
        known = {*BY_KEY, *(setting.alias for setting in BY_KEY.values())}
        self.faults += [
            SettingFault(key)
            for key in sorted(self.extra)
            if key.startswith("event.") and key not in known
        ]


def _loggers(extra: Mapping[str, str], reader: _Reader) -> dict[str, int]:
    """Return the levels of loggers that are named, notes those that mean nothing.

    Implements: KV-2.
    """
    found: dict[str, int] = {}
    shortest = len(_LOG_PREFIX) + len(_LOG_SUFFIX)
    for key in sorted(extra):
        if len(key) <= shortest or not (key.startswith(_LOG_PREFIX) and key.endswith(_LOG_SUFFIX)):
            continue
        level = parse_level(extra[key])
        if ".." in key or " " in key:
            reader.faults.append(SettingFault(key))
        elif level is None:
            reader.faults.append(_fault(key, BY_KEY[LOGGER_KEY]))
        else:
            found[key[len(_LOG_PREFIX) : -len(_LOG_SUFFIX)]] = level
    return found


def _fault(key: str, setting: Setting) -> SettingFault:
    return SettingFault(key, setting.kind, setting.default)


def _positive(text: str) -> int | None:
    return parse_uint64(text) or None


def _timeout(text: str) -> int | None:
    """Return a duration that is not negative."""
    value = parse_duration(text)
    return None if value is None or value < 0 else value


def _store(text: str) -> str | None:
    scheme, _, path = text.partition(":")
    return text if text == STORE_MEMORY or (scheme in ("sqlite", "ndjson") and path) else None


def _readable(kind: str, text: str) -> bool:
    """Whether a text is of a kind; a kind that is not checked takes any."""
    parse = _PARSERS.get(kind)
    return parse is None or parse(text) is not None


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    BOOLEAN: parse_bool,
    NUMBER: parse_uint64,
    INT32: parse_int32,
    POSITIVE: _positive,
    DURATION: parse_duration,
}
