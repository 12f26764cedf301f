"""A conversation of one resource manager: its requests, and the answers expected next.

Expectations are strict: the next element of a stream has to be the one that is expected, so what
comes too much, twice, or too early fails like what does not come. Between the three streams there
is no order (SI-104); each has its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Final

import grpc

from remuda.conformance.elements import (
    KIND_OF,
    OTHER_KIND,
    Expected,
    Heard,
    Kind,
    OneOf,
    Request,
    What,
)
from remuda.conformance.endpoint import Endpoint
from remuda.conformance.expectations import identity_of
from remuda.conformance.failures import CheckFailedError, Failure
from remuda.conformance.probes import answers, probe
from remuda.conformance.stream import Stream
from remuda.conformance.wording import words
from remuda.si.pb import si_pb2 as si

# Requests and elements that the report of a failure shows at most.
_SHOWN: Final = 6

_REQUEST_OF: Final[dict[Kind, type[Request]]] = {
    Kind.ALLOCATION: si.AllocationRequest,
    Kind.APPLICATION: si.ApplicationRequest,
    Kind.NODE: si.NodeRequest,
}


class Conversation:
    """The streams of one resource manager.

    Args:
        endpoint: the scheduler.
        rm_id: the resource manager. rule: the rule that is named where an expectation names none.

    Attributes: identities: the identity that the scheduler gave the allocation ``<key>-<number>``,
    by application and that name.
    """

    def __init__(self, endpoint: Endpoint, rm_id: str, rule: str) -> None:
        self.rm_id = rm_id
        self.endpoint = endpoint
        self.numbers = itertools.count(1)
        self.identities: dict[tuple[str, str], str] = {}
        self._rule = rule
        self._streams: dict[Kind, Stream] = {}
        self._sent: list[str] = []
        self._answered = 0

    def open(self, *kinds: Kind) -> None:
        """Open streams, all three if none is named, each with an empty first message (SI-101)."""
        for kind in kinds or Kind:
            first = _REQUEST_OF[kind](rmID=self.rm_id)
            self._streams[kind] = Stream(kind, self.endpoint.method(kind), first)

    def open_with(self, first: Request | None, kind: Kind | None = None) -> None:
        """Open a stream with this first message, which gets the rmID.

        ``first`` None: only metadata opens the stream of ``kind``.
        """
        if first is None:
            assert kind is not None
            method = self.endpoint.method(kind)
            self._streams[kind] = Stream(kind, method, None, self.rm_id)
            return
        first.rmID = self.rm_id
        opened = _kind_of(first)
        self.note(opened.value, _content(first))
        self._streams[opened] = Stream(opened, self.endpoint.method(opened), first)

    def open_anonymously(self, kind: Kind) -> None:
        """Open a stream whose first message names no resource manager."""
        self.note(kind.value, "{}")
        first = _REQUEST_OF[kind]()
        self._streams[kind] = Stream(kind, self.endpoint.method(kind), first)

    def stream(self, kind: Kind) -> Stream:
        """Return the stream of a kind that was opened last."""
        return self._streams[kind]

    def close(self, *kinds: Kind) -> None:
        """Half-close streams, all three if none is named, and wait for their end.

        Raises: CheckFailedError if one does not end.
        """
        closing = [self._streams.pop(kind) for kind in kinds or tuple(self._streams)]
        for stream in closing:
            stream.half_close()
        deadline = self._deadline()
        for stream in closing:
            if stream.end(deadline) is None:
                expected = f"{stream.kind.value} ends after the client's half-close"
                raise self.failure("SI-101", expected, ["it goes on"])

    def hang_up(self) -> None:
        """Break all streams."""
        for stream in self._streams.values():
            stream.cancel()
        self._streams.clear()

    def send(self, request: Request, *, as_is: bool = False) -> None:
        """Send a request on its stream; ``rmID`` is filled in unless it is to go ``as_is``."""
        if not as_is:
            request.rmID = self.rm_id
        kind = _kind_of(request)
        self.note(kind.value, words(request) if as_is else _content(request))
        self._streams[kind].send(request)

    def expect(
        self, *wanted: Expected, rule: str = "", any_order: bool = False, seconds: float = 0.0
    ) -> list[Heard]:
        """Wait until these elements came, per stream in this order; return them in this order.

        ``any_order``: also within a stream. ``seconds``: how much longer than usual it may take.
        Optional elements that did not come before the rest are left out.

        Raises: CheckFailedError as soon as something else comes, a stream ends, or time is over.
        """
        deadline = self._deadline() + seconds
        left = list(enumerate(wanted))
        found: dict[int, Heard] = {}
        while required := [each for _, each in left if not each.optional]:
            kind = KIND_OF[required[0].what]
            choice = [(n, each) for n, each in left if KIND_OF[each.what] is kind]
            candidates = choice if any_order else _up_to_required(choice)
            heard = self._streams[kind].next(deadline)
            match = next(
                (pair for pair in candidates if heard and not pair[1].difference(heard)), None
            )
            if heard is None or match is None:
                raise self._surprise([each for _, each in candidates], heard, kind, rule)
            found[match[0]] = heard
            left.remove(match)
            self._learn(match[1], heard)
        self._answered = len(self._sent)
        return [found[n] for n in sorted(found)]

    def expect_end(self, kind: Kind, *codes: grpc.StatusCode, rule: str) -> None:
        """Wait until a stream ends with one of these statuses; earlier elements are ignored.

        Raises: CheckFailedError.
        """
        stream = self._streams.pop(kind)
        ended = stream.end(self._deadline())
        stream.cancel()
        if ended is None or ended.code not in codes:
            names = " or ".join(code.name for code in codes)
            came = ended.text() if ended else f"it goes on after {self.endpoint.timeout:g} s"
            raise self.failure(rule, f"{kind.value} ends with {names}", [came])

    def expect_takeover(self, older: Stream) -> None:
        """Wait until an older stream ended because a newer one took over (SI-102).

        Raises: CheckFailedError.
        """
        ended = older.end(self._deadline())
        if ended is None or ended.code is not grpc.StatusCode.ABORTED:
            came = ended.text() if ended else f"it goes on after {self.endpoint.timeout:g} s"
            raise self.failure("SI-102", f"the older {older.kind.value} ends with ABORTED", [came])

    def quiet(self, rule: str = "") -> None:
        """Wait until all sent requests are processed; no unexpected element may have come.

        A probe on each stream is answered after all earlier requests of the stream; a second round
        collects elements that the first one caused on other streams.

        Raises: CheckFailedError.
        """
        surplus: list[Heard] = []
        for _ in range(2):
            for kind, stream in self._streams.items():
                number = next(self.numbers)
                request = probe(kind, number)
                request.rmID = self.rm_id
                stream.send(request)
                surplus += self._until(stream, number, rule)
        if surplus:
            raise self.failure(rule, "nothing more", [each.text() for each in surplus])

    def failure(self, rule: str, expected: str, came: Sequence[str]) -> CheckFailedError:
        """Return the error with the expected elements and those that came instead."""
        sent = self._sent[self._answered :] or self._sent[-1:]
        return CheckFailedError(
            Failure(rule or self._rule, expected, _first(came), _first(sent[-_SHOWN:]))
        )

    def _learn(self, wanted: Expected, heard: Heard) -> None:
        """Keep the identity of a new allocation that may be written in two forms (SI-35)."""
        forms = wanted.fields.get("UUID")
        if wanted.what is What.NEW and isinstance(forms, OneOf):
            name = (str(wanted.fields["applicationID"]), str(forms.values[0]))
            self.identities[name] = identity_of(heard.element)

    def _surprise(
        self, wanted: Sequence[Expected], heard: Heard | None, kind: Kind, rule: str
    ) -> CheckFailedError:
        expected = "\nor ".join(each.text() for each in wanted)
        stream = self._streams[kind]
        if heard is None:
            ended = stream.ended
            came = [ended.text() if ended else f"nothing within {self.endpoint.timeout:g} s"]
        else:
            difference = wanted[0].difference(heard) if len(wanted) == 1 else ""
            tail = f" ({difference})" if difference not in {"", OTHER_KIND} else ""
            came = [f"{heard.text()}{tail}", *(each.text() for each in stream.waiting())]
        for other in self._streams.values():
            if other is not stream:
                came += [f"on {other.kind.value}: {each.text()}" for each in other.waiting()]
        return self.failure(rule, expected, came)

    def _until(self, stream: Stream, number: int, rule: str) -> list[Heard]:
        """Return the elements that come before the answer to a probe. Raises: CheckFailedError."""
        before: list[Heard] = []
        deadline = self._deadline()
        while True:
            heard = stream.next(deadline)
            if heard is None:
                ended = stream.ended
                came = [ended.text() if ended else f"nothing within {self.endpoint.timeout:g} s"]
                request = f"an answer to {words(probe(stream.kind, number))}"
                raise self.failure(rule, request, [*(each.text() for each in before), *came])
            if answers(heard, number):
                return before
            before.append(heard)

    def note(self, method: str, text: str) -> None:
        """Keep a sent request for the report of a failure."""
        self._sent.append(f"{method} {text}")

    def _deadline(self) -> float:
        return time.monotonic() + self.endpoint.timeout


def _up_to_required(choice: list[tuple[int, Expected]]) -> list[tuple[int, Expected]]:
    """Return the elements up to and including the first one that must come."""
    first = next(place for place, (_, each) in enumerate(choice) if not each.optional)
    return choice[: first + 1]


def _kind_of(request: Request) -> Kind:
    return next(kind for kind, type_ in _REQUEST_OF.items() if isinstance(request, type_))


def _content(request: Request) -> str:
    """Return a request without the rmID, which is the same in all requests of a conversation."""
    copy = type(request).FromString(request.SerializeToString())
    copy.ClearField("rmID")
    return words(copy)


def _first(lines: Sequence[str]) -> tuple[str, ...]:
    more = len(lines) - _SHOWN
    return (*lines[:_SHOWN], f"... and {more} more") if more > 0 else tuple(lines)
