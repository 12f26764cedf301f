"""One duplex stream: it sends requests and keeps answers element by element; waits are bounded.

A thread of the stream reads all the time, so the order of arrival is known and the scheduler never
has to wait; it wakes up waiting checks. Nothing here sleeps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import grpc

from remuda.conformance.elements import Heard, Kind, Request, Response, elements
from remuda.conformance.wording import cut

RM_ID_METADATA: Final = "remuda-rm-id"

# Elements kept per stream; a side that sends more than that without end is not listened to.
_ELEMENTS_LIMIT: Final = 100_000

# In quotes, because only the stubs of the library have parameters.
Method: TypeAlias = "grpc.StreamStreamMultiCallable[Any, Any]"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a stream or a call ended."""

    code: grpc.StatusCode
    details: str

    def text(self) -> str:
        """Return the status for a report."""
        tail = f": {cut(self.details, 300)}" if self.details else ""
        return f"the end, with status {self.code.name}{tail}"


class Stream:
    """One open stream of a resource manager.

    Args:
        kind: which of the three.
        method: the method of a stub.
        first: the first request; none for a stream that sends nothing on its own.
        rm_id: sent as metadata if not empty.
    """

    def __init__(
        self, kind: Kind, method: Method, first: Request | None = None, rm_id: str = ""
    ) -> None:
        self.kind = kind
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        if first is not None:
            self._requests.put(first)
        self._changed = threading.Condition()
        self._heard: list[Heard] = []
        self._taken = 0
        self._ended: Ended | None = None
        metadata = ((RM_ID_METADATA, rm_id),) if rm_id else ()
        self._call = method(iter(self._requests.get, None), metadata=metadata)
        name = f"conformance-{kind.value}"
        threading.Thread(target=self._read, args=(self._call,), name=name, daemon=True).start()

    def send(self, request: Request) -> None:
        """Send a request in the background."""
        self._requests.put(request)

    def half_close(self) -> None:
        """Say that nothing more will be sent."""
        self._requests.put(None)

    def cancel(self) -> None:
        """Break the stream."""
        self._call.cancel()
        self._requests.put(None)

    def next(self, deadline: float) -> Heard | None:
        """Take the next element; None if the stream ends or the deadline passes first.

        ``deadline`` is on the monotonic clock, in seconds.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._taken < len(self._heard) or self._ended is not None,
                max(0.0, deadline - time.monotonic()),
            )
            if self._taken == len(self._heard):
                return None
            self._taken += 1
            return self._heard[self._taken - 1]

    def end(self, deadline: float) -> Ended | None:
        """Wait for the end of the stream; None if it goes on."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended is not None, max(0.0, deadline - time.monotonic())
            )
            return self._ended

    @property
    def ended(self) -> Ended | None:
        """How the stream ended, None while it goes on."""
        return self._ended

    def waiting(self) -> list[Heard]:
        """Return the elements that came and were not taken yet."""
        with self._changed:
            return self._heard[self._taken :]

    def _read(self, call: Iterable[Response]) -> None:
        ended = Ended(grpc.StatusCode.OK, "")
        try:
            for number, response in enumerate(call, 1):
                found = list(elements(response, number, time.monotonic()))
                with self._changed:
                    self._heard.extend(found)
                    self._changed.notify_all()
                    if len(self._heard) > _ELEMENTS_LIMIT:
                        break
        except grpc.RpcError as error:
            status = cast("grpc.Call", error)
            ended = Ended(status.code(), status.details() or "")
        finally:
            # Ends the thread of the library that waits for the next request.
            self.cancel()
        with self._changed:
            self._ended = ended
            self._changed.notify_all()
