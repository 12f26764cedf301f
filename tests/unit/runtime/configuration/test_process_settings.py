"""How an extra map changes what the loggers of the process say."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.config.schema import built_in
from remuda.runtime.configuration.process_settings import (
    ProcessSettings,
    change_level,
    finest_level,
    logger_name,
)

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


@pytest.fixture
def alone() -> Iterator[ProcessSettings]:
    """Settings of a process in which nothing but our root has a level: info."""
    known = [each for name, each in logging.Logger.manager.loggerDict.items() if ours(name)]
    before = {each: each.level for each in known if isinstance(each, logging.Logger)}
    for each in before:
        each.setLevel(logging.NOTSET)
    logging.getLogger("remuda").setLevel(logging.INFO)
    yield ProcessSettings()
    for each, level in before.items():
        each.setLevel(level)


def ours(name: str) -> bool:
    return name == "remuda" or name.startswith("remuda.")


@pytest.mark.remuda_rule("DMP-9")
@pytest.mark.parametrize(
    "extra, shown",
    [
        ({}, "info"),
        ({"log.level": "ERROR"}, "error"),
        ({"log.level": "4"}, "fatal"),
        ({"log.core.rest.level": "warn"}, "info"),
        ({"log.level": "WARN", "log.core.scheduler.preemption.level": "DEBUG"}, "debug"),
        ({"log.level": "FATAL", "log.core.rest.level": "WARN"}, "warn"),
    ],
)
def test_the_finest_level_that_a_logger_is_set_to(
    alone: ProcessSettings, extra: dict[str, str], shown: str
) -> None:
    alone("rm", built_in(), extra)
    assert finest_level() == shown
    alone("rm", built_in(), {})
    assert finest_level() == "info"


@pytest.mark.remuda_rule("DMP-9", "KV-2")
def test_the_level_before_a_change_can_be_set_again(alone: ProcessSettings) -> None:
    alone("rm", built_in(), {"log.level": "PANIC"})
    assert change_level("core", "debug") == "fatal"
    assert finest_level() == "debug"
    assert change_level("core", "fatal") == "debug"
    assert finest_level() == "fatal"


@pytest.mark.remuda_rule("DMP-9")
def test_a_level_between_two_is_called_by_what_it_lets_through(alone: ProcessSettings) -> None:
    logging.getLogger("remuda").setLevel(logging.DEBUG + 5)
    assert finest_level() == "info"
    logging.getLogger("remuda").setLevel(logging.NOTSET)
    assert finest_level() == "warn"  # from above, where nothing else is set
