"""One world: a scheduler and its resource managers, round after round of faults and verdicts.

Each round lets faults happen while everybody works, heals them, and waits until the scheduler has
decided again and both sides agree on everything. What still differs then is evidence.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from remuda.runtime.build import core_build
from tools.chaos import faults
from tools.chaos.faults import KILLS, Fault, Plan
from tools.chaos.injection import Disk, Injector, small_disk
from tools.chaos.processes import GoneError, Relay, ResourceManager, Scheduler
from tools.chaos.resource_manager import Status
from tools.chaos.verdict import Size, differences, health, size

_PAUSE_SECONDS: Final = 0.1
# Lines of a log that go into a record.
_LOG_LINES: Final = 40


class Round(msgspec.Struct):
    """The faults of one round and the verdict after it.

    ``decided`` and ``converged``: seconds after the faults were healed, until every resource
    manager had a new task running, and until both sides agreed on everything. ``size``: of the
    scheduler. ``evidence``: what is wrong; empty if nothing is.
    """

    number: int
    faults: list[Fault]
    decided: float = 0.0
    converged: float = 0.0
    running: int = 0
    size: Size | None = None
    evidence: list[str] = []


class Record(msgspec.Struct):
    """Everything about one world. ``starts``: allocations that resource managers were told of."""

    seed: int
    build: str
    plan: Plan
    own_disk: bool
    rounds: list[Round] = []
    seconds: float = 0.0
    starts: int = 0
    log: list[str] = []

    @property
    def evidence(self) -> list[str]:
        """What is wrong, of all rounds."""
        return [text for each in self.rounds for text in each.evidence]

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return sum(fault.kind in KILLS for each in self.rounds for fault in each.faults)


class World:
    """The processes of one world. Use `open_world`."""

    def __init__(
        self, scheduler: Scheduler, managers: list[ResourceManager], injector: Injector
    ) -> None:
        self._scheduler = scheduler
        self._managers = managers
        self._injector = injector
        self._sizes: dict[int, Size] = {}
        self.starts = 0

    def play(self, number: int, drawn: list[Fault], bound: float) -> Round:
        """Let faults happen, heal them and judge.

        ``bound``: seconds that the verdict may take.
        """
        played = Round(number, drawn)
        try:
            for manager in self._managers:
                manager.tell("go")
            self._injector.play(drawn)
            self._injector.heal()
            healed = time.monotonic()
            for manager in self._managers:
                manager.tell("hold")
                manager.tell(f"probe probe-{number}")
            self._await(lambda: self._undecided(number), bound, played)
            played.decided = round(time.monotonic() - healed, 3)
            self._await(self._disagreements, bound, played)
            played.converged = round(time.monotonic() - healed, 3)
            played.running = sum(len(each.belief.running) for each in self._statuses())
            self._measure(played)
        except GoneError as error:
            played.evidence.append(str(error))
        return played

    def finish(self, bound: float) -> Round:
        """End everything: nothing must be left, and the scheduler ends in order."""
        played = Round(-1, [])

        def left() -> Iterator[str]:
            for manager in self._managers:
                manager.tell("finish")
            for manager, status in zip(self._managers, self._statuses(), strict=True):
                belief = status.belief
                yield from (
                    f"{manager.name}: {each} does not end"
                    for each in (*belief.applications, *belief.running, *belief.asks)
                )
            yield from self._disagreements()

        try:
            self._await(left, bound, played)
            self.starts = sum(each.belief.starts for each in self._statuses())
            code = self._scheduler.end(signal.SIGTERM)
            # A recording that lost its disk makes it end with 1.
            if code and not self._injector.recording_lost:
                played.evidence.append(f"exit code {code} after SIGTERM")
        except GoneError as error:
            played.evidence.append(str(error))
        return played

    def _await(self, faulty: Callable[[], Iterator[str]], bound: float, played: Round) -> None:
        """Wait until nothing is wrong any more; keep what is still wrong at the end as evidence.

        Raises: GoneError.
        """
        deadline = time.monotonic() + bound
        while True:
            late = time.monotonic() > deadline
            try:
                evidence = list(faulty())
            except GoneError as error:
                if not self._scheduler.running:
                    raise GoneError("the scheduler ended by itself") from None
                evidence = [str(error)]
            if not evidence:
                return
            if late:
                played.evidence += [f"after {bound:.0f} s: {text}" for text in evidence]
                raise GoneError("the round was given up")
            time.sleep(_PAUSE_SECONDS)

    def _statuses(self) -> list[Status]:
        return [manager.status() for manager in self._managers]

    def _undecided(self, number: int) -> Iterator[str]:
        """Yield the resource managers whose probe does not run yet. Raises: GoneError."""
        for manager, status in zip(self._managers, self._statuses(), strict=True):
            running = status.belief.running.values()
            if not any(task.application == f"probe-{number}" for task in running):
                way = "registered" if status.registered else "not registered"
                yield f"{manager.name}: nothing is decided; {way}; {'; '.join(status.losses[-2:])}"

    def _disagreements(self) -> Iterator[str]:
        """Yield everything on which the two sides differ, and what must not have happened."""
        for manager, status in zip(self._managers, self._statuses(), strict=True):
            yield from (f"{manager.name}: {text}" for text in status.belief.violations)
            if not status.registered:
                yield f"{manager.name}: not registered; {'; '.join(status.losses[-2:])}"
            yield from differences(manager.name, status.belief, self._scheduler)
        yield from health(self._scheduler, recording=not self._injector.recording_lost)

    def _measure(self, played: Round) -> None:
        """Compare the size of the scheduler with the first one of the same process."""
        pid = self._scheduler.pid
        played.size = now = size(pid)
        played.evidence += self._sizes.setdefault(pid, now).growth(now)


@contextmanager
def open_world(drawn: Plan, seed: int, folder: Path, disk: Disk) -> Iterator[World]:
    """Start the processes of a world, and end them whatever happens."""
    with ExitStack() as stack:
        relay = Relay(drawn.managers, folder)
        stack.callback(relay.end)
        kept = "disk-full" in drawn.kinds
        scheduler = Scheduler(folder, disk.folder, relay, kept=kept)
        scheduler.start()
        stack.callback(_kill, scheduler)
        managers: list[ResourceManager] = []
        for number, port in enumerate(relay.ports):
            traits = (drawn.bindings[number], drawn.ways[number], str(seed))
            manager = ResourceManager(number, port, folder, traits)
            manager.start()
            stack.callback(manager.end)
            managers.append(manager)
        scheduler.await_ready()
        yield World(scheduler, managers, Injector(scheduler, managers, relay, disk))


def _kill(scheduler: Scheduler) -> None:
    if scheduler.running:
        scheduler.end()


def run(
    seed: int,
    folder: Path,
    rounds: int,
    *,
    bound: float,
    only: tuple[str, ...] = (),
    proceed: Callable[[Record], bool] = lambda _: True,
) -> Record:
    """Run a world to its end, or until something is wrong, and write its record.

    ``proceed``: told after each round; False ends the world early. ``folder``: gets the record and,
    if something was wrong, the logs of the processes.
    """
    own = folder.resolve() / str(seed)
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    began = time.monotonic()
    drawn = faults.plan(seed, only)
    with small_disk(own / "disk") as disk:
        record = Record(seed, core_build(), drawn, disk.own)
        with open_world(drawn, seed, own, disk) as world:
            _play(record, world, rounds, bound, proceed)
        log = own / "scheduler.log"
        record.log = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if any("Traceback" in line for line in record.log):
        record.rounds[-1].evidence.append("the log of the scheduler has a traceback")
    record.log = record.log[-_LOG_LINES:] if record.evidence else []
    record.seconds = round(time.monotonic() - began, 1)
    content = msgspec.json.format(msgspec.json.encode(record))
    (folder / f"{seed}.json").write_bytes(content)
    if not record.evidence:
        with contextlib.suppress(OSError):
            shutil.rmtree(own)
    return record


def _play(
    record: Record, world: World, rounds: int, bound: float, proceed: Callable[[Record], bool]
) -> None:
    """Play the rounds of a world, and its end."""
    for number in range(rounds):
        record.rounds.append(
            world.play(number, faults.draw(record.plan, record.seed, number), bound)
        )
        if not proceed(record) or record.evidence:
            break
    if not record.evidence:
        record.rounds.append(world.finish(bound))
        record.starts = world.starts
