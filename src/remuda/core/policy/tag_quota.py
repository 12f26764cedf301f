"""Reads the limits of a queue from the tags of an application (rules: chapter 20 section 9).

The quota of a namespace reaches the core this way. Only queues that placement created use it.
"""

from __future__ import annotations

from typing import Final, final

from remuda.base.fits import strictly_greater_than_zero
from remuda.base.go_text import parse_uint64
from remuda.base.resource_text import ResourceTextError, parse_tag
from remuda.base.resources import Resource
from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.messages.commands import Tags
from remuda.core.messages.tags import (
    RESOURCE_GUARANTEED,
    RESOURCE_MAX_APPS,
    RESOURCE_QUOTA,
    application_tag,
)
from remuda.core.model.queues.queue import Queue

# How long the text of a resource in a tag may be; a thousand types need fewer characters.
TAG_LIMIT: Final = 65_536


@final
class TagQuota:
    """The limits in the tags of an application.

    ``maximum`` and ``guaranteed`` None, ``max_applications`` 0: the tag is absent or invalid.
    """

    __slots__ = ("guaranteed", "max_applications", "maximum")

    def __init__(self, tags: Tags) -> None:
        self.maximum = _resource(application_tag(tags, RESOURCE_QUOTA))
        self.guaranteed = _resource(application_tag(tags, RESOURCE_GUARANTEED))
        self.max_applications: int = parse_uint64(application_tag(tags, RESOURCE_MAX_APPS)) or 0

    def has_resources(self) -> bool:
        """Whether it replaces maximum and guarantee of the queue. Rules: PLC-83, PLC-85."""
        return self.maximum is not None or self.guaranteed is not None


def tag_quota(leaf: Queue, tags: Tags) -> TagQuota | None:
    """Read the limits in an application's tags, None if its leaf does not use tags.

    Implements: PLC-80, PLC-84 (Ours), PLC-85. Rules: PLC-81, PLC-82, SI-25, QUE-7.
    """
    if leaf.managed or leaf.path == RECOVERY_QUEUE:
        return None
    return TagQuota(tags)


def _resource(text: str) -> Resource | None:
    """Return the resource in a tag, None if the text is invalid.

    Implements: PLC-82. Rules: RES-10, RES-38.
    """
    if not text or len(text) > TAG_LIMIT:
        return None
    try:
        resource = parse_tag(text)
    except ResourceTextError:
        return None
    return resource if strictly_greater_than_zero(resource) else None
