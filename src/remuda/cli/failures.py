"""Failures of commands that have an exit code of their own; see ``program.run``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import NOT_FOUND
from typing import ClassVar

from remuda.base.errors import RemudaError
from remuda.base.texts import shown
from remuda.cli.server import WrongRequestError


class NotThereError(RemudaError):
    """An object that was named is not there (any more): one line says which."""

    exit_code: ClassVar[int] = 3


@contextmanager
def about(kind: str, name: str) -> Iterator[None]:
    """Say which object is not there if the server answers so: ``application 'a': ...``.

    Raises: NotThereError; all other errors as they are.
    """
    try:
        yield
    except WrongRequestError as error:
        if error.status != NOT_FOUND:
            raise
        raise NotThereError(f"{kind} '{shown(name)}': {error}") from None
