"""Names of tags and attributes that mean something to the scheduler (chapter 70 section 10).

All other tags are kept and shown, and have no meaning for the scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Tags of asks and existing allocations.
REQUIRED_NODE: Final = "yunikorn.apache.org/requiredNode"
CREATION_TIME: Final = "creationTime"
EXECUTION_TIMEOUT: Final = "remuda/executionTimeout"
PREDICATE_CLASS: Final = "remuda/predicateClass"
FOREIGN: Final = "foreign"
STATIC: Final = "static"

# Tags of applications; their names are compared without regard to case (SI-26).
STATEAWARE_DISABLE: Final = "application.stateaware.disable"
NODE_SORT_POLICY: Final = "node.sort.policy"
FORCE_CREATE: Final = "application.create.force"
RESOURCE_QUOTA: Final = "namespace.resourcequota"
RESOURCE_GUARANTEED: Final = "namespace.resourceguaranteed"
RESOURCE_MAX_APPS: Final = "namespace.resourcemaxapps"

# How long an application, or an ask, says that it will run: of applications that ended it is kept,
# so that forecasts know what such words are worth (EXT-120).
RUN_TIME: Final = "remuda/runTimeSeconds"

# Attributes of nodes.
INSTANCE_TYPE: Final = "si/instance-type"
NODE_PARTITION: Final = "si/node-partition"
READY: Final = "ready"


def application_tag(tags: Mapping[str, str], name: str) -> str:
    """Return an application tag, its name in any case, "" if absent.

    Implements: SI-26. Rules: PLC-34.
    """
    wanted = name.lower()
    for key in sorted(tags):
        if key.lower() == wanted:
            return tags[key]
    return ""
