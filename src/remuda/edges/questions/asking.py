"""Asks the core, and has the refusals of names that it does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeAlias

from remuda.core.messages.queries import Query, UnknownQueue, View
from remuda.edges.questions.refusals import (
    PARTITION_NOT_FOUND,
    QUEUE_NOT_FOUND,
    Cause,
    UnansweredError,
)

# Sends a question to the core.
Ask: TypeAlias = Callable[[Query], Future[View]]


async def viewed(ask: Ask, query: Query) -> View:
    """Return the answer of the core. Raises: UnansweredError if nothing has that name."""
    found = await asyncio.wrap_future(ask(query))
    if found is None:
        raise UnansweredError(Cause.NOT_FOUND, PARTITION_NOT_FOUND)
    if isinstance(found, UnknownQueue):
        raise UnansweredError(Cause.NOT_FOUND, QUEUE_NOT_FOUND)
    return found
