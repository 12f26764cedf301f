"""How an extra map changes what the loggers of the process say."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.config.schema import built_in
from remuda.runtime.configuration.process_settings import ProcessSettings, logger_name

CHAPTER = Path(__file__).resolve().parents[4] / "docs/spec/10-config.md"
NAMES = ("remuda", "remuda.runtime", "remuda.runtime.preemption", "remuda.si", "remuda.rest")


@pytest.fixture
def settings() -> Iterator[ProcessSettings]:
    before = {name: logging.getLogger(name).level for name in NAMES}
    logging.getLogger("remuda").setLevel(logging.INFO)
    yield ProcessSettings()
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def levels() -> dict[str, int]:
    """The effective levels."""
    return {name: logging.getLogger(name).getEffectiveLevel() for name in NAMES}


@pytest.mark.remuda_rule("KV-2")
@pytest.mark.parametrize(
    "core_name, ours",
    [
        ("core", "remuda"),
        ("core.rest", "remuda.rest"),
        ("core.scheduler", "remuda.runtime"),
        ("core.scheduler.preemption", "remuda.runtime.preemption"),
        ("core.schedulers", "remuda.schedulers"),
        ("core.rmproxy", "remuda.si"),
        ("corebutnot", ""),
        ("shim", ""),
    ],
)
def test_loggers_have_a_counterpart_here(core_name: str, ours: str) -> None:
    assert logger_name(core_name) == ours


@pytest.mark.remuda_rule("KV-2")
def test_every_logger_of_the_core_in_the_rule_has_a_counterpart(
    settings: ProcessSettings, caplog: pytest.LogCaptureFixture
) -> None:
    rule = re.search(r"Core loggers: (.*); `core.security`", CHAPTER.read_text())
    assert rule is not None
    above, below = rule[1].split(" and below it ")
    scheduler = [f"core.scheduler.{name}" for name in re.findall(r"`([\w.]+)`", below)]
    named = [*re.findall(r"`([\w.]+)`", above), *scheduler]
    assert len(named) == 25
    assert all(logger_name(name).split(".")[0] == "remuda" for name in named)
    with caplog.at_level(logging.WARNING, "remuda.config"):
        settings("rm", built_in(), {f"log.{name}.level": "WARN" for name in named})
        settings("rm", built_in(), {})
    assert caplog.messages == []


@pytest.mark.remuda_rule("KV-2", "RM-7")
def test_levels_follow_the_nearest_ancestor(settings: ProcessSettings) -> None:
    extra = {
        "log.level": "warn",
        "log.core.scheduler.level": "-1",
        "log.core.scheduler.preemption.level": "FATAL",
        "log.shim.level": "DEBUG",
    }
    settings("rm", built_in(), extra)
    assert levels() == {
        "remuda": logging.WARNING,
        "remuda.runtime": logging.DEBUG,
        "remuda.runtime.preemption": logging.CRITICAL,
        "remuda.si": logging.WARNING,
        "remuda.rest": logging.WARNING,
    }


@pytest.mark.remuda_rule("KV-2")
@pytest.mark.parametrize("name", ["core.nobody", "core." + "a." * 40_000 + "a"])
def test_no_logger_is_made_for_a_map_and_the_warning_stays_short(
    settings: ProcessSettings, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    settings("rm", built_in(), {"log.core.rpc.level": "WARN"})
    before = len(logging.Logger.manager.loggerDict)
    with caplog.at_level(logging.WARNING, "remuda.config"):
        settings("rm", built_in(), {f"log.{name}.level": "DEBUG", "log.core.rpc.level": "ERROR"})
    assert len(logging.Logger.manager.loggerDict) == before
    assert logging.getLogger("remuda.rpc").level == logging.ERROR
    (line,) = caplog.messages
    assert line.startswith("resource manager 'rm': levels without effect, ")
    assert line.partition(": core.")[2] != ""
    assert len(line) < 300


@pytest.mark.remuda_rule("KV-2", "RM-7")
def test_of_many_keys_that_mean_nothing_a_few_are_named(
    settings: ProcessSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.config"):
        settings("rm", built_in(), {f"log.core.x{n:04}.level": "DEBUG" for n in range(1_000)})
        settings("two", built_in(), {f"event.x{n:04}": "" for n in range(1_000)})
    unused, *faults, more, conflict = caplog.messages
    assert unused.endswith("core.x0008, core.x0009, and 990 more")
    assert len(faults) == 10
    assert more == "resource manager 'two': 990 more such settings"
    assert ": log.core.x0000.level, " in conflict
    assert conflict.endswith(", and 990 more")


@pytest.mark.remuda_rule("KV-2")
def test_the_loggers_of_the_rule_and_those_in_use_have_levels(settings: ProcessSettings) -> None:
    logging.getLogger("remuda.users")
    named = ("config", "scheduler.application.usage", "utils", "users")
    settings("rm", built_in(), {f"log.core.{name}.level": "ERROR" for name in named})
    ours = ("remuda.config", "remuda.runtime.application.usage", "remuda.utils", "remuda.users")
    assert {logging.getLogger(name).level for name in ours} == {logging.ERROR}
    settings("rm", built_in(), {})
    assert {logging.getLogger(name).level for name in ours} == {logging.NOTSET}


@pytest.mark.remuda_rule("RM-7", "CFG-4")
def test_what_a_new_map_does_not_name_is_as_it_was_before(settings: ProcessSettings) -> None:
    settings("rm", built_in(), {"log.level": "error", "log.core.rest.level": "debug"})
    settings("rm", built_in(), None)
    assert levels()["remuda.rest"] == logging.DEBUG
    settings("rm", built_in(), {"log.core.rmproxy.level": "error"})
    assert levels() == dict.fromkeys(NAMES, logging.INFO) | {"remuda.si": logging.ERROR}
    settings("rm", built_in(), {})
    assert set(levels().values()) == {logging.INFO}


@pytest.mark.remuda_rule("RM-7")
def test_the_last_one_wins_and_a_conflict_is_told_without_values(
    settings: ProcessSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.config"):
        settings("one", built_in(), {"log.level": "debug", "service.policyGroup": "x"})
        settings("one", built_in(), {"log.level": "error"})
        settings("two", built_in(), {"log.level": "error", "service.policyGroup": "y"})
        assert caplog.messages == []
        own = {"rm.pauseTimeout": "1m", "scheduler.parity": "1.5"}
        settings("one", built_in(), {"log.level": "warn", "event.maxStreams": "7", **own})
    (line,) = caplog.messages
    assert line.startswith("settings of resource manager 'one' replace those of 'two' for the")
    assert line.endswith(": event.maxStreams, log.level")
    assert levels()["remuda"] == logging.WARNING


@pytest.mark.remuda_rule("EXT-23", "KV-2")
def test_a_bad_value_is_told_by_its_key_only(
    settings: ProcessSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.config"):
        settings("rm", built_in(), {"log.level": "hunter2", "event.nonsense": "hunter2"})
    assert "setting 'log.level' is no level, INFO is used" in caplog.text
    assert "'event.nonsense' is not known" in caplog.text
    assert "hunter2" not in caplog.text
    assert levels()["remuda"] == logging.INFO
