"""A route: the function that answers it, and answers other than shapes that become JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.edges.questions.reach import Reach
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
    client that does not take a piece is cut off. ``large``: it holds much memory until its end, so
    it is refused while memory is scarce (EXT-39).
    """

    pieces: AsyncIterator[bytes]
    media_type: str
    cors: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    write_seconds: float = STALLED_SECONDS
    large: bool = False


# Returns a shape, a list of shapes, a Shown, a Body or a Stream.
Handler: TypeAlias = Callable[[Views, Asked], Awaitable[object]]


@message
class Endpoint:
    """How a path is answered.

    ``body_limit``: bytes that a POST may bring, 0: it is a GET. ``at_once``: how many POSTs are
    answered at a time; others wait. ``plain``: the answer is never
    compressed (REST-6); such a path has no parameters. ``reach``: how much the answer shows; the
    whole scheduler unless the route says less, so that a new route is closed to callers with a
    scope (EXT-32). ``large``: each answer needs much memory, so nothing is asked for it
    while memory is scarce (EXT-39). ``admit``: lets a request in before its body is read, or raises
    ApiError; for routes that do more than answer.
    """

    handler: Handler
    body_limit: int = 0
    at_once: int = 2
    plain: bool = False
    reach: Reach = Reach.WHOLE
    large: bool = False
    admit: Callable[[Asked], None] | None = None


# Paths, with parameters in braces, and how they are answered.
Routes: TypeAlias = Mapping[str, Endpoint]
