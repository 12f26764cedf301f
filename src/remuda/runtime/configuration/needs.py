"""What a resource manager needs of every configuration that is in force for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.findings import cut
from remuda.config.schema import Configuration

# The key of ``buildInfo``; its value has names of partitions, with commas between them.
PARTITIONS: Final = "remuda/partitions"


def unmet(build_info: Mapping[str, str], configuration: Configuration) -> str:
    """Return why an RM cannot have a configuration, "" if it can.

    Implements: EXT-191.
    """
    named = build_info.get(PARTITIONS)
    if not named:
        return ""
    present = {each.name for each in configuration.partitions}
    for name in named.split(","):
        if name.strip() not in present:
            return f"there is no partition {cut(name.strip())!r}, which the resource manager needs"
    return ""
