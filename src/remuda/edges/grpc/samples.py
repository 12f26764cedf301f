"""Samples over gRPC: filters, changes since the last message, and the pace of messages.

To take samples costs the scheduler time, so watchers share samples that are fresh enough, and a
client gets one message a second however many watches it opens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final

import grpc

from remuda.base.errors import ProtocolError
from remuda.edges.grpc.measurements import Sample, SampleSource
from remuda.edges.grpc.refusals import RefusalError
from remuda.si import limits
from remuda.si.limits import MessageTooLargeError
from remuda.si.pb import extension_pb2 as ext

# The time between two messages to one client, for all its watches.
INTERVAL_MS: Final = 1_000

# What a watcher may get instead of samples of its own moment.
_AGE_SECONDS: Final = 0.5

# Prefixes and labels of one filter, and characters of each.
_TERMS_LIMIT: Final = 100

# Clients whose turns are remembered before those are forgotten that had theirs a second ago.
_CLIENTS: Final = 1_000

_NAN: Final = float("nan")


class Wanted:
    """Which samples a filter lets through.

    Raises: ProtocolError for a filter that is out of bounds.
    """

    def __init__(self, request: ext.SampleFilter) -> None:
        terms = [*request.name_prefixes, *request.labels, *request.labels.values()]
        if len(request.name_prefixes) > _TERMS_LIMIT or len(request.labels) > _TERMS_LIMIT:
            raise ProtocolError(
                f"the filter has more than {_TERMS_LIMIT} name prefixes or labels; name fewer"
            )
        if any(len(term) > limits.ID_LENGTH_LIMIT for term in terms):
            raise ProtocolError(
                f"the filter has a text of more than {limits.ID_LENGTH_LIMIT} characters"
            )
        self._prefixes = tuple(request.name_prefixes)
        self._labels = dict(request.labels)

    def lets(self, sample: Sample) -> bool:
        """Whether a sample has one of the prefixes, if there are any, and all the labels."""
        if self._prefixes and not sample.name.startswith(self._prefixes):
            return False
        labels = sample.labels
        return all(labels.get(name) == value for name, value in self._labels.items())


class Taken:
    """All samples of one moment."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.unix_ns: Final = time.time_ns()
        self.at: Final = time.monotonic()
        self.samples: Final = list(samples)


class Samples:
    """Takes samples, one collection at a time. Event loop of the server."""

    def __init__(self, source: SampleSource) -> None:
        self._source = source
        self._taking = asyncio.Lock()
        self._last: Taken | None = None

    async def now(self) -> Taken:
        """Take samples."""
        async with self._taking:
            return await self._take()

    async def recent(self) -> Taken:
        """Return samples that are at most half a second old."""
        async with self._taking:
            last = self._last
            if last is not None and time.monotonic() - last.at <= _AGE_SECONDS:
                return last
            return await self._take()

    async def _take(self) -> Taken:
        try:
            self._last = await asyncio.to_thread(lambda: Taken(self._source.samples()))
        except TimeoutError:
            text = "the scheduler did not answer in time; ask again later"
            raise RefusalError(grpc.StatusCode.UNAVAILABLE, text) from None
        return self._last


def sample_set(taken: Taken, samples: Iterable[Sample], bytes_limit: int) -> ext.SampleSet:
    """Return a message. Raises: MessageTooLargeError if a client would not take it."""
    found = ext.SampleSet(taken_unix_nano=taken.unix_ns)
    for each in samples:
        found.samples.add(name=each.name, labels=each.labels, value=each.value)
    if found.ByteSize() > bytes_limit:
        raise MessageTooLargeError(
            f"{len(found.samples)} samples take more than {bytes_limit} bytes;"
            " ask for fewer with name_prefixes or labels"
        )
    return found


class Changes:
    """The changes since the message before, for one watch (EXT-25).

    A series that has ended is sent once more, with the value NaN.
    """

    def __init__(self) -> None:
        self._sent: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}

    def since(self, samples: Iterable[Sample]) -> list[Sample]:
        """Return the samples whose value is new, and remember all."""
        now = {(each.name, _sorted(each.labels)): each for each in samples}
        before, self._sent = self._sent, now
        changed = [
            each
            for key, each in now.items()
            if key not in before or not _same(before[key].value, each.value)
        ]
        gone = [each for key, each in before.items() if key not in now]
        return changed + [Sample(each.name, _NAN, each.labels) for each in gone]


def _sorted(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def _same(left: float, right: float) -> bool:
    return left == right or (left != left and right != right)  # noqa: PLR0124 - both are no number


def interval_seconds(request: ext.WatchSamplesRequest) -> float:
    """Return the seconds between two messages; 0 in the request: the least.

    Rules: EXT-25. Raises: ProtocolError.
    """
    if 0 < request.interval_millis < INTERVAL_MS:
        raise ProtocolError(
            f"interval_millis {request.interval_millis} is too short: at least {INTERVAL_MS},"
            " or 0 for that"
        )
    return max(request.interval_millis, INTERVAL_MS) / 1_000


class _Client:
    """When a client may be sent the next message, and whose turn that is."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.due = 0.0


class Pace:
    """One message a second for each client, however many watches share it (EXT-25)."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}

    async def turn(self, name: str) -> None:
        """Wait until the client may be sent something, and take that turn."""
        now = time.monotonic()
        if len(self._clients) > _CLIENTS:
            known = self._clients.items()
            self._clients = {k: each for k, each in known if each.turn.locked() or each.due > now}
        client = self._clients.setdefault(name, _Client())
        async with client.turn:
            await asyncio.sleep(client.due - time.monotonic())
            client.due = time.monotonic() + INTERVAL_MS / 1_000


class Slots:
    """How many watches there may be, in all and for one host; as for event streams (EVT-117)."""

    def __init__(self, total: int = 100, per_host: int = 15) -> None:
        self._total = total
        self._per_host = per_host
        self._taken: dict[str, int] = {}

    def take(self, host: str) -> None:
        """Take a slot. Raises: RefusalError if there is none."""
        if sum(self._taken.values()) >= self._total or self._taken.get(host, 0) >= self._per_host:
            raise RefusalError(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"too many watches: at most {self._per_host} from one host, {self._total} in all;"
                " end one of them first",
            )
        self._taken[host] = self._taken.get(host, 0) + 1

    def free(self, host: str) -> None:
        """Give a slot back."""
        left = self._taken.pop(host) - 1
        if left:
            self._taken[host] = left
