"""Event records as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from remuda.base.errors import RemudaError
from remuda.cli.server import NotReachableError, RefusedError
from remuda.cli.viewing.following import EventTail

HELLO: dict[str, Any] = {"InstanceUUID": "one"}


def record(number: int) -> dict[str, Any]:
    return {"id": number, "partition": "default", "record": {}}


class Streams:
    """A server whose streams have these lines; then it breaks, or raises what is in its place."""

    def __init__(self, *streams: list[dict[str, Any]] | RemudaError) -> None:
        self.streams = list(streams)
        self.asked: list[dict[str, str]] = []

    def get(self, path: str, options: Mapping[str, str] | None = None) -> bytes:
        raise AssertionError(path)

    def post(self, path: str, content: bytes, options: Mapping[str, str] | None = None) -> bytes:
        raise AssertionError(path)

    def lines(self, path: str, options: Mapping[str, str] | None = None) -> Iterator[bytes]:
        assert path == "/ws/v1/events/stream"
        self.asked.append(dict(options or {}))
        found = self.streams.pop(0) if self.streams else RefusedError("no more")
        if isinstance(found, RemudaError):
            raise found
        yield from (json.dumps(line).encode() + b"\n" for line in found)
        raise NotReachableError("the connection ended")


def tail(server: Streams) -> tuple[list[int], list[float]]:
    """The numbers of the records until the server refuses, and the pauses."""
    numbers: list[int] = []
    pauses: list[float] = []
    records = EventTail(server, {"type": "3"}, 5, pauses.append).records()
    with pytest.raises(RefusedError, match="no more"):
        numbers.extend(each["id"] for each in records)
    return numbers, pauses


@pytest.mark.remuda_rule("EXT-80")
def test_a_broken_stream_goes_on_behind_the_last_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = NotReachableError("nobody answers")
    server = Streams([HELLO, record(7), record(8)], broken, broken, [HELLO, record(9)])
    assert tail(server) == ([7, 8, 9], [1.0] * 4)
    assert server.asked[0] == {"format": "v2", "type": "3", "count": "5"}
    assert [each.get("start") for each in server.asked] == [None, "9", "9", "9", "10"]
    assert capsys.readouterr().err.splitlines() == [
        "remuda: the connection ended; trying again",
        "remuda: the connection ended; trying again",
    ]


@pytest.mark.remuda_rule("EXT-80")
def test_a_scheduler_that_was_started_again_is_read_from_its_first_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    again = {"InstanceUUID": "two"}
    server = Streams([HELLO, record(7)], [again, record(50)], [again, record(0), record(1)])
    assert tail(server)[0] == [7, 0, 1]
    assert [each.get("start") for each in server.asked[1:3]] == ["8", "0"]
    assert "remuda: the scheduler was started again\n" in capsys.readouterr().err


@pytest.mark.remuda_rule("EXT-80")
def test_a_gap_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    gap = {"gap": {"requested": 8, "lowest": 20}}
    assert tail(Streams([HELLO, record(7)], [HELLO, gap, record(20)]))[0] == [7, 20]
    assert "records were overwritten before they were read" in capsys.readouterr().err


def test_a_server_that_never_answered_ends_it() -> None:
    with pytest.raises(NotReachableError, match="nobody"):
        next(EventTail(Streams(NotReachableError("nobody")), {}, 0).records())
