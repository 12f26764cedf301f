"""A state that was written and read again behaves as the original does, and shares nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from random import Random

import pytest

from remuda.base.errors import SnapshotError
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from tests.long_runs import rotated, usual
from tests.package import PACKAGES, ROOT
from tests.reference.driver import apply, digest
from tests.reference.preemption_driver import ROUNDS, SECOND, Stage
from tests.reference.preemption_scenes import draw
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Input, record

SEEDS = range(1, 7)
HEADER = 4 + 4 + 16
WRITTEN = """
from tests.property.test_snapshots import original
print(original(2, 30).snapshot().hex())
"""

# Reads a state, and prints it again and what comes of it.
READ = """
import sys
from remuda.runtime.build import core_build
from tests.property.test_snapshots import gone_on
print(core_build(), *gone_on(bytes.fromhex(sys.stdin.read())))
"""


def original(seed: int, until: int) -> Scheduler:
    """A scheduler after that many inputs of a workload."""
    scheduler = Scheduler(refuse_some)
    for given in record(seed).inputs[:until]:
        apply(scheduler, given)
    return scheduler


def copy_of(scheduler: Scheduler) -> Scheduler:
    """Another scheduler with the same state."""
    copy = Scheduler(refuse_some)
    copy.restore(scheduler.snapshot())
    return copy


def outcome(scheduler: Scheduler, inputs: list[Input]) -> str:
    """The digest of everything that a scheduler does with these inputs."""
    return digest(effect for given in inputs for effect in apply(scheduler, given))


def moments(inputs: list[Input], rng: Random) -> list[int]:
    """Some numbers of inputs after which the state is copied."""
    return sorted(rng.sample(range(len(inputs)), 3))


def differences(seed: int) -> list[str]:
    """How copies made at three moments of a workload differ from the original, in any way."""
    inputs = record(seed).inputs
    scheduler = Scheduler(refuse_some)
    found: list[str] = []
    done = 0
    for moment in moments(inputs, Random(seed)):
        outcome(scheduler, inputs[done:moment])
        done = moment
        before = scheduler.snapshot()
        copy = copy_of(scheduler)
        if copy.snapshot() != before:
            found.append(f"{moment}: other bytes")
        copy.check()
        rest = outcome(copy, inputs[moment:])
        if scheduler.snapshot() != before:
            found.append(f"{moment}: the original changed")
        kept = Scheduler(refuse_some)
        outcome(kept, inputs[:moment])
        if rest != outcome(kept, inputs[moment:]):
            found.append(f"{moment}: other effects")
    return found


@pytest.mark.remuda_rule("EXT-40")
@pytest.mark.parametrize("seed", usual(SEEDS))
def test_a_copy_goes_on_as_the_original_and_changes_nothing_of_it(seed: int) -> None:
    assert differences(seed) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(5_000, 5_300)))
def test_many_copies_go_on_as_their_originals(seed: int) -> None:
    assert differences(seed) == []


class Copied(Stage):
    """A stage that goes on with a copy of its scheduler after each request and each decision."""

    def send(self, command: c.Command) -> list[e.Effect]:
        """One command."""
        effects = super().send(command)
        self.scheduler.restore(self.scheduler.snapshot())
        return effects

    def settle(self) -> list[e.Effect]:
        """Decide until nothing is left to decide now."""
        effects: list[e.Effect] = []
        for _ in range(ROUNDS):
            effects += self.scheduler.step(self.now * SECOND, 1)
            self.scheduler.restore(self.scheduler.snapshot())
            if not self.scheduler.has_work():
                return effects
        raise AssertionError("there is always something to decide")


@pytest.mark.remuda_rule("EXT-40")
@pytest.mark.parametrize("seed", usual(range(1, 25)))
def test_copies_preempt_whom_the_original_preempts(seed: int) -> None:
    sketch = draw(seed)
    stage, copied = Stage(sketch), Copied(sketch)
    for ask in sketch.asks:
        assert copied.want(ask) == stage.want(ask)


@pytest.mark.remuda_rule("EXT-40")
def test_a_snapshot_depends_neither_on_addresses_nor_on_hashes() -> None:
    here = original(2, 30).snapshot().hex()
    for hash_seed in ("0", "4711"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}",
        }
        there = subprocess.run(
            [sys.executable, "-c", WRITTEN],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        assert there.stdout.strip() == here


def gone_on(snapshot: bytes) -> tuple[str, str]:
    """What a state is when it was read, in hexadecimal, and a digest of what it does then."""
    copy = Scheduler(refuse_some)
    copy.restore(snapshot)
    again = copy.snapshot().hex()
    copy.check()
    return again, outcome(copy, record(2).inputs[30:])


@pytest.mark.skipif(core_build() == "interpreted", reason="only one build is installed")
@pytest.mark.remuda_rule("EXT-40")
def test_either_build_reads_the_snapshots_of_the_other() -> None:
    own = original(2, 30)
    snapshot = own.snapshot()
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    there = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        input=snapshot.hex(),
        check=True,
        capture_output=True,
        text=True,
    )
    build, again, rest = there.stdout.split()
    assert build == "interpreted"
    assert again == snapshot.hex()
    assert rest == outcome(own, record(2).inputs[30:])
    theirs = subprocess.run(
        [sys.executable, "-c", WRITTEN],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert gone_on(bytes.fromhex(theirs)) == (theirs, rest)


def refusals(damaged: list[bytes]) -> Iterator[str]:
    """What the reader says of bytes, "" if it takes them; it may raise nothing else."""
    for each in damaged:
        scheduler = Scheduler(refuse_some)
        try:
            scheduler.restore(each)
        except SnapshotError as error:
            yield str(error)
        else:
            yield ""


def one_line(said: str) -> bool:
    """Whether a person can read it as one line."""
    return 0 < len(said) < 120 and "\n" not in said


@pytest.mark.remuda_rule("EXT-40")
def test_every_beginning_of_a_snapshot_is_refused_in_one_line() -> None:
    whole = original(3, 40).snapshot()
    rng = Random(1)
    ends = [*range(0, 200, 2), *rng.sample(range(len(whole)), 50), len(whole) - 1]
    assert all(one_line(said) for said in refusals([whole[:end] for end in ends]))
    assert all(one_line(said) for said in refusals([whole + b"\0", b"", b"no snapshot"]))


@pytest.mark.remuda_rule("EXT-40")
def test_another_table_or_format_is_refused() -> None:
    whole = original(3, 40).snapshot()
    for place in range(4, HEADER):
        other = bytes([*whole[:place], whole[place] ^ 1, *whole[place + 1 :]])
        assert list(refusals([other])) == [
            "the snapshot was written by another version of Remuda; read it with that version"
        ]


def flipped(whole: bytes, rng: Random) -> bytes:
    """Some bytes changed: a bit, a byte, or four of them to a large or small number."""
    found = bytearray(whole)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(found) - 4)
        how = rng.randrange(4)
        if how == 0:
            found[place] ^= 1 << rng.randrange(8)
        elif how == 1:
            found[place] = rng.randrange(256)
        else:
            place -= place % 4
            number = rng.choice((0, 1, 2**31, 2**32 - 1)) if how == 2 else rng.randrange(5_000)
            found[place : place + 4] = number.to_bytes(4, "little")
    return bytes(found)


def sayings(seed: int, times: int) -> list[str]:
    """What the reader says of damaged snapshots; what it takes can be written again."""
    rng = Random(seed)
    whole = original(seed, 40).snapshot()
    found: list[str] = []
    for _ in range(times):
        scheduler = Scheduler(refuse_some)
        try:
            scheduler.restore(flipped(whole, rng))
        except SnapshotError as error:
            found.append(str(error))
            assert scheduler.snapshot() == Scheduler(refuse_some).snapshot()
        else:
            scheduler.snapshot()
    return found


@pytest.mark.remuda_rule("EXT-40")
@pytest.mark.parametrize("seed", [2, 4])
def test_damaged_snapshots_raise_nothing_but_their_own_error(seed: int) -> None:
    found = sayings(seed, 50)
    assert found
    assert all(map(one_line, found))


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(6_000, 6_100)))
def test_many_damaged_snapshots_raise_nothing_but_their_own_error(seed: int) -> None:
    assert all(map(one_line, sayings(seed, 300)))
