"""The two text formats of metrics: that of Prometheus (0.0.4), and OpenMetrics (1.0.0).

This module replaces a library that serving would need otherwise, for two pages of code. The tests
read the output with the parsers of Prometheus' own library. In OpenMetrics the name of each counter
ends in ``_total``, and the name of its family has no such end. A counter with another name, or with
the family name of a gauge, is ``unknown`` there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

TOTAL: Final = "_total"

# Types of families: a counter of both formats, and one that OpenMetrics does not take for one.
COUNTER: Final = "counter"
PLAIN_COUNTER: Final = "unknown"

_PLAIN_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS: Final = "application/openmetrics-text"
_OPENMETRICS_TYPE: Final = f"{_OPENMETRICS}; version=1.0.0; charset=utf-8"

# Characters of an Accept header that are looked at.
_ACCEPT_LIMIT: Final = 2_000


class Sample(NamedTuple):
    """One number of one series."""

    name: str
    labels: Mapping[str, str]
    value: float


class Metric:
    """A family: its full name, what it means, its type, and its samples in order."""

    __slots__ = ("kind", "meaning", "name", "samples")

    def __init__(self, name: str, meaning: str, kind: str) -> None:
        self.name = name
        self.meaning = meaning
        self.kind = kind
        self.samples: list[Sample] = []

    def add(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Add one sample; its name is the family's, or that and a suffix."""
        self.samples.append(Sample(name, labels, value))


# Prints families.
Printer: TypeAlias = Callable[[Iterable[Metric]], bytes]


def plain_text(metrics: Iterable[Metric]) -> bytes:
    """Print families in the format of Prometheus, version 0.0.4."""
    lines: list[str] = []
    for metric in metrics:
        meaning = metric.meaning.replace("\\", r"\\").replace("\n", r"\n")
        kind = COUNTER if metric.kind == PLAIN_COUNTER else metric.kind
        lines.append(f"# HELP {metric.name} {meaning}\n# TYPE {metric.name} {kind}\n")
        lines.extend(map(_line, metric.samples))
    return "".join(lines).encode()


def open_metrics(metrics: Iterable[Metric]) -> bytes:
    """Print families as OpenMetrics, version 1.0.0."""
    lines: list[str] = []
    for metric in metrics:
        kind = metric.kind
        name = metric.name.removesuffix(TOTAL) if kind == COUNTER else metric.name
        lines.append(f"# HELP {name} {_escaped(metric.meaning)}\n# TYPE {name} {kind}\n")
        lines.extend(map(_line, metric.samples))
    lines.append("# EOF\n")
    return "".join(lines).encode()


def preferred(accept: str) -> tuple[Printer, str]:
    """Return the printer of the format that an Accept header prefers, and its content type.

    If the header is unclear, that is the format of Prometheus. Rules: REST-46.
    """
    for part in accept[:_ACCEPT_LIMIT].split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        if kind == _OPENMETRICS and _is_known(parameters):
            return open_metrics, _OPENMETRICS_TYPE
        if kind == "text/plain":
            break
    return plain_text, _PLAIN_TYPE


def _is_known(parameters: Iterable[str]) -> bool:
    """Whether a client reads version 1 of OpenMetrics; it does if it names no version."""
    for each in parameters:
        key, _, value = each.partition("=")
        if key == "version":
            return value.partition(".")[0].isdecimal() and not value.startswith("0")
    return True


def _line(sample: Sample) -> str:
    labels = ",".join(
        [f'{name}="{_escaped(text)}"' for name, text in sorted(sample.labels.items())]
    )
    shown = f"{{{labels}}}" if labels else ""
    return f"{sample.name}{shown} {_number(sample.value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    """Return a number as both formats read it."""
    number = float(value)
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
