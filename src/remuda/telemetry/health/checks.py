"""The eleven checks in their order, then the entries that are information, not faults.

Names, descriptions and texts are part of the interface (rules: chapter 97 section 6, HLT-20).
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.telemetry.health.findings import Finding, listed, quoted
from remuda.telemetry.health.survey import Share, Survey, Trouble


def findings(survey: Survey, before: Trouble) -> list[Finding]:
    """Return the entries of all checks.

    ``before``: the counts of trouble at the last run, 0 at the first run.

    Implements: HLT-4, HLT-5, HLT-17 (Ours), HLT-19. Rules: HLT-1, chapter 97 section 6, HLT-15
    (Ours).
    """
    trouble = survey.trouble
    return [
        Finding(
            "Scheduling errors",
            "Check for scheduling error entries in metrics",
            f"There were {trouble.errors} scheduling errors logged in the metrics",
            succeeded=trouble.errors == before.errors,
        ),
        Finding(
            "Failed nodes",
            "Check for failed nodes entries in metrics",
            f"There were {trouble.failed_nodes} failed nodes logged in the metrics",
            succeeded=trouble.failed_nodes == before.failed_nodes,
        ),
        *_amounts(survey),
        *_sums(survey),
        *_nodes(survey),
        _ratio(survey.shares),
        *_orphans(survey),
        *_news(survey),
    ]


def _amounts(survey: Survey) -> list[Finding]:
    """Look for negative amounts. Implements: HLT-6, HLT-7."""
    return [
        _named(
            "Negative resources",
            "Check for negative resources in the partitions",
            "Partitions with negative resources",
            survey.negative,
        ),
        _named(
            "Negative resources",
            "Check for negative resources in the nodes",
            "Nodes with negative resources",
            survey.negative_nodes,
        ),
    ]


def _sums(survey: Survey) -> list[Finding]:
    """Compare sums; the text of the first check names the compared values.

    Implements: HLT-8, HLT-9, HLT-15 (Ours).
    """
    return [
        _named(
            "Consistency of data",
            "Check if total allocated resource == sum of the allocated resources of the nodes"
            " from the partition",
            "Partitions with inconsistent data",
            survey.misallocated,
        ),
        _named(
            "Consistency of data",
            "Check if total partition resource == sum of the node resources from the partition",
            "Partitions with inconsistent data",
            survey.missized,
        ),
    ]


def _nodes(survey: Survey) -> list[Finding]:
    """Check the accounts of each node. Implements: HLT-10, HLT-11."""
    return [
        _named(
            "Consistency of data",
            "Check if node total resource = allocated resource + occupied resource"
            " + available resource",
            "Nodes with inconsistent data",
            survey.unbalanced_nodes,
        ),
        _named(
            "Consistency of data",
            "Check if node capacity >= allocated resources on the node",
            "Nodes with inconsistent data",
            survey.overcommitted_nodes,
        ),
    ]


def _ratio(shares: Sequence[Share]) -> Finding:
    """Compare the number of reservations with that of nodes. Implements: HLT-12."""
    ratios = [f"{each.reservations / each.nodes:f}" if each.nodes else "NaN" for each in shares]
    return Finding(
        "Reservation check",
        "Check the reservation nr compared to the number of nodes",
        f"Reservation/node nr ratio: [{' '.join(ratios)}]",
    )


def _orphans(survey: Survey) -> list[Finding]:
    """Look for allocations that only the node or only the application has.

    Implements: HLT-13, HLT-14.
    """
    return [
        Finding(
            "Orphan allocation on node check",
            "Check if there are orphan allocations on the nodes",
            f"Orphan allocations: {listed(survey.orphans_on_nodes)}",
            succeeded=not survey.orphans_on_nodes,
        ),
        Finding(
            "Orphan allocation on app check",
            "Check if there are orphan allocations on the applications",
            f"OrphanAllocations: {listed(survey.orphans_of_applications)}",
            succeeded=not survey.orphans_of_applications,
        ),
    ]


def _news(survey: Survey) -> list[Finding]:
    """Return the entries that are there only when they list something.

    Implements: HLT-20 (Ours).
    """
    entries = (
        (
            "Unconfirmed releases",
            "Check for allocations that a resource manager was told to end more than once",
            survey.unconfirmed,
        ),
        (
            "Waiting applications",
            "Check for applications that have had nothing to do for an hour",
            survey.waiting,
        ),
        (
            "Repeated evictions",
            "Check for asks and applications that preemption evicts again and again",
            survey.evicted,
        ),
    )
    return [
        Finding(name, description, f"{name}: {listed(texts)}")
        for name, description, texts in entries
        if texts
    ]


def _named(name: str, description: str, text: str, names: Sequence[str]) -> Finding:
    return Finding(name, description, f"{text}: {quoted(names)}", succeeded=not names)
