"""What ``from remuda import ...`` offers, and nothing else.

The page docs/reference/python-api.md lists it with every signature; a test compares the two.
"""

from __future__ import annotations

from remuda.base.errors import ConfigError, RemudaError
from remuda.library.errors import RejectedError, RequestError
from remuda.library.explanation import Explanation, NodeCounts
from remuda.library.queues import Config, Queue
from remuda.library.records import (
    Allocation,
    Amounts,
    ApplicationUpdate,
    Ask,
    Outcome,
    Rejection,
    Release,
    TaskGroup,
    TerminationType,
)
from remuda.library.scheduler import Scheduler

__all__ = [
    "Allocation",
    "Amounts",
    "ApplicationUpdate",
    "Ask",
    "Config",
    "ConfigError",
    "Explanation",
    "NodeCounts",
    "Outcome",
    "Queue",
    "RejectedError",
    "Rejection",
    "Release",
    "RemudaError",
    "RequestError",
    "Scheduler",
    "TaskGroup",
    "TerminationType",
]
