"""The schedulers that a client may talk to, of which one is active, and the token it has seen last.

A client that was told of a take-over must not act on what an earlier scheduler still sends: that
one may not know yet that it is not active any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

import grpc

from remuda.connection.channel import NotAnsweredError, Security
from remuda.si.wire import FENCING_METADATA, token_of

T = TypeVar("T")

# Between two rounds through all addresses: a take-over takes seconds.
PAUSE_SECONDS: Final = 0.1

# With several addresses a peer in silence is tried, so that another one can be asked.
_LIVELY: Final = (
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
)


class StaleSchedulerError(NotAnsweredError):
    """What arrived is of a scheduler that is not the active one any more."""


class Routes:
    """Connections to the schedulers at some addresses, one at a time. Any thread.

    Args:
        addresses: HOST:PORT, or several with commas between them.
        security: files for TLS, and a token.
        options: of the connections.
        lively: whether a peer in silence is tried even if there is one address only.

    ``several``: whether there is more than one address.

    Implements: EXT-37.
    """

    def __init__(
        self,
        addresses: str,
        security: Security,
        options: Sequence[tuple[str, int]],
        *,
        lively: bool = False,
    ) -> None:
        self._addresses = [each.strip() for each in addresses.split(",")]
        self.several: Final = len(self._addresses) > 1
        wanted = (*options, *(_LIVELY if lively or self.several else ()))
        self._channels = [security.channel(each, wanted) for each in self._addresses]
        self._own = security.metadata()
        self._lock = threading.Lock()
        self._present = 0
        self._highest = 0

    @property
    def address(self) -> str:
        """The address that is used at present."""
        return self._addresses[self._present]

    @property
    def channel(self) -> grpc.Channel:
        """The connection to that address."""
        return self._channels[self._present]

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call: who calls, and the highest token that was seen."""
        if not self._highest:
            return self._own
        return (*self._own, (FENCING_METADATA, str(self._highest)))

    def look(self, call: object) -> int:
        """Return the token of a call once its first metadata have come; 0 if it has none.

        Raises: StaleSchedulerError for one lower than a token that was seen.
        """
        found = dict(cast("grpc.Call", call).initial_metadata() or ())
        token = token_of(found.get(FENCING_METADATA))
        self.require(token)
        return token

    def require(self, token: int) -> None:
        """Raise StaleSchedulerError if a higher token was seen; remember this one otherwise.

        Something without a token comes from a scheduler without a lease.
        """
        with self._lock:
            highest = self._highest
            if token >= highest:
                self._highest = token
                return
        text = f"a later scheduler than that at {self.address} is known"
        raise StaleSchedulerError(f"{text}: its fencing token is {token}, and {highest} was seen")

    def advance(self) -> None:
        """Use the next address from now on."""
        with self._lock:
            self._present = (self._present + 1) % len(self._addresses)

    def anywhere(self, work: Callable[[float], T], seconds: float) -> T:
        """Return what ``work`` does at the first address whose scheduler answers.

        ``work`` gets its share of the ``seconds``. Raises: ClientError.
        """
        if not self.several:
            return work(seconds)
        deadline = time.monotonic() + seconds
        share, tries = seconds / len(self._addresses), 0
        while True:
            tries += 1
            try:
                return work(min(share, max(PAUSE_SECONDS, deadline - time.monotonic())))
            except NotAnsweredError:
                self.advance()
                if time.monotonic() >= deadline:
                    raise
            if tries % len(self._addresses) == 0:
                time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        """End all connections."""
        for channel in self._channels:
            channel.close()
