"""Configurations that share what they say alike."""

from __future__ import annotations

import random
from collections.abc import Iterator

from remuda.config.load import load_configuration
from remuda.config.schema import Configuration, QueueConfig
from remuda.config.sharing import share
from tests.reference import configurations

TEXT = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {guaranteed: {vcore: 1}, max: {vcore: 4, memory: 8Gi}}
            queues:
              - name: x
                limits: [{limit: all, users: ["*"], maxapplications: 3}]
              - name: y
          - name: b
            properties: {application.sort.policy: fair}
            resources: {max: {vcore: 4}}
  - name: gpu
    queues:
      - name: root
        queues:
          - name: a
"""


def queues(config: Configuration) -> dict[str, QueueConfig]:
    """All queues of the first partition, by path."""

    def below(queue: QueueConfig, path: str) -> Iterator[tuple[str, QueueConfig]]:
        yield path, queue
        for child in queue.queues:
            yield from below(child, f"{path}.{child.name}")

    return dict(below(config.partitions[0].root, "root"))


def changed(old: str, new: str) -> tuple[Configuration, Configuration]:
    """The text's configuration, and what shares with it after a change of the text."""
    assert TEXT.count(old) == 1
    known, other = load_configuration(TEXT), load_configuration(TEXT.replace(old, new))
    found = share(other, known)
    assert found == other
    assert (found.checksum, found.text) == (other.checksum, other.text)
    return known, found


def test_what_is_equal_is_the_same() -> None:
    known, found = changed("max: {vcore: 4}", "max: {vcore: 5}")
    before, after = queues(known), queues(found)
    same = [path for path in after if after[path] is before[path]]
    assert same == ["root.a", "root.a.x", "root.a.y"]
    assert after["root.b"].properties is before["root.b"].properties
    assert found.partitions[1] is known.partitions[1]


def test_a_change_below_is_a_change_above() -> None:
    known, found = changed("maxapplications: 3", "maxapplications: 4")
    before, after = queues(known), queues(found)
    assert [path for path in after if after[path] is before[path]] == ["root.a.y", "root.b"]
    assert after["root.a"].maximum is before["root.a"].maximum


def test_a_queue_may_be_replaced() -> None:
    known, found = changed("              - name: y\n", "              - name: z\n")
    before, after = queues(known), queues(found)
    assert list(after) == ["root", "root.a", "root.a.x", "root.a.z", "root.b"]
    assert after["root.a.x"] is before["root.a.x"]
    assert after["root.b"] is before["root.b"]


def test_a_queue_that_comes_leaves_the_others_shared() -> None:
    known, found = changed(
        "                limits:", "              - name: w\n                limits:"
    )
    assert queues(found)["root.a.y"] is queues(known)["root.a.y"]


def test_the_same_text_again_shares_all() -> None:
    known = load_configuration(TEXT)
    found = share(load_configuration(TEXT), known)
    assert all(new is old for new, old in zip(found.partitions, known.partitions, strict=True))


def test_random_changes_lose_nothing() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        known = configurations.draw(rng)
        other = configurations.changed(rng, known)
        assert share(other, known) == other
        assert share(known, other) == known
