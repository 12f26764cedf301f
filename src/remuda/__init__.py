"""A universal resource scheduler: one deterministic core, and the ways in and out of it.

    from remuda import Scheduler

``__all__`` is the public Python API: docs/reference/python-api.md lists it. It is imported when it
is asked for and not before, so that each command loads only what it needs. Those who port a
resource manager start at ``remuda.edges.inproc``, those who talk to a scheduler in another process
at ``remuda.client``.
"""

__version__ = "0.1.0"

# For type checkers only, without loading the module ``typing`` for it.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from remuda.public import (
        Allocation,
        Amounts,
        ApplicationUpdate,
        Ask,
        Calibration,
        ChangedAsk,
        Config,
        ConfigError,
        ConfigImpact,
        DryRun,
        Explanation,
        FairShare,
        Forecast,
        Moment,
        MovedApplication,
        NodeCounts,
        Outcome,
        Placement,
        Queue,
        QueueAmount,
        QueueGone,
        Refusal,
        RejectedError,
        Rejection,
        Release,
        RemudaError,
        RequestError,
        Scheduler,
        TaskGroup,
        TerminationType,
        Victim,
        View,
        WaitingAsk,
        WaitingLine,
        WayOut,
        view,
    )

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

if not TYPE_CHECKING:  # a checker would take any name for known

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        if name not in __all__:
            raise AttributeError(f"module 'remuda' has no attribute {name!r}")
        from remuda import public  # noqa: PLC0415 - not before it is asked for

        return getattr(public, name)

    def __dir__() -> list[str]:
        """Name what can be imported, for those who complete names."""
        return sorted([*globals(), *__all__])
