"""The thread that reads a journal over gRPC ends, whenever Ctrl-C comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import grpc
import pytest

from remuda.connection import journal
from remuda.si.pb import extension_pb2 as ext

INTERRUPTS = 400
# Shorter than what one piece takes, so that each place of the code is interrupted at times.
INTERVAL = 0.0002


class Call:
    """A call that has pieces until it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def __iter__(self) -> Iterator[ext.JournalPiece]:
        while not self.cancelled.is_set():
            yield ext.JournalPiece(file="a", data=b"b")
        raise grpc.RpcError

    def cancel(self) -> None:
        """End it."""
        self.cancelled.set()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Any:
    stub = mock.Mock()
    stub.return_value.Follow.side_effect = lambda *_, **__: Call()
    monkeypatch.setattr(journal, "JournalStub", stub)
    return journal._Reading(mock.Mock(), ext.FollowJournalRequest())


@pytest.mark.remuda_rule("EXT-166")
def test_it_ends_although_what_takes_its_pieces_was_interrupted(reading: Any) -> None:
    taken = interrupted = 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while interrupted < INTERRUPTS:
            try:
                signal.setitimer(signal.ITIMER_REAL, INTERVAL)
                while True:
                    taken += reading.take(60.0) is not None
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert taken > 0
    ending = threading.Thread(target=reading.end, daemon=True)
    ending.start()
    ending.join(30.0)
    assert not ending.is_alive()


@pytest.mark.remuda_rule("EXT-166")
def test_it_reads_a_few_pieces_ahead_and_no_more(reading: Any) -> None:
    for _ in range(5):
        assert reading.take(60.0).data == b"b"
    # It waits for room now or soon; whatever it had read is there.
    items = reading._items
    assert items.qsize() <= 2
    reading.end()
    assert items.qsize() <= 3
