"""Reads what a scheduler exports at /ws/v1/metrics, with the parser of the client library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from prometheus_client.parser import text_string_to_metric_families

# Labels, sorted by name.
Labels: TypeAlias = tuple[tuple[str, str], ...]
Series: TypeAlias = tuple[str, Labels]


def series(name: str, **labels: str) -> Series:
    """What identifies one series."""
    return name, tuple(sorted(labels.items()))


def samples(text: str) -> Mapping[Series, float]:
    """All series with their values; it is an error if one is there twice.

    The parser renames counters whose name does not end in ``_total``, so it is not told of them.
    """
    found: dict[Series, float] = {}
    assert list(text_string_to_metric_families(text))
    lines = [line for line in text.split("\n") if not _is_counter(line)]
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            key = series(sample.name, **sample.labels)
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def _is_counter(line: str) -> bool:
    return line.startswith("# TYPE ") and line.endswith(" counter")


def exported_names(text: str) -> frozenset[str]:
    """The names that a dashboard or a rule may use, ``_bucket``, ``_count`` and ``_sum`` too."""
    return frozenset([name for name, _ in samples(text)])


def types(text: str) -> Mapping[str, str]:
    """The type of each metric, by the name in its TYPE line; each is declared once."""
    lines = [line.split(" ") for line in text.split("\n") if line.startswith("# TYPE ")]
    found = {name: kind for _, _, name, kind in lines}
    assert len(found) == len(lines), "a metric is declared twice"
    return found
