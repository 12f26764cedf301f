"""Event records as they come, without a gap when the connection breaks.

Each record has a number, so a stream begins again behind the last one that was seen (EVT-130,
EVT-131). Implements: EXT-80.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from remuda.cli.server import NotNowError, NotReachableError, RefusedError, Server, path_of
from remuda.cli.viewing.columns import Row

# Seconds before a stream is opened again.
_PAUSE: Final = 1.0

_PATH: Final = path_of("events", "stream")


class EventTail:
    """The records of a stream, one after the other.

    Args:
        server: whose.
        options: what narrows them, as the route knows it.
        history: how many that have happened come first.
    """

    def __init__(
        self,
        server: Server,
        options: Mapping[str, str],
        history: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = server
        self._options = {"format": "v2", **options}
        self._history = history
        self._sleep = sleep
        self._instance = ""
        self._last: int | None = None
        self._silent = False

    def records(self) -> Iterator[Row]:
        """Yield records for ever; a server that does not answer is called again.

        Raises: NotReachableError and others of ``Server.lines`` if the first call fails.
        """
        while True:
            try:
                yield from self._stream()
            except RefusedError:
                raise
            except (NotReachableError, NotNowError) as error:
                if not self._instance:
                    raise
                if not self._silent:
                    print(f"remuda: {error}; trying again", file=sys.stderr)
                self._silent = True
            self._sleep(_PAUSE)

    def _stream(self) -> Iterator[Row]:
        place = {"count": str(self._history)}
        if self._last is not None:
            place = {"start": str(self._last + 1)}
        for line in self._server.lines(_PATH, {**self._options, **place}):
            found = _parsed(line)
            if "InstanceUUID" in found:
                if self._instance and found["InstanceUUID"] != self._instance:
                    # Another process counts from 0; all of its records are new.
                    self._instance, self._last = found["InstanceUUID"], -1
                    print("remuda: the scheduler was started again", file=sys.stderr)
                    return
                self._instance = found["InstanceUUID"]
                self._silent = False
            elif "gap" in found:
                print("remuda: records were overwritten before they were read", file=sys.stderr)
            elif "record" in found:
                self._last = found["id"]
                yield found


def _parsed(line: bytes) -> Mapping[str, Any]:
    from remuda.cli.viewing.shapes import check_shape, strange  # noqa: PLC0415 - keeps help fast

    try:
        found: Mapping[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        raise NotReachableError("a line of the stream is no JSON; is it a scheduler?") from None
    check_shape(found, _PATH)
    if "record" in found and "id" not in found:
        raise strange(_PATH, "a record has no number")
    return found
