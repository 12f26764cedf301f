"""A lack of file descriptors: how it is noticed, logged and counted."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remuda.edges.event_loop import event_loop
from remuda.telemetry.descriptors import DescriptorWatch, one_is_free
from remuda.telemetry.metrics.families import Families


@contextmanager
def none_free() -> Iterator[None]:
    """Take all descriptors of this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 1, before[1]))
    taken = []
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.remuda_rule("MET-55")
def test_it_is_found_out_by_trying() -> None:
    assert one_is_free()
    with none_free():
        assert not one_is_free()
    assert one_is_free()


@pytest.mark.remuda_rule("MET-55", "HLT-20")
def test_a_lack_is_counted_each_time_and_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    free, now = True, 0.0
    watch = DescriptorWatch(lambda: free, lambda: now)

    def look(times: int) -> list[str]:
        nonlocal now
        caplog.clear()
        for _ in range(times):
            watch.look()
            now += 1
        return [record.getMessage() for record in caplog.records]

    caplog.set_level(logging.WARNING)
    assert look(5) == []
    assert watch.findings() == []
    free = False
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    (said,) = look(60)
    assert f"no file descriptor is free (the limit is {limit})" in said
    (finding,) = watch.findings()
    assert (finding.succeeded, finding.diagnosis) == (False, said)
    assert look(1) == [said]
    free = True
    assert look(5) == ["there are free file descriptors again; clients can connect"]
    assert watch.findings() == []
    # One that comes and goes is not logged each time it comes.
    free = False
    assert look(3) == []
    assert counted(watch) == 64


def counted(watch: DescriptorWatch) -> float:
    families = Families("yunikorn")
    watch.add(families)
    ((name, value),) = [(each.name, each.value) for one in families.all() for each in one.samples]
    assert name == "yunikorn_scheduler_descriptor_shortage_seconds_total"
    return value


def test_the_event_loop_leaves_the_telling_to_it(caplog: pytest.LogCaptureFixture) -> None:
    loop = event_loop()
    try:
        for code in (errno.EMFILE, errno.ENFILE, errno.ECONNRESET):
            loop.call_exception_handler({"message": "x", "exception": OSError(code, "why")})
    finally:
        loop.close()
    assert [record.getMessage() for record in caplog.records] == [
        "a connection broke: ConnectionResetError: [Errno 104] why"
    ]
    assert isinstance(loop, asyncio.AbstractEventLoop)
