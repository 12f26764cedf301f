"""The line that tells what distinguishes two configurations."""

from __future__ import annotations

import pytest

from remuda.config.load import load_configuration
from remuda.config.schema import Configuration
from remuda.runtime.configuration.differences import summary


def tree(queues: str, name: str = "default", more: str = "") -> str:
    return f"{{name: {name}, {more} queues: [{{name: root, queues: [{queues}]}}]}}"


def configuration(*partitions: str) -> Configuration:
    return load_configuration(f"partitions: [{', '.join(partitions)}]")


OLD = configuration(tree("{name: a}, {name: p, queues: [{name: b}]}"))


@pytest.mark.parametrize(
    "new, line",
    [
        (OLD, "no setting changed"),
        (configuration(tree("{name: P, queues: [{name: b}]}, {name: a}")), "no setting changed"),
        (configuration(tree("{name: a}, {name: p, parent: true}")), "queues 1 left out"),
        (
            configuration(tree("{name: a, maxapplications: 1}, {name: p, queues: [{name: c}]}")),
            "queues 1 added, 1 changed, 1 left out",
        ),
        (
            configuration(tree("{name: b}, {name: p, queues: [{name: a}]}")),
            "queues 2 added, 2 left out",
        ),
        (
            configuration(
                tree(
                    "{name: a}, {name: p, queues: [{name: b}]}", more="preemption: {enabled: no},"
                ),
                tree("{name: a}", "gpu"),
            ),
            "partition gpu added; partition default changed; queues 2 added",
        ),
        (configuration(), "partition default left out; queues 4 left out"),
    ],
)
def test_summary(new: Configuration, line: str) -> None:
    assert summary(OLD, new) == line
