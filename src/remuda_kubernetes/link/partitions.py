"""Whether a queue file has the partition in which all nodes and pods are.

For the scheduler a file without any partition, such as one that has comments only, is a valid one:
it takes all partitions away, with their nodes and applications.
"""

from __future__ import annotations

from typing import Final

from remuda.runtime.configuration.text import judge
from remuda_kubernetes.translation.findings import Finding
from remuda_kubernetes.translation.names import DEFAULT_PARTITION

QUEUE_FILE: Final = "queues.yaml"


def missing_partition(queues: str) -> Finding | None:
    """Return that a queue file without faults lacks the partition ``default``, None if not so.

    No text is the built-in file, which has it. What other faults a file has, the scheduler tells.

    Implements: EXT-177.
    """
    found = judge(queues.encode(), QUEUE_FILE).configuration
    if found is None or any(each.name == DEFAULT_PARTITION for each in found.partitions):
        return None
    return Finding(
        QUEUE_FILE,
        f"there is no partition {DEFAULT_PARTITION!r}, in which all nodes and pods are",
        f"name a partition {DEFAULT_PARTITION!r}; to have the built-in queues, leave the file out",
        error=True,
    )
