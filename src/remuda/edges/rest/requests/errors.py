"""The one error table of the REST edge: texts, body shape, exception.

The texts are part of the interface (REST-13): clients compare them, so they stand here once.
Implements: REST-13.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from remuda.config.schema import QUEUE_NAME
from remuda.edges.questions import refusals

PARTITION_NOT_FOUND: Final = refusals.PARTITION_NOT_FOUND
QUEUE_NOT_FOUND: Final = refusals.QUEUE_NOT_FOUND
APPLICATION_NOT_FOUND: Final = refusals.APPLICATION_NOT_FOUND
NODE_NOT_FOUND: Final = "Node not found"
USER_NOT_FOUND: Final = "User not found"
GROUP_NOT_FOUND: Final = "Group not found"
PREEMPTION_NOT_FOUND: Final = "Preemption not found"
FILE_NOT_FOUND: Final = "There is no such file of the web interface"
HEALTH_NOT_FOUND: Final = "Health check is not available"
MANAGER_NOT_FOUND: Final = refusals.MANAGER_NOT_FOUND
BAD_USER_NAME: Final = "Invalid user name"
BAD_GROUP_NAME: Final = "Invalid group name"
ACTIVE_ONLY: Final = "Only following application states are allowed: active"
BAD_STATE: Final = f"{ACTIVE_ONLY}, rejected, completed"
HISTORY_OFF: Final = "Internal metrics collection is not enabled."
NOT_RUNNING: Final = "Scheduler is not running"
TRACKING_OFF: Final = "Event tracking is disabled"
TOO_MANY_STREAMS: Final = "Too many streaming connections"
STREAM_CLOSED: Final = "Event stream was closed by the producer"
STREAM_SLOW: Final = "the client reads too slowly"
UNEXPECTED: Final = "Internal server error"
BODY_TOO_LARGE: Final = "Request body is too large"
BODY_TOO_SLOW: Final = "Request body did not arrive in time"
NOBODY_KNOWN: Final = "Unknown caller: a token of an identity is needed"
ADMIN_NEEDED: Final = "The role of an administrator is needed"
PROFILE_RUNNING: Final = "A profile is being taken; try again when it is done"
SCARCE_MEMORY: Final = refusals.SCARCE_MEMORY
LOOKED_JUST_NOW: Final = "All objects were looked at less than a minute ago; try again later"

# What the query option ``status`` may ask for, in the order in which it is listed (REST-13).
ACTIVE_STATUSES: Final = (
    "accepted",
    "completing",
    "failing",
    "new",
    "resuming",
    "running",
    "starting",
)
BAD_STATUS: Final = f"Only following active statuses are allowed: {', '.join(ACTIVE_STATUSES)}"


class ErrorBody(msgspec.Struct):
    """Body of every error a handler produces. Implements: REST-12."""

    status_code: int
    message: str
    description: str


class ApiError(Exception):
    """A request that cannot be answered: HTTP status, text of the catalogue, cause if known.

    ``headers``: of the answer.
    """

    def __init__(
        self,
        status: int,
        text: str,
        cause: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.cause = cause
        self.headers = headers

    def body(self) -> ErrorBody:
        """Return the JSON body; ``description`` names the cause when there is one."""
        description = f"{self.text}. Original Cause :{self.cause}" if self.cause else self.text
        return ErrorBody(self.status, self.text, description)


def check_queue_path(path: str) -> None:
    """Refuse a queue path with a part that cannot be a queue name.

    The wider name pattern of later releases counts, so that the recovery queue and names with
    a slash can be addressed (REST-9, CFG-30).

    Raises: ApiError with status 400.
    Implements: REST-15.
    """
    for part in path.split("."):
        if not QUEUE_NAME.fullmatch(part):
            raise ApiError(
                400,
                f"problem in queue query parameter parsing as queue param {path} contains "
                f"invalid queue name {part}. Queue name must only have alphanumeric characters, "
                "- or _, and be no longer than 64 characters",
            )
