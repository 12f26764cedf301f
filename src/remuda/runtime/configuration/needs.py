"""What a resource manager needs of every configuration that is in force for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.findings import cut
from remuda.config.schema import Configuration
from remuda.config.validate import partition_name

# The key of ``buildInfo``; its value has names of partitions, with commas between them. What is
# empty between two commas is no name.
PARTITIONS: Final = "remuda/partitions"


def unmet(build_info: Mapping[str, str], configuration: Configuration) -> str:
    """Return why an RM cannot have a configuration, "" if it can.

    Implements: EXT-191. Rules: CFG-40.
    """
    present = {each.name for each in configuration.partitions}
    for written in build_info.get(PARTITIONS, "").split(","):
        name = written.strip()
        if name and partition_name(name) not in present:
            return f"there is no partition {cut(name)!r}, which the resource manager needs"
    return ""
