"""The numbers of one direction: sent frames to keep, and received frames to acknowledge.

Numbered frames count 1, 2, 3, ... in each direction, without gaps, over all streams of a session.
The sender keeps each until the receiver acknowledged it, so frames that a broken stream lost can be
sent again. The receiver drops frames that it has already, and never goes on after a gap.
"""

from __future__ import annotations

from typing import Final

from remuda.si.protocol.errors import SessionError, resync
from remuda.si.protocol.terms import MILLISECOND_NS

# A receiver acknowledges after this many frames or this time, whichever is first (EXT-7).
ACK_FRAMES: Final = 64
ACK_NS: Final = 50 * MILLISECOND_NS


class _Kept:
    """A frame that was given a number: its body, and whether the window counts it."""

    __slots__ = ("body", "counted")

    def __init__(self, body: bytes, counted: bool) -> None:
        self.body = body
        self.counted = counted


class Outgoing:
    """Frames on their way to the peer, each kept until it is acknowledged.

    ``window``: the most counted frames on their way; further ones wait. ``last``: the highest
    number given, ``sent``: handed to the stream, ``acknowledged``: applied by the peer. ``bytes``:
    of the bodies kept. Rules: EXT-3, EXT-6, EXT-9.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.last = 0
        self.sent = 0
        self.acknowledged = 0
        self.bytes = 0
        self._kept: dict[int, _Kept] = {}
        self._counted = 0
        self._on_way = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def counted(self) -> int:
        """How many of the kept frames the window counts, be they sent or not. Rules: EXT-6."""
        return self._counted

    def add(self, body: bytes, *, counted: bool = True) -> int:
        """Give a body the next number and return it."""
        self.last += 1
        self._kept[self.last] = _Kept(body, counted)
        self._counted += counted
        self.bytes += len(body)
        return self.last

    def next(self) -> tuple[int, bytes] | None:
        """Take the next frame that may be sent now: its number and body. Rules: EXT-6."""
        if self.sent == self.last:
            return None
        kept = self._kept[self.sent + 1]
        if kept.counted and self._on_way >= self.window:
            return None
        self.sent += 1
        self._on_way += kept.counted
        return self.sent, kept.body

    def acknowledge(self, number: int) -> None:
        """Forget what the peer applied.

        Raises: SessionError if that was never sent.
        """
        if number > self.sent:
            raise SessionError(f"frame {number} is acknowledged, the last one sent is {self.sent}")
        while self.acknowledged < number:
            self.acknowledged += 1
            kept = self._kept.pop(self.acknowledged)
            self.bytes -= len(kept.body)
            self._counted -= kept.counted
            self._on_way -= kept.counted

    def rewind(self, received: int) -> None:
        """Send again, on a new stream, all frames the peer did not receive.

        Raises: SessionError (RESYNC_REQUIRED) if that is not possible. Rules: EXT-9.
        """
        if not self.acknowledged <= received <= self.last:
            raise resync(
                f"the last frame received is said to be {received}, "
                f"kept are those from {self.acknowledged + 1} to {self.last}"
            )
        self.sent = received
        self._on_way = sum(kept.counted for kept in self._sent())

    def replace(self, number: int, body: bytes) -> None:
        """Give a kept number another body, because the old content ended with its stream.

        Rules: EXT-10.
        """
        kept = self._kept.get(number)
        if kept is not None:
            self.bytes += len(body) - len(kept.body)
            kept.body = body

    def bodies(self) -> list[bytes]:
        """Return all that is kept, in its order."""
        return [kept.body for kept in self._kept.values()]

    def _sent(self) -> list[_Kept]:
        return [self._kept[number] for number in range(self.acknowledged + 1, self.sent + 1)]


class Incoming:
    """Numbers of the peer's frames. ``last``: the highest received, ``applied``: dealt with.

    Rules: EXT-3, EXT-4, EXT-7, EXT-9.
    """

    def __init__(self) -> None:
        self.last = 0
        self.applied = 0
        self._confirmed = 0
        self._since_ns: int | None = None

    def receive(self, number: int) -> bool:
        """Note a received frame; return whether it is new.

        Raises: SessionError if one before it is missing.
        """
        if number <= self.last:
            return False
        if number != self.last + 1:
            raise SessionError(f"frame {number} follows frame {self.last}")
        self.last = number
        return True

    def apply(self, number: int, now_ns: int) -> None:
        """Note that the effect of a frame, and of all before it, is done. Rules: EXT-4."""
        assert number == self.applied + 1, "frames are applied in order"
        assert number <= self.last, "a frame is applied before it came"
        self.applied = number
        if self._since_ns is None:
            self._since_ns = now_ns

    def confirm(self) -> int:
        """Return the number to acknowledge, and note that the peer gets it."""
        self._confirmed = self.applied
        self._since_ns = None
        return self.applied

    def repeat(self, now_ns: int) -> None:
        """Repeat the last acknowledgement: it may have been lost with its stream. Rules: EXT-9."""
        self._confirmed = 0
        self._since_ns = now_ns - ACK_NS if self.applied else None

    def due_ns(self) -> int | None:
        """Return when an acknowledgement is due, None if there is none to send.

        Implements: EXT-7.
        """
        if self._since_ns is None or self.applied - self._confirmed >= ACK_FRAMES:
            return self._since_ns
        return self._since_ns + ACK_NS
