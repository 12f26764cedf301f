"""Two ends of a session over a link that breaks: nothing is lost, doubled or put out of order."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.si.protocol.terms import SessionLimits
from tests.unit.si.protocol.ends import CoreEnd, RmEnd, core_end, request, response, rm_end, text_of

WINDOW = 3
LIMITS = SessionLimits(max_unacked_frames=WINDOW)
MS = 1_000_000


class Half:
    """One end, what is on its way to it, and what it has received and not dealt with."""

    def __init__(self, end: CoreEnd | RmEnd) -> None:
        self.end: Any = end
        self.wire: deque[bytes] = deque()
        self.waiting: deque[tuple[int, str]] = deque()
        self.sent: list[str] = []
        self.got: list[str] = []


class Link:
    """Both ends and the stream between them."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.core, self.rm = Half(core_end(LIMITS)), Half(rm_end(LIMITS))
        self.up = True

    def halves(self, at_core: bool) -> tuple[Half, Half]:
        return (self.core, self.rm) if at_core else (self.rm, self.core)

    def send(self, at_core: bool, count: int) -> None:
        half, _ = self.halves(at_core)
        for _ in range(count):
            text = f"{len(half.sent)}"
            half.sent.append(text)
            half.end.send(response(text) if at_core else request(text), counted=count != 2)

    def write(self, at_core: bool, count: int) -> None:
        half, other = self.halves(at_core)
        for _ in range(count):
            data = half.end.next(self.now_ns)
            if data is None:
                return
            other.wire.append(data)

    def deliver(self, at_core: bool, count: int) -> None:
        half, _ = self.halves(at_core)
        for _ in range(min(count, len(half.wire))):
            arrival = half.end.receive(half.wire.popleft(), self.now_ns)
            if arrival is not None:
                half.waiting.append((arrival.number, text_of(arrival)))

    def apply(self, at_core: bool, count: int) -> None:
        half, _ = self.halves(at_core)
        for _ in range(min(count, len(half.waiting))):
            number, text = half.waiting.popleft()
            half.got.append(text)
            half.end.applied(number, self.now_ns)

    def cut(self) -> None:
        """The stream breaks; what is on its way is lost."""
        for half in (self.core, self.rm):
            half.wire.clear()
            half.end.end()
        self.up = False

    def mend(self) -> None:
        """The RM resumes: each side says what it has (Resume.last_seq, Welcome.last_seq)."""
        if not self.up:
            self.up = True
            self.core.end.resume(self.rm.end.incoming.last, self.now_ns)
            self.rm.end.resume(self.core.end.incoming.last, self.now_ns)

    def finish(self) -> None:
        """Let time pass until everything that can be done is done."""
        self.mend()
        for _ in range(500):
            self.now_ns += 50 * MS
            for at_core in (True, False):
                self.write(at_core, 100)
                self.deliver(not at_core, 100)
                self.apply(not at_core, 100)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["send", "write", "deliver", "apply"]), st.booleans())
        .flatmap(lambda step: st.tuples(st.just(step), st.integers(1, 4)))
        .map(lambda step: (*step[0], step[1])),
        st.sampled_from([("cut", False, 0), ("mend", False, 0), ("wait", False, 0)]),
    ),
    max_size=120,
)


@pytest.mark.remuda_rule("EXT-3", "EXT-4", "EXT-6", "EXT-9")
@given(STEPS)
@settings(max_examples=300, deadline=None)
def test_a_link_that_breaks_loses_nothing_doubles_nothing_and_keeps_the_order(
    steps: list[tuple[str, bool, int]],
) -> None:
    link = Link()
    for name, at_core, count in steps:
        if name == "cut":
            link.cut()
        elif name == "mend":
            link.mend()
        elif name == "wait":
            link.now_ns += 30 * MS
        elif link.up or name in {"send", "apply"}:
            getattr(link, name)(at_core, count)
        for half, other in ((link.core, link.rm), (link.rm, link.core)):
            got = half.got + [text for _, text in half.waiting]
            assert got == other.sent[: len(got)]
    link.finish()
    assert link.core.got == link.rm.sent
    assert link.rm.got == link.core.sent
    assert (len(link.core.end.outgoing), len(link.rm.end.outgoing)) == (0, 0)
    assert (link.core.end.outgoing.bytes, link.core.end.outgoing.counted) == (0, 0)
