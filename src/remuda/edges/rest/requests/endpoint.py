"""A route: the function that answers it, and answers other than shapes that become JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.edges.rest.requests.asking import Asked, Views

# Seconds for a client to take a piece of an answer.
STALLED_SECONDS: Final = 30.0


@message
class Body:
    """An answer that is ready to be sent.

    ``cors``: whether web pages of others may read it, if they may read anything.
    ``headers``: further ones. ``status``: of HTTP. ``by_accept``: another Accept header might have
    another answer.
    Implements: REST-5.
    """

    content: bytes
    media_type: str
    cors: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    by_accept: bool = True


@message
class Shown:
    """A shape, or a list of shapes, that is sent with further headers."""

    shape: object
    headers: Mapping[str, str] = field(default_factory=dict)


@message
class Stream:
    """An answer that is sent piece by piece while it is made.

    The sender waits for each piece. ``pieces`` is closed (``aclose``, if it has that) in the end,
    also when the client is gone. ``cors``: as for a Body. ``write_seconds``: the time after which a
    client that does not take a piece is cut off.
    """

    pieces: AsyncIterator[bytes]
    media_type: str
    cors: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    write_seconds: float = STALLED_SECONDS


# Returns a shape, a list of shapes, a Shown, a Body or a Stream.
Handler: TypeAlias = Callable[[Views, Asked], Awaitable[object]]


@message
class Endpoint:
    """How a path is answered.

    ``body_limit``: bytes that a POST may bring, 0: it is a GET. ``plain``: the answer is never
    compressed (REST-6); such a path has no parameters.
    """

    handler: Handler
    body_limit: int = 0
    plain: bool = False


# Paths, with parameters in braces, and how they are answered.
Routes: TypeAlias = Mapping[str, Endpoint]
