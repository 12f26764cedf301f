"""The thread that writes is woken only if it has something to write, or sooner than it thought."""

from __future__ import annotations

import threading

import pytest

from remuda.session.work import Shared
from remuda.si.protocol.numbering import ACK_FRAMES
from tests.unit.si.protocol.ends import MS, core_end, request, response, rm_end


class Waked(threading.Condition):
    """A condition that counts how often it wakes others."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def notify_all(self) -> None:
        self.count += 1
        super().notify_all()


class Taken:
    """Frames of a scheduler, taken in by a client whose writing thread waits."""

    def __init__(self) -> None:
        self.core, self.rm, self.shared = core_end(), rm_end(), Shared()
        self.shared.changed = self.waked = Waked()
        self.shared.conversation = self.rm
        self.shared.looks_ns = self.rm.due_ns()

    def take(self, now_ns: int) -> int:
        """Take a frame in and apply it; return how often the writing thread was woken."""
        before = self.waked.count
        with self.shared.changed:
            self.core.send(response("app"))
            data = self.core.next(now_ns)
            assert data is not None
            arrival = self.rm.receive(data, now_ns)
            assert arrival is not None
            self.rm.applied(arrival.number, now_ns)
            self.shared.frame_taken()
            if self.waked.count > before:
                self.shared.looks_ns = self.rm.due_ns()
        return self.waked.count - before


@pytest.mark.remuda_rule("EXT-7")
def test_frames_before_an_acknowledgement_is_due_wake_the_writer_once() -> None:
    taken = Taken()
    woken = [taken.take(MS) for _ in range(ACK_FRAMES)]
    assert woken == [1, *[0] * (ACK_FRAMES - 2), 1]


@pytest.mark.remuda_rule("EXT-6")
def test_a_frame_wakes_a_sender_that_waits_for_room() -> None:
    taken = Taken()
    taken.take(MS)
    taken.shared.senders = 1
    assert taken.take(MS) == 1


@pytest.mark.remuda_rule("EXT-6")
def test_a_frame_wakes_the_writer_if_something_is_still_to_be_written() -> None:
    taken = Taken()
    taken.take(MS)
    taken.rm.send(request("app"))
    assert taken.take(MS) == 1
