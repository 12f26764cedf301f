"""Lists of views with their type.

A query is answered with a ``View``, which may be a list of any kind; the caller knows which.
"""

from __future__ import annotations

from typing import TypeVar

from remuda.core.messages.queries import View
from remuda.core.messages.rows import Rows

T = TypeVar("T")


def rows(kind: type[T], found: View) -> list[T]:
    """Return the views of this kind in an answer that is a list, all of them made."""
    assert isinstance(found, tuple | Rows)
    return [view for view in found if isinstance(view, kind)]
