"""The page on versions says what the shim asks for and what the tests run on."""

from __future__ import annotations

from pathlib import Path

from remuda_kubernetes.doctor import releases, versions
from remuda_kubernetes.objects.kinds import LEASE, WATCHED
from remuda_kubernetes.testing import settings

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/kubernetes-versions.md"


def rows(title: str) -> list[list[str]]:
    """The cells of the table whose first column has a title."""
    _, _, rest = PAGE.read_text().partition(f"| {title} |")
    table = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_every_kind_that_is_read_is_on_the_page_with_its_versions() -> None:
    needed = versions.NEEDED
    assert rows("kind") == sorted(
        [
            [
                kind.name,
                kind.group or "core",
                ", ".join(kind.versions),
                "does not work" if kind in needed else "",
            ]
            for kind in (*WATCHED, LEASE)
        ],
        key=lambda row: row[0].lower(),
    )


def test_the_releases_are_those_that_the_doctor_knows() -> None:
    oldest, newest = releases.OLDEST, releases.NEWEST
    assert [row[:2] for row in rows("release")] == [
        [f"before 1.{oldest}", "not supported"],
        *([f"1.{each}", "tested"] for each in sorted(releases.TESTED)),
        [f"1.{max(releases.TESTED) + 1} to 1.{newest}", "expected to work"],
        [f"after 1.{newest}", "unknown"],
    ]
    assert (oldest, newest) == (settings.OLDEST, settings.NEWEST)
