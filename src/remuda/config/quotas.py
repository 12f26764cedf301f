"""The amounts of a queue tree: do they parse, and can what is promised be kept?

One walk checks and builds: a queue's own amounts, then each child with all below it, then the
sums of what the children were promised. "Fits" is the same as for limits at run time: a type
that the limit does not name is unlimited (RES-30).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.fits import is_zero
from remuda.base.message import message
from remuda.base.quantity import QuantityError, parse_quantity
from remuda.base.resource_text import printable
from remuda.base.resources import Resource, component_wise_min, sat
from remuda.config.bind import AmountsDraft, QueueDraft, TextAt
from remuda.config.findings import Findings
from remuda.config.schema import QueueConfig

# Resource types that the queues of one partition may name.
TYPES_LIMIT: Final = 256

_TYPES_SHOWN: Final = 8

_HINTS: Final = {
    "invalid quantity": "write a whole number and, if need be, a suffix such as G or Gi",
    "invalid suffix": "the suffixes are k M G T P E Ki Mi Gi Ti Pi Ei, and m for vcore only",
    "invalid quantity: overflow": "the result must be below 2^63",
}


@message
class _Level:
    """One queue during the walk.

    ``limit``: the smallest maximum per type on the path down to and including the queue;
    ``limit_above``: the same without the queue's own.
    """

    draft: QueueDraft
    path: str
    maximum: Resource | None
    guaranteed: Resource | None
    limit_above: Resource
    limit: Resource


class QuotaCheck:
    """Checks the amounts of one partition. Rules: CFG-70 to CFG-76."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._types: set[str] = set()
        self._types_reported = False

    def tree(self, root: QueueDraft) -> QueueConfig:
        """Check a whole tree and return its records."""
        return self._queue(root, "root", {})[0]

    def _queue(
        self, draft: QueueDraft, path: str, limit_above: Resource
    ) -> tuple[QueueConfig, Resource]:
        """Return the queue and the guaranteed amounts it asks of its parent (CFG-73, CFG-75)."""
        level = self._level(draft, path, limit_above)
        self._check_own(level)
        queues: list[QueueConfig] = []
        promised: dict[str, int] = {}
        for child in draft.queues:
            config, asked = self._queue(child, f"{path}.{child.name.lower()}", level.limit)
            queues.append(config)
            for name, value in asked.items():
                promised[name] = sat(promised.get(name, 0) + value)
        self._check_sums(level, promised)
        config = QueueConfig(
            name=draft.name.lower(),
            parent=draft.parent or bool(queues),
            maximum=level.maximum,
            guaranteed=level.guaranteed,
            properties=draft.properties,
            queues=tuple(queues),
        )
        own = level.guaranteed
        return config, promised if own is None or is_zero(own) else own

    def _level(self, draft: QueueDraft, path: str, limit_above: Resource) -> _Level:
        maximum = self._amounts(draft.maximum, path)
        return _Level(
            draft=draft,
            path=path,
            maximum=maximum,
            guaranteed=self._amounts(draft.guaranteed, path),
            limit_above=limit_above,
            limit=component_wise_min(limit_above, maximum) or {},
        )

    def _amounts(self, draft: AmountsDraft | None, path: str) -> dict[str, int] | None:
        """Return the amounts that parse, None if nothing was given. Rules: CFG-70, RES-9."""
        if draft is None or not draft.texts:
            return None
        amounts: dict[str, int] = {}
        for name, at in draft.texts.items():
            if not self._known(name, at):
                continue
            try:
                amounts[name] = parse_quantity(name, at.text)
            except QuantityError as error:
                text = f"{error} {at.text[:64]!r} for {name[:64]} of queue {path}"
                where = f"{at.path}.{name[:64]}"
                self._findings.add(at.node, where, "CFG-70", text, _hint(name, str(error)))
        return amounts

    def _known(self, name: str, at: TextAt) -> bool:
        """Whether a type is among those the partition may name; notes the first that is not."""
        self._types.add(name)
        if len(self._types) <= TYPES_LIMIT:
            return True
        if not self._types_reported:
            self._types_reported = True
            text = f"more than {TYPES_LIMIT} resource types in one partition"
            self._findings.add(at.node, at.path, "CFG-70", text, "remove some")
        return False

    def _check_own(self, level: _Level) -> None:
        """Check a queue's amounts against each other and the levels above. CFG-71, CFG-72."""
        maximum, guaranteed = level.maximum or {}, level.guaranteed or {}
        over = _excess(guaranteed, maximum)
        if over and level.draft.guaranteed:
            text = (
                f"guaranteed resource {_shown(guaranteed, over)} of queue {level.path}"
                f" is larger than maximum resource {_shown(maximum, over)}"
            )
            self._note(level.draft.guaranteed, "CFG-71", text, "lower guaranteed or raise max")
        over = _excess(maximum, level.limit_above)
        if over and level.draft.maximum:
            text = (
                f"maximum resource {_shown(maximum, over)} of queue {level.path} is larger than"
                f" maximum resource {_shown(level.limit_above, over)} of the queues above"
            )
            self._note(level.draft.maximum, "CFG-72", text, "lower it or raise max above")

    def _check_sums(self, level: _Level, promised: Resource) -> None:
        """Check what the children are promised. Rules: CFG-73, CFG-74."""
        guaranteed = level.guaranteed or {}
        draft = level.draft
        end = "of the children"
        over = _excess(promised, guaranteed)
        if over and draft.guaranteed:
            text = (
                f"guaranteed resource {_shown(guaranteed, over)} of queue {level.path} is"
                f" smaller than sum of guaranteed resources {_shown(promised, over)} {end}"
            )
            self._note(draft.guaranteed, "CFG-73", text, "lower theirs or raise this one")
        over = _excess(promised, level.limit)
        if over:
            text = (
                f"maximum resource {_shown(level.limit, over)} of queue {level.path} is"
                f" smaller than sum of guaranteed resources {_shown(promised, over)} {end}"
            )
            self._note(draft.maximum or draft, "CFG-74", text, "lower theirs or raise max")

    def _note(self, at: AmountsDraft | QueueDraft, rule: str, text: str, hint: str) -> None:
        self._findings.add(at.node, at.path, rule, text, hint)


def _excess(amounts: Resource, limit: Resource) -> list[str]:
    """Return the types whose amount does not fit the limit, sorted. Rules: RES-30."""
    return sorted(
        name for name, value in amounts.items() if name in limit and value > max(0, limit[name])
    )


def _shown(resource: Mapping[str, int], types: list[str]) -> str:
    """Print the first few of the types that are at fault."""
    return printable({name: resource[name] for name in types[:_TYPES_SHOWN]})


def _hint(name: str, error: str) -> str:
    if name == "cpu":
        return "processors are named vcore"
    return _HINTS[error]
