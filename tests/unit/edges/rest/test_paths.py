"""Correction of misspelled paths, which HTTP clients partly repair themselves."""

from __future__ import annotations

import pytest

from remuda.edges.rest.transport.paths import corrected

TEMPLATES = ["/ws/v1/partitions", "/ws/v1/partition/{partition}/queue/{queue}"]


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize(
    "path, right",
    [
        ("/ws/./v1/x/../partitions", "/ws/v1/partitions"),
        ("/../ws/v1/partitions/.", "/ws/v1/partitions"),
        ("/ws//V1/partition/A/./QUEUE/Root.B/", "/ws/v1/partition/A/queue/Root.B"),
        ("/ws/v1/partition//queue/root", None),
        ("/ws/v1/partitions/x", None),
        ("/", None),
        ("", None),
    ],
)
def test_corrected(path: str, right: str | None) -> None:
    assert corrected(path, TEMPLATES) == right


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize(
    "path, right", [("/ui", "/ui/"), ("/UI//", "/ui/"), ("//", "/"), ("", "/"), ("/uix", None)]
)
def test_a_path_that_ends_with_a_slash_is_not_corrected_to_one_without(
    path: str, right: str | None
) -> None:
    assert corrected(path, ["/", "/ui/"]) == right
