"""Quantities, by the documentation of Kubernetes."""

from __future__ import annotations

import pytest

from remuda_kubernetes.objects.quantities import amount, whole
from remuda_kubernetes.objects.values import ObjectError


@pytest.mark.parametrize(
    "suffix, factor",
    [
        ("", 1),
        ("k", 1000),
        ("M", 1000**2),
        ("G", 1000**3),
        ("T", 1000**4),
        ("P", 1000**5),
        ("E", 1000**6),
        ("Ki", 1024),
        ("Mi", 1024**2),
        ("Gi", 1024**3),
        ("Ti", 1024**4),
        ("Pi", 1024**5),
        ("Ei", 1024**6),
    ],
)
def test_every_suffix_counts(suffix: str, factor: int) -> None:
    assert whole(f"3{suffix}") == 3 * factor


@pytest.mark.parametrize("suffix, parts", [("m", 1000), ("u", 10**6), ("n", 10**9)])
def test_parts_are_rounded_up(suffix: str, parts: int) -> None:
    assert whole(f"{2 * parts}{suffix}") == 2
    assert whole(f"{parts + 1}{suffix}") == 2


def test_cpu_counts_thousandths() -> None:
    assert amount("cpu", "1.5") == 1500
    assert amount("cpu", "250m") == 250


@pytest.mark.parametrize("text", ["1K", "1ki", "1Zi", "1 Gi", "Gi", ""])
def test_other_suffixes_are_refused(text: str) -> None:
    with pytest.raises(ObjectError):
        whole(text)
