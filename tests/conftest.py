"""What holds for every test: frozen records, which build is tested, which rules are verified."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Generator
from pathlib import Path

# Before remuda is imported anywhere: base/message.py reads it once. Started processes inherit it.
os.environ["REMUDA_STRICT_RECORDS"] = "1"
# As `remuda serve` does, before gRPC is imported anywhere: copies of a process are made (EXT-42).
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import pytest
from hypothesis import settings

import remuda
from remuda.runtime.build import core_build
from tests import long_runs

# The same examples in every run, so that a red build is red again; `make long` draws anew.
settings.register_profile("usual", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, print_blob=True)

REPORT_OPTION = "--rules-report"
BUILD_OPTION = "--build"
VERIFIED: pytest.StashKey[set[str]] = pytest.StashKey()
RATES: long_runs.Rates = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write the IDs of the rules that passing tests are tied to; the build to test."""
    parser.addoption(REPORT_OPTION, type=Path, default=None, metavar="FILE")
    parser.addoption(BUILD_OPTION, choices=("interpreted", "compiled"), default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another build than was meant; choose how examples are drawn."""
    meant = config.getoption(BUILD_OPTION)
    if meant not in {None, core_build()}:
        raise pytest.UsageError(f"{remuda.__file__} is {core_build()}, and not {meant} as asked")
    settings.load_profile("long" if config.option.markexpr == "long" else "usual")
    config.stash[VERIFIED] = set()


def pytest_report_header() -> str:
    """Say which build is tested."""
    return f"remuda: {core_build()}, {Path(remuda.__file__).parent}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the rules of a test whose body ran and passed; a skipped one verifies nothing."""
    report = yield
    if call.when == "call" and report.passed:
        verified = item.config.stash[VERIFIED]
        for mark in item.iter_markers("remuda_rule"):
            verified.update(mark.args)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, if one was asked for."""
    target = session.config.getoption(REPORT_OPTION)
    verified = session.config.stash[VERIFIED]
    if target is not None:
        target.write_text(json.dumps(sorted(verified)))


@pytest.fixture(autouse=True)
def _levels_of_loggers() -> Generator[None]:
    """Give loggers their levels back, whoever set them.

    A scheduler in the process of a test sets ours (KV-2), setuptools that of all others.
    """
    before = {logger: logger.level for logger in _loggers()}
    yield
    for logger in _loggers():
        level = before.get(logger, logging.NOTSET)
        if logger.level != level:
            logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    """The loggers of ours that there are, and the one above all."""
    known = dict(logging.Logger.manager.loggerDict)
    ours = [each for name, each in known.items() if name.startswith("remuda")]
    return [logging.root, *[each for each in ours if isinstance(each, logging.Logger)]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Count what the large random runs get through."""
    if item.get_closest_marker("long") is None:
        return (yield)
    with long_runs.counted_steps(item):
        return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what the large random runs got through; name a failed test at once."""
    if report.when == "call":
        long_runs.add(RATES, report)
    # A run that is cut off has no summary, and the worker that ran the test prints nothing.
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid}: {report.longreprtext.strip()[-300:]}", flush=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell it at the end."""
    if RATES:
        terminalreporter.section("large random runs")
        for line in long_runs.lines(RATES):
            terminalreporter.write_line(line)
