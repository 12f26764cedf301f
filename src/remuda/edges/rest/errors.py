"""The one error table of the REST edge: texts, body shape, exception.

The texts are part of the interface (REST-13): clients compare them, so they stand here once.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

PARTITION_NOT_FOUND: Final = "Partition not found"
QUEUE_NOT_FOUND: Final = "Queue not found"
NOT_RUNNING: Final = "Scheduler is not running"
UNEXPECTED: Final = "Internal server error"
BODY_TOO_LARGE: Final = "Request body is too large"

_QUEUE_NAME: Final = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")


class ErrorBody(msgspec.Struct):
    """Body of every error a handler produces (REST-12)."""

    status_code: int
    message: str
    description: str


class ApiError(Exception):
    """A request that cannot be answered: HTTP status, text of the catalogue, cause if known."""

    def __init__(self, status: int, text: str, cause: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.cause = cause

    def body(self) -> ErrorBody:
        """Return the JSON body; ``description`` names the cause when there is one."""
        description = f"{self.text}. Original Cause :{self.cause}" if self.cause else self.text
        return ErrorBody(self.status, self.text, description)


def check_queue_path(path: str) -> None:
    """Refuse a queue path with a part that cannot be a queue name.

    The wider name pattern of later releases counts, so that the recovery queue and names with
    a slash can be addressed (REST-9, REST-15, CFG-30).

    Raises: ApiError with status 400.
    """
    for part in path.split("."):
        if not _QUEUE_NAME.fullmatch(part):
            raise ApiError(
                400,
                f"problem in queue query parameter parsing as queue param {path} contains "
                f"invalid queue name {part}. Queue name must only have alphanumeric characters, "
                "- or _, and be no longer than 64 characters",
            )
