"""Notices when the process has no free file descriptor, so that nobody can connect.

Listeners survive that, and open connections go on, but a listener says nothing about it, or says it
for every connection that fails. So the process tries once a second by itself.
"""

from __future__ import annotations

import errno
import logging
import os
import resource
import time
from collections.abc import Callable, Sequence
from typing import Final

from remuda.telemetry.health.findings import Finding
from remuda.telemetry.metrics.families import Families

_log = logging.getLogger("remuda.rpc")

_CHECK: Final = "File descriptors"
_CHECKED: Final = "Check whether the process can open files and connections"

# More descriptors than all limits of connections, streams and files together can use.
ENOUGH: Final = 16_384

# Seconds between two lines of the log about the same.
_SAID_EVERY: Final = 60.0


def one_is_free() -> bool:
    """Return whether the process may open one more file."""
    try:
        os.close(os.dup(0))
    except OSError as error:
        return error.errno not in (errno.EMFILE, errno.ENFILE)
    return True


class DescriptorWatch:
    """Reports a lack of file descriptors. One thread looks, any may ask.

    Args:
        free: tells whether there is a free one.
        now: reads a steady clock, in seconds.
    """

    def __init__(
        self,
        free: Callable[[], bool] = one_is_free,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._free = free
        self._now = now
        self._lacking = 0
        self._exhausted = False
        self._said_at: float | None = None

    def look(self) -> None:
        """Try to get one. A lack is logged when it begins, and again after a minute at most."""
        was, self._exhausted = self._exhausted, not self._free()
        if self._exhausted:
            self._lacking += 1
            now = self._now()
            if self._said_at is None or now - self._said_at >= _SAID_EVERY:
                self._said_at = now
                _log.error("%s", _lack())
        elif was:
            _log.warning("there are free file descriptors again; clients can connect")

    def findings(self) -> Sequence[Finding]:
        """Return the lack, if there is one. Rules: HLT-20."""
        if not self._exhausted:
            return []
        return [Finding(_CHECK, _CHECKED, _lack(), succeeded=False)]

    def add(self, families: Families) -> None:
        """Add how often there was none. Implements: MET-55."""
        text = "Seconds in which the process had no free file descriptor, so nobody could connect."
        families.counter("scheduler_descriptor_shortage_seconds_total", text).add(self._lacking)


def raise_limit() -> None:
    """Let this process have as many file descriptors as it may, up to ENOUGH. Rules: MET-55.

    Both listeners together take 1,024 connections, more than the usual limit leaves room for.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _lack() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"no file descriptor is free (the limit is {limit}): open connections go on, new ones fail "
        "until some are closed; raise the limit (ulimit -n, LimitNOFILE) and start again"
    )
