"""The settings of the process in the map of a resource manager without the right (KV-6)."""

from __future__ import annotations

import pytest

from remuda.config.setting_table import is_process_wide
from remuda.runtime.configuration.process_keys import ProcessKeys


@pytest.mark.remuda_rule("KV-6")
@pytest.mark.parametrize(
    "key, wide",
    [
        ("event.trackingEnabled", True),
        ("event.ringBufferCapacity", True),
        ("event.ringbufferCapacity", True),
        ("event.requestCapacity", True),
        ("event.maxStreams", True),
        ("event.store", True),
        ("health.checkInterval", True),
        ("log.level", True),
        ("log.core.scheduler.level", True),
        ("rm.pauseTimeout", False),
        ("rm.userEventsOnly", False),
        ("scheduler.parity", False),
        ("service.clusterId", False),
        ("tracker", False),
    ],
)
def test_which_keys_concern_the_whole_process(key: str, wide: bool) -> None:
    assert is_process_wide(key) is wide


@pytest.mark.remuda_rule("KV-6", "KV-1")
def test_such_a_map_changes_only_what_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    keys = ProcessKeys()
    mine = {"log.level": "debug", "rm.pauseTimeout": "1h", "tracker": "secret"}
    assert keys.without_right("rm", mine) == {"rm.pauseTimeout": "1h", "tracker": "secret"}
    keys.note({"log.level": "warn", "event.maxStreams": "7", "rm.pauseTimeout": "2h"})
    assert keys.without_right("rm", mine) == {
        "rm.pauseTimeout": "1h",
        "tracker": "secret",
        "log.level": "warn",
        "event.maxStreams": "7",
    }
    (line,) = caplog.messages
    assert line.endswith("without effect, its identity is no administrator: log.level")
    assert "debug" not in line


@pytest.mark.remuda_rule("KV-6")
def test_what_is_as_it_is_anyway_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    keys = ProcessKeys()
    keys.note({"log.level": "warn"})
    keys.without_right("rm", {"log.level": "warn"})
    assert caplog.messages == []
    keys.without_right("rm", {"log.level": "", "event.none": ""})
    keys.without_right("rm", {f"log.a{number}.level": "" for number in range(12)})
    first, second = caplog.messages
    assert first.endswith(": log.level")
    assert second.endswith(" and 2 more")
