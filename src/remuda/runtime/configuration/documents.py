"""The configuration documents that the operator stores (RM-4, RM-5).

Resource managers that send no configuration of their own share the document of their policy group.
A group without a document uses the default: the file that the service was started with, or else the
built-in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from remuda.base.message import message
from remuda.config.schema import Configuration, built_in

# The most policy groups with a document of their own; each may be as long as a configuration.
DOCUMENTS_LIMIT: Final = 64


@message
class Document:
    """A stored document; ``extra_config`` is the extra map given together with it (EXT-24)."""

    configuration: Configuration
    extra_config: Mapping[str, str] = field(default_factory=dict)


class StoredDocuments:
    """The documents by policy group, with a default for groups that have none of their own.

    Any thread may read; only the core thread changes documents, after they are in force (SI-88).
    Rules: RM-4, RM-5, CFG-2.
    """

    def __init__(self, default: Configuration | None = None) -> None:
        self._default = Document(built_in() if default is None else default)
        self._own: Mapping[str, Document] = {}

    @property
    def default(self) -> Configuration:
        """The configuration of groups without a document of their own."""
        return self._default.configuration

    def groups(self) -> tuple[str, ...]:
        """The groups that have a document of their own, sorted."""
        return tuple(sorted(self._own))

    def find(self, policy_group: str) -> Document:
        """Return the document in force for a group."""
        return self._own.get(policy_group, self._default)

    def replace_default(self, configuration: Configuration) -> None:
        """Replace the default. Core thread."""
        self._default = Document(configuration)

    def replace(self, policy_group: str, document: Document | None) -> None:
        """Give a group a document of its own; None takes it away. Core thread."""
        own = {group: kept for group, kept in self._own.items() if group != policy_group}
        if document is not None:
            own[policy_group] = document
        self._own = own
