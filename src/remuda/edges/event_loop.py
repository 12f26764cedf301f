"""The event loop of a process that serves."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

from remuda.config.findings import one_line

_log = logging.getLogger("remuda.rpc")


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of the edges; one in C where there is one.

    Each message wakes it, and what that costs is most of what a small message costs.
    """
    try:
        import uvloop  # noqa: PLC0415 - not for every system
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    loop.set_exception_handler(_note_unawaited)
    return loop


def _note_unawaited(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that nobody awaits; a connection that broke is no fault of ours.

    After TLS lost its connection uvloop may call what is no longer there, so the kind of the
    exception says nothing.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return  # a listener says it for every connection, remuda.telemetry.descriptors once
    if isinstance(error, OSError) or type(context.get("protocol")).__name__ == "SSLProtocol":
        _log.warning("a connection broke: %s", one_line(f"{type(error).__name__}: {error}"))
    else:
        loop.default_exception_handler(context)
