"""Metric families: names as the specification has them, and samples (rules: MET-2 to MET-4).

The client library appends ``_total`` to the name of every counter, while some names of the
specification are counters without it. Those are built as ``unknown`` here, and exposition.py
prints them as counters where the format allows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric

from remuda.base.duration import SECOND
from remuda.runtime.timings import BOUNDS_NS, HistogramView

_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_:]")

_TOTAL: Final = "_total"

_LIMITS: Final = (*[str(bound / SECOND) for bound in BOUNDS_NS], "+Inf")


def sanitised(name: str) -> str:
    """Return a queue's or resource's name as part of a metric's name. Rules: MET-3."""
    plain = _FOREIGN.sub("_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


class Families:
    """The families of one answer, in order; ``plain`` are the counters without ``_total``.

    Args:
        prefix: what all names begin with, before an underscore.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._found: dict[str, Metric] = {}
        self.plain: dict[str, Metric] = {}

    def all(self) -> Iterable[Metric]:
        """Return those whose type the library knows how to print."""
        return self._found.values()

    def gauge(self, name: str, text: str) -> Family:
        """Begin a gauge, or go on with one of that name."""
        return self._family(self._found, name, text, "gauge")

    def counter(self, name: str, text: str) -> Family:
        """Begin a counter whose name ends in ``_total``."""
        assert name.endswith(_TOTAL), name
        return self._family(self._found, name, text, "counter")

    def plain_counter(self, name: str, text: str) -> Family:
        """Begin a counter, or go on with one, whose name does not end so."""
        return self._family(self.plain, name, text, "unknown")

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
                metric.add_sample(f"{full}_bucket", {**labels, "le": limit}, count)
            metric.add_sample(f"{full}_count", labels, count)
            metric.add_sample(f"{full}_sum", labels, view.total_ns / SECOND)

    def _family(self, kind: dict[str, Metric], name: str, text: str, type_: str) -> Family:
        full = f"{self._prefix}_{name}"
        metric = kind.get(name)
        if metric is None:
            bare = full.removesuffix(_TOTAL) if type_ == "counter" else full
            metric = kind[name] = Metric(bare, text, type_)
        return Family(metric, full)


class Family:
    """One family that takes samples."""

    __slots__ = ("_metric", "_name")

    def __init__(self, metric: Metric, name: str) -> None:
        self._metric = metric
        self._name = name

    def add(self, value: float, **labels: str) -> None:
        """Add one series."""
        self._metric.add_sample(self._name, labels, value)


class Seen:
    """Which series had a value that is not 0 once: only those exist. Rules: MET-4."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()

    def exists(self, subject: str, series: str, value: float) -> bool:
        """Whether a series of a subject is shown with this value."""
        key = (subject, series)
        if value:
            self._keys.add(key)
        return key in self._keys

    def keep(self, subjects: Mapping[str, object]) -> None:
        """Forget the series of subjects that are gone. Rules: MET-33."""
        self._keys = {key for key in self._keys if not key[0] or key[0] in subjects}
