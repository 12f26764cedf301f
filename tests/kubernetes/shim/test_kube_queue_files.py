"""Queue files that the scheduler refuses, at the start and later, and what counts then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda_kubernetes.shim.effects import Reconfigure, Register
from tests.kubernetes.shim.world import QUEUES, World

BROKEN = "partitions: ["
LIMITED = QUEUES.replace("submitacl: '*'", "submitacl: '*'\n        maxapplications: 7")


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.node("n1")
    yield made
    made.close()


def given(world: World) -> list[str]:
    """The queue files that the scheduler was given, in order; filled by what follows."""
    files: list[str] = []
    do = world._do

    def note(effect: object) -> None:
        if isinstance(effect, Register | Reconfigure):
            files.append(effect.queues)
        do(effect)  # type: ignore[arg-type]

    world._do = note  # type: ignore[method-assign]
    return files


def test_without_a_valid_queue_file_nothing_is_scheduled_and_the_config_map_says_why(
    world: World,
) -> None:
    world.config({"queues.yaml": BROKEN})
    world.start()
    world.pod("p")
    world.run(seconds=60)
    assert world.where("p") == ""
    assert "No pod is scheduled until" in world.told("ConfigurationRefused")[0]
    world.config({"queues.yaml": QUEUES})
    world.run(seconds=11)
    assert world.where("p") == "n1"


def test_tries_to_register_become_rare(world: World) -> None:
    world.config({"queues.yaml": BROKEN})
    files = given(world)
    world.start()
    for _ in range(600):
        world.run(seconds=0.1)
    # At 0, 0.5, 1.5, 3.5, 7.5, 15.5 and then every 10 s.
    assert len(files) == 10


def test_a_scheduler_that_comes_back_gets_the_queue_file_that_counted(world: World) -> None:
    world.start()
    world.config({"queues.yaml": BROKEN})
    world.run()
    assert world.told("ConfigurationRefused")
    files = given(world)
    world.shim.lost()
    world.shim.register_again()
    world.run()
    assert files == [QUEUES]
    world.pod("p")
    world.run()
    assert world.where("p") == "n1"


def test_a_change_while_the_scheduler_is_away_counts_when_it_is_back(world: World) -> None:
    world.start()
    files = given(world)
    world.shim.lost()
    world.config({"queues.yaml": LIMITED})
    world.run()
    assert files == []
    world.shim.register_again()
    world.run()
    assert files == [LIMITED]
    assert not world.told("ConfigurationRefused")


def test_a_broken_change_while_the_scheduler_is_away_is_told_and_the_old_one_counts(
    world: World,
) -> None:
    world.start()
    files = given(world)
    world.shim.lost()
    world.config({"queues.yaml": BROKEN})
    world.shim.register_again()
    world.run(seconds=1)
    assert files == [BROKEN, QUEUES]
    assert "the configuration before it stays" in world.told("ConfigurationRefused")[0]
    world.pod("p")
    world.run()
    assert world.where("p") == "n1"


def test_a_change_during_the_registration_counts_after_it(world: World) -> None:
    world.start()
    world.shim.lost()
    world.shim.register_again()
    (register,) = [each for each in world.shim.take() if isinstance(each, Register)]
    world.config({"queues.yaml": LIMITED})
    assert world.shim.take() == []
    files = given(world)
    world._do(register)
    world.run()
    assert files == [QUEUES, LIMITED]


def test_a_refused_change_that_was_taken_back_is_no_change(world: World) -> None:
    world.start()
    world.config({"queues.yaml": BROKEN})
    world.run()
    files = given(world)
    world.config({"queues.yaml": QUEUES})
    world.run()
    assert files == []


def test_a_good_change_right_after_a_broken_one_counts(world: World) -> None:
    world.start()
    world.config({"queues.yaml": BROKEN})
    world.config({"queues.yaml": LIMITED})
    world.run()
    files = given(world)
    world.shim.lost()
    world.shim.register_again()
    world.run()
    assert files == [LIMITED]
