"""Parts of lists: some elements, some of their keys, and how many there are.

Implements: REST-122.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from remuda.base.message import message
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Handler, Shown
from remuda.edges.rest.requests.numbers import count_option, whole_number

T = TypeVar("T")

TOTAL_COUNT: Final = "X-Total-Count"

# More elements than any list has.
_ALL: Final = 2**62


@message
class Page:
    """Which part of a list is wanted: ``most`` elements after the first ``offset``.

    ``fields``: the keys of each element that are wanted, empty: all.
    """

    offset: int
    most: int
    fields: tuple[str, ...]

    def cut(self, elements: Sequence[T]) -> Sequence[T]:
        """Return the elements that are wanted."""
        return elements[self.offset : self.offset + self.most]

    def pick(self, shapes: Sequence[object]) -> list[object]:
        """Return shapes with the keys that are wanted; a key that one does not have is no error."""
        if not self.fields:
            return list(shapes)
        return [self.picked(shape) for shape in shapes]

    def wants(self, name: str) -> bool:
        """Whether a key of elements is wanted."""
        return not self.fields or name in self.fields

    def wanted(self, shape: object) -> object:
        """Return a shape, or the keys of it that are wanted."""
        return self.picked(shape) if self.fields else shape

    def picked(self, shape: object) -> dict[str, object]:
        """Return the keys of one shape that are wanted."""
        plain: Mapping[str, object] = msgspec.to_builtins(shape)
        return {name: plain[name] for name in self.fields if name in plain}


# A list with all it has.
EVERYTHING: Final = Page(0, _ALL, ())


def page_of(asked: Asked, usual: int = _ALL, most: int = _ALL) -> Page:
    """Return which part of a list is asked for: ``usual`` elements if the client does not say.

    Raises: ApiError 400 if ``limit`` or ``offset`` is no number, or the limit 0.
    """
    offset = asked.options.get("offset", "")
    fields = [name.strip() for name in asked.options.get("fields", "").split(",")]
    return Page(
        min(whole_number(offset, "offset"), _ALL) if offset else 0,
        count_option(asked.options.get("limit", ""), "limit", usual, most),
        tuple(dict.fromkeys(name for name in fields if name)),
    )


def counted(total: int) -> dict[str, str]:
    """Return the header that tells how many elements the whole list has."""
    return {TOTAL_COUNT: str(total)}


def paged(handler: Handler) -> Handler:
    """Return a handler that shows parts of the list that another one answers.

    A refusal of the other handler comes first; an answer that is no list is passed on.
    """

    async def answer(views: Views, asked: Asked) -> object:
        found = await handler(views, asked)
        if not isinstance(found, list):
            return found
        page = page_of(asked)
        return Shown(page.pick(page.cut(found)), counted(len(found)))

    return answer
