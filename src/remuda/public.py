"""What ``from remuda import ...`` offers, and nothing else.

The page docs/reference/python-api.md lists it with every signature; a test compares the two.
"""

from __future__ import annotations

from remuda.base.errors import ConfigError, RemudaError
from remuda.insight.dry_run import DryRun, Placement, Refusal, Victim, WaitingAsk
from remuda.insight.explanation import Explanation, NodeCounts
from remuda.insight.forecast import Calibration, Forecast
from remuda.insight.impact_result import (
    ChangedAsk,
    ConfigImpact,
    MovedApplication,
    QueueAmount,
    QueueGone,
)
from remuda.insight.ways_out import WayOut
from remuda.library.errors import RejectedError, RequestError
from remuda.library.moment import Moment
from remuda.library.queues import Config, Queue
from remuda.library.records import (
    Allocation,
    Amounts,
    ApplicationUpdate,
    Ask,
    FairShare,
    Outcome,
    Rejection,
    Release,
    TaskGroup,
    TerminationType,
)
from remuda.library.scheduler import Scheduler
from remuda.notebook.lines import WaitingLine
from remuda.notebook.view import View, view

__all__ = [
    "Allocation",
    "Amounts",
    "ApplicationUpdate",
    "Ask",
    "Calibration",
    "ChangedAsk",
    "Config",
    "ConfigError",
    "ConfigImpact",
    "DryRun",
    "Explanation",
    "FairShare",
    "Forecast",
    "Moment",
    "MovedApplication",
    "NodeCounts",
    "Outcome",
    "Placement",
    "Queue",
    "QueueAmount",
    "QueueGone",
    "Refusal",
    "RejectedError",
    "Rejection",
    "Release",
    "RemudaError",
    "RequestError",
    "Scheduler",
    "TaskGroup",
    "TerminationType",
    "Victim",
    "View",
    "WaitingAsk",
    "WaitingLine",
    "WayOut",
    "view",
]
