"""A queue while it is judged: its draft, the results so far, and at the end its record.

Each check of section 6 walks the tree on its own, in the order of section 6.8, and leaves what
later ones and the record need.
"""

from __future__ import annotations

from weakref import ref

from remuda.config.access import NOBODY
from remuda.config.amounts import NOT_GIVEN, AmountReader, Amounts
from remuda.config.drafts import LimitDraft, QueueDraft
from remuda.config.schema import AccessList, LimitConfig, QueueConfig, TemplateConfig


class QueueCandidate:
    """One queue. ``level``: 0 for root; ``name`` and ``path`` are lower case.

    The path is put together when a problem needs it: under long names, the paths of all queues
    would take hundreds of megabytes.

    ``limits`` and ``limit_drafts`` are of the same length; the drafts of root may be those of the
    partition (CFG-47). ``open_below``: a user may submit to it or to a queue below it.
    """

    __slots__ = (
        "__weakref__",
        "_above",
        "_by_name",
        "admin",
        "children",
        "draft",
        "guaranteed",
        "level",
        "limit_drafts",
        "limits",
        "maximum",
        "name",
        "open_below",
        "submit",
        "template",
    )

    def __init__(
        self, draft: QueueDraft, above: QueueCandidate | None, amounts: AmountReader
    ) -> None:
        # Weak, because otherwise each configuration would stay until garbage collection.
        self._above = None if above is None else ref(above)
        self.draft = draft
        self.name = draft.name.lower()
        self.level: int = 0 if above is None else above.level + 1
        self.maximum: Amounts = NOT_GIVEN
        self.guaranteed: Amounts = NOT_GIVEN
        if draft.maximum is not None:
            self.maximum = amounts.read(draft.maximum, self.title)
        if draft.guaranteed is not None:
            self.guaranteed = amounts.read(draft.guaranteed, self.title)
        self.children = [QueueCandidate(child, self, amounts) for child in draft.queues]
        self.admin: AccessList = NOBODY
        self.submit: AccessList = NOBODY
        self.template: TemplateConfig | None = None
        self.limit_drafts: tuple[LimitDraft, ...] = draft.limits
        self.limits: tuple[LimitConfig, ...] = ()
        self.open_below = False
        self._by_name: dict[str, QueueCandidate] | None = None

    @property
    def path(self) -> str:
        """The names from root down to it, with dots between."""
        above = None if self._above is None else self._above()
        return self.name if above is None else f"{above.path}.{self.name}"

    def title(self) -> str:
        """Return how problems name it."""
        return f"queue {self.path}"

    @property
    def parent(self) -> bool:
        """Whether it is written as a parent or has queues. Implements: CFG-46."""
        return self.draft.parent or bool(self.children)

    def child(self, name: str) -> QueueCandidate | None:
        """Return a child by its lower case name."""
        if self._by_name is None:
            self._by_name = {child.name: child for child in reversed(self.children)}
        return self._by_name.get(name)

    def record(self) -> QueueConfig:
        """Return the record of the queue, once it has no errors."""
        return QueueConfig(
            name=self.name,
            parent=self.parent,
            maximum=self.maximum.values,
            guaranteed=self.guaranteed.values,
            properties=self.draft.properties,
            queues=tuple([child.record() for child in self.children]),
            max_applications=self.draft.max_applications,
            admin_acl=self.admin,
            submit_acl=self.submit,
            template=self.template,
            limits=self.limits,
        )
