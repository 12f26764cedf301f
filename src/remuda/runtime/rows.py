"""Lists of views with their type.

A query is answered with a ``View``, which may be a list of any kind; who asked knows which.
"""

from __future__ import annotations

from typing import TypeVar

from remuda.core.messages.queries import View

T = TypeVar("T")


def rows(kind: type[T], found: View) -> list[T]:
    """Return the views of this kind in an answer that is a list."""
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, kind)]
