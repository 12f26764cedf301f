"""Metric families: names as in the specification, and samples (chapter 97 section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from remuda.base.duration import SECOND
from remuda.runtime.timings import BOUNDS_NS, HistogramView
from remuda.telemetry.metrics.text import COUNTER, PLAIN_COUNTER, TOTAL, Metric

_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_:]")

_LIMITS: Final = (*[str(bound / SECOND) for bound in BOUNDS_NS], "+Inf")


def sanitised(name: str) -> str:
    """Return a queue's or resource's name as part of a metric's name. Implements: MET-3."""
    plain = _FOREIGN.sub("_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


class Families:
    """The families of one answer, in order; those begun by ``plain_counter`` are the last ones.

    Args:
        prefix: what all names begin with, before an underscore.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._found: dict[str, Metric] = {}
        self._plain: dict[str, Metric] = {}

    def all(self) -> Iterable[Metric]:
        """Return all families."""
        return (*self._found.values(), *self._plain.values())

    def gauge(self, name: str, text: str) -> Family:
        """Begin a gauge, or go on with one of that name."""
        return self._family(self._found, name, text, "gauge")

    def counter(self, name: str, text: str) -> Family:
        """Begin a counter whose name ends in ``_total``."""
        assert name.endswith(TOTAL), name
        return self._family(self._found, name, text, COUNTER)

    def plain_counter(self, name: str, text: str) -> Family:
        """Begin a counter, or go on with one, whose name does not end in ``_total``."""
        return self._family(self._plain, name, text, PLAIN_COUNTER)

    def histogram(
        self, name: str, text: str, views: Mapping[str, HistogramView], label: str = ""
    ) -> None:
        """Add a histogram of seconds with a series per label value; "" for one without label."""
        full = f"{self._prefix}_{name}"
        metric = self._found[name] = Metric(full, text, "histogram")
        for value, view in views.items():
            labels = {label: value} if label else {}
            count = 0
            for limit, each in zip(_LIMITS, view.counts, strict=True):
                count += each
                metric.add(f"{full}_bucket", {**labels, "le": limit}, count)
            metric.add(f"{full}_count", labels, count)
            metric.add(f"{full}_sum", labels, view.total_ns / SECOND)

    def _family(self, kind: dict[str, Metric], name: str, text: str, type_: str) -> Family:
        full = f"{self._prefix}_{name}"
        metric = kind.get(name)
        if metric is None:
            metric = kind[name] = Metric(full, text, type_)
        return Family(metric, full)


class Family:
    """One family that takes samples."""

    __slots__ = ("_metric", "_name")

    def __init__(self, metric: Metric, name: str) -> None:
        self._metric = metric
        self._name = name

    def add(self, value: float, **labels: str) -> None:
        """Add one series."""
        self._metric.add(self._name, labels, value)


class Seen:
    """The series that had a value other than 0 at least once; only these are printed.

    Implements: MET-4.
    """

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()

    def exists(self, subject: str, series: str, value: float) -> bool:
        """Whether a series of a subject is shown with this value."""
        key = (subject, series)
        if value:
            self._keys.add(key)
        return key in self._keys

    def keep(self, subjects: Mapping[str, object]) -> None:
        """Forget the series of subjects that are gone. Implements: MET-33."""
        self._keys = {key for key in self._keys if not key[0] or key[0] in subjects}
