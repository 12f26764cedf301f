"""Which labels of pods decide where other pods may run: only these part pods into classes."""

from __future__ import annotations

from typing import Final

from remuda_kubernetes.predicates.counts import Namespaces
from remuda_kubernetes.predicates.selection import Selector

# Namespaces, labels, topology key.
HeldTerm = tuple[Namespaces, Selector, str]

# Keys that anti-affinity terms commonly look at. Others join when such a term is seen.
COMMON_KEYS: Final = frozenset(
    {
        "app",
        "app.kubernetes.io/component",
        "app.kubernetes.io/name",
        "component",
        "k8s-app",
        "tier",
    }
)
_NONE: Final[dict[str, int]] = {}


class DecisiveKeys:
    """Keys of labels that anti-affinity terms look at, by the namespace of the looked-at pods.

    The terms of running pods and of classes count, so a key is forgotten with its last term.
    ``new``: keys that came to decide somewhere, since somebody looked.
    """

    def __init__(self) -> None:
        self.new: set[str] = set()
        # Namespace (None: all) -> key -> in how many terms it is.
        self._counts: dict[str | None, dict[str, int]] = {}

    def decides(self, namespace: str, key: str) -> bool:
        """Whether some term may look at a label of the pods of a namespace."""
        counts = self._counts
        return (
            key in COMMON_KEYS
            or key in counts.get(namespace, _NONE)
            or key in counts.get(None, _NONE)
        )

    def add(self, term: HeldTerm) -> None:
        """Count a term."""
        namespaces, selector, _ = term
        for key in set(selector.keys()):
            for name in _concerned(namespaces):
                if key not in COMMON_KEYS and key not in self._counts.get(name, _NONE):
                    self.new.add(key)
                counts = self._counts.setdefault(name, {})
                counts[key] = counts.get(key, 0) + 1

    def discard(self, term: HeldTerm) -> None:
        """Count a term no longer."""
        namespaces, selector, _ = term
        for key in set(selector.keys()):
            for name in _concerned(namespaces):
                counts = self._counts[name]
                counts[key] -= 1
                if not counts[key]:
                    del counts[key]
                if not counts:
                    del self._counts[name]


def _concerned(namespaces: Namespaces) -> tuple[str | None, ...]:
    """Return the namespaces in which a term may match pods; None stands for all."""
    return namespaces.names if namespaces.selector is None else (None,)
