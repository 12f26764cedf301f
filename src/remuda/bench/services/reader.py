"""Reads over REST in a process of its own, so that reading takes nothing of the scheduler's.

It imports little, because it is started anew for each part of a measurement.
"""

from __future__ import annotations

import http.client
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Final, TypeAlias

# Milliseconds and bytes of each answer by path; 0 ms: it was not read to its end.
Read: TypeAlias = dict[str, list[tuple[float, int]]]

_TIMEOUT_S: Final = 600.0
_PIECE: Final = 1 << 20


def read_on(port: int, paths: list[str], wire: Connection) -> None:
    """Read paths in turn until told to stop, then send what was read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    found: Read = {path: [] for path in paths}
    wire.send(None)
    while not wire.poll():
        for path in paths:
            began = time.perf_counter()
            connection.request("GET", path)
            size, whole = _size(connection.getresponse(), wire)
            found[path].append(((time.perf_counter() - began) * 1e3 if whole else 0.0, size))
            if not whole:
                break
    wire.send(found)


def _size(answer: http.client.HTTPResponse, wire: Connection) -> tuple[int, bool]:
    """Return the bytes of an answer, and whether that is all of it."""
    size = 0
    while piece := answer.read(_PIECE):
        size += len(piece)
        if wire.poll():
            return size, False
    return size, True


def listen(port: int, path: str, streams: int, wire: Connection) -> None:
    """Read several endless answers at once, and count their lines after the first.

    The process reports when all are open, and then gets the number of lines that each must have. It
    sends back how many are missing altogether; for an answer that ends, all are missing.
    """
    counts = [0] * streams
    answers = [_opened(port, path) for _ in range(streams)]
    readers = [
        threading.Thread(target=partial(_count, answer, counts, place), daemon=True)
        for place, answer in enumerate(answers)
    ]
    for reader in readers:
        reader.start()
    wire.send(None)
    wanted: int = wire.recv()
    while any(
        reader.is_alive() and count < wanted for reader, count in zip(readers, counts, strict=True)
    ):
        time.sleep(0.01)
    wire.send(sum(wanted - count for count in counts))


def _opened(port: int, path: str) -> http.client.HTTPResponse:
    """Return an answer whose first line has come."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.readline()
    return answer


def _count(answer: http.client.HTTPResponse, counts: list[int], place: int) -> None:
    while piece := answer.read1(_PIECE):
        counts[place] += piece.count(b"\n")
    counts[place] = 0
