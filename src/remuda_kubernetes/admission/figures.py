"""Counts and latencies of reviews, as metrics. Only the loop writes; a scrape reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from remuda_kubernetes.admission.reviews import CREATE, UPDATE, Answer, Request
from remuda_kubernetes.admission.templates import TEMPLATES
from remuda_kubernetes.figures import Histogram

_PREFIX: Final = "remuda_admission"
# Everybody who reaches the listener may send other words.
_KINDS: Final = frozenset({"Pod", "ConfigMap", *(kind for _, kind in TEMPLATES)})
_OPERATIONS: Final = frozenset({CREATE, UPDATE})
_OTHER: Final = "other"


class Figures(Collector):
    """What was answered.

    ``invalid``: requests that are no reviews, by HTTP status. ``ends``: when the certificate in use
    ends, in Unix seconds, 0 if there is none.
    """

    def __init__(self) -> None:
        self.answers: Final[dict[tuple[str, str, str], int]] = {}
        self.seconds: Final = Histogram()
        self.invalid: Final[dict[str, int]] = {}
        self.leads = False
        self.registered = False
        self.ends = 0.0
        self._registry: Final = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def answered(self, request: Request, answer: Answer, seconds: float) -> None:
        """Count one answer."""
        kind = request.kind.kind if request.kind.kind in _KINDS else _OTHER
        operation = request.operation if request.operation in _OPERATIONS else _OTHER
        result = ("patched" if answer.patch else "allowed") if answer.allowed else "refused"
        key = (kind, operation.lower(), result)
        self.answers[key] = self.answers.get(key, 0) + 1
        self.seconds.observe(seconds)

    def unanswered(self, status: int) -> None:
        """Count a request that is no review, or could not be answered."""
        self.invalid[str(status)] = self.invalid.get(str(status), 0) + 1

    def text(self) -> str:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self._registry).decode()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        answers = CounterMetricFamily(
            f"{_PREFIX}_reviews",
            "Reviews that were answered.",
            labels=["kind", "operation", "result"],
        )
        for labels, count in sorted(self.answers.items()):
            answers.add_metric(labels, count)
        yield answers
        yield HistogramMetricFamily(
            f"{_PREFIX}_review_seconds",
            "From the beginning of a request to its answer.",
            buckets=self.seconds.buckets(),
            sum_value=self.seconds.sum,
        )
        invalid = CounterMetricFamily(
            f"{_PREFIX}_invalid", "Requests without an answer to a review.", labels=["status"]
        )
        for status, count in sorted(self.invalid.items()):
            invalid.add_metric([status], count)
        yield invalid
        for name, meaning, value in (
            ("leads", "Whether this replica writes certificate and registration.", self.leads),
            ("registered", "Whether the API server asks and trusts us.", self.registered),
            ("certificate_end_seconds", "When the certificate in use ends.", self.ends),
        ):
            yield GaugeMetricFamily(f"{_PREFIX}_{name}", meaning, value=float(value))
