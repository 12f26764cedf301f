"""A reader that is fuzzed, and the bytes that the search begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is tried.

    ``take``: gives bytes to a reader, and raises only if that shows a fault. ``seeds``: returns
    valid and nearly valid inputs. ``words``: bytes that inputs of this kind often contain.
    ``bytes_limit``: the longest input that is tried.
    """

    take: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...] = ()
    bytes_limit: int = 4_096
