"""What calls of the Python API raise; each is one line for a person, and nothing has changed."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.base.errors import RemudaError
from remuda.library.records import Rejection


class RequestError(RemudaError):
    """A call that cannot be carried out: the text says what is wrong, where, and what to do."""


class RejectedError(RequestError):
    """The scheduler refused what was asked for; ``rejections`` holds each refusal, in order.

    Only ``add_nodes`` carries several elements: nodes that are not among the refusals were added.
    """

    def __init__(self, rejections: Sequence[Rejection]) -> None:
        self.rejections: tuple[Rejection, ...] = tuple(rejections)
        super().__init__("\n".join(str(each) for each in self.rejections))
