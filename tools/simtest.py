"""Runs the simulation with faults for as long as it may, and keeps what it finds.

    python -m tools.simtest --budget 8h --workers 2 --seed 1000000

Each seed is a world of its own: a core, one or two resource managers, and everything that goes
wrong between them (tests/simulation/faults). The next start goes on behind the last seed. Of a seed
that fails two texts are kept: the shortest script that still fails in the same place, and what
happened in it.

    python -m tools.simtest --replay build/simtest/seed-1000017.script

A script that is put into tests/simulation/scripts is run by the tests from then on.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.faults.script import read
from tests.simulation.faults.world import WorldError, failing, run
from tools.long_runs import seconds, write

_FOLDER: Final = Path("build/simtest")
_STATE: Final = "state.json"
# Seeds that a worker takes at a time.
_CHUNK: Final = 10


class State(msgspec.Struct):
    """What was done so far. ``next``: the first seed that is not done yet."""

    next: int = 0
    worlds: int = 0
    inputs: int = 0
    checks: int = 0
    seconds: float = 0.0
    failed: list[int] = []

    def line(self) -> str:
        """Return it in a line for people."""
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.worlds:,} worlds, {self.inputs:,} inputs, {self.checks:,} checks,"
            f" {self.seconds:,.0f} s of processor time, {rate:,.0f} inputs/s;"
            f" {len(self.failed)} failed"
        )


class Outcome(msgspec.Struct):
    """What some seeds came to. ``found``: by seed, the text and the script of a failure."""

    counts: dict[str, int]
    seconds: float
    found: dict[int, tuple[str, str]]


def work(seeds: range, checked: int, budget: float) -> Outcome:
    """Run some seeds, in a process of its own; ``budget``: seconds to shorten one that fails."""
    counts: Counter[str] = Counter()
    found: dict[int, tuple[str, str]] = {}
    began = time.process_time()
    for seed in seeds:
        try:
            counts.update(run(seed, gangs=True, checked=checked, budget=budget))
        except WorldError as fault:
            found[seed] = (str(fault), fault.script)
    return Outcome(dict(counts), time.process_time() - began, found)


def main(arguments: list[str] | None = None) -> int:
    """Run until the budget is spent; 1 if a seed failed, now or in an earlier run."""
    options = _options(arguments)
    if options.replay is not None:
        return replay(options.replay)
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        seeds = range(options.only, options.only + 1)
        outcome = work(seeds, options.check_every, options.shrink)
        _keep(outcome, folder)
        texts = [text for text, _ in outcome.found.values()]
        print("\n".join(texts) or f"seed {options.only}: no fault")
        return 1 if outcome.found else 0
    file = folder / _STATE
    state = msgspec.json.decode(file.read_bytes(), type=State) if file.exists() else State()
    if options.seed is not None:
        state.next = max(state.next, options.seed)
    print(f"simtest: from seed {state.next:,}; {folder} has the state and what was found")
    deadline = time.monotonic() + options.budget
    for seeds, outcome in _outcomes(state, deadline, options):
        _take(state, seeds, outcome, folder)
        write(file, msgspec.json.format(msgspec.json.encode(state)))
        end = "" if sys.stdout.isatty() else "\n"
        print(f"\r{state.line()}", end=end, flush=True)
    print()
    return 1 if state.failed else 0


def replay(file: Path) -> int:
    """Run the world of a script; 1 if it fails."""
    try:
        finding = failing(read(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, LookupError) as error:
        print(f"simtest: {file} is no script of a world: {error}")
        return 2
    print(f"{file}: {finding.place}\n\n{finding.text}" if finding else f"{file}: no fault")
    return 1 if finding else 0


def _outcomes(
    state: State, deadline: float, options: argparse.Namespace
) -> Iterator[tuple[range, Outcome]]:
    """Yield what chunks of seeds came to, until the time is over."""
    workers: int = options.workers
    with ProcessPoolExecutor(workers) as pool:
        running: dict[Future[Outcome], range] = {}
        following = state.next
        while running or time.monotonic() < deadline:
            while len(running) < workers and time.monotonic() < deadline:
                seeds = range(following, following + _CHUNK)
                following = seeds.stop
                running[pool.submit(work, seeds, options.check_every, options.shrink)] = seeds
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                seeds = running.pop(future)
                state.next = min([each.start for each in running.values()], default=following)
                yield seeds, future.result()


def _take(state: State, seeds: range, outcome: Outcome, folder: Path) -> None:
    """Add what some seeds came to, and keep what was found."""
    state.worlds += len(seeds)
    state.inputs += outcome.counts.get("input", 0)
    state.checks += outcome.counts.get("check", 0)
    state.seconds += outcome.seconds
    state.failed += outcome.found
    _keep(outcome, folder)


def _keep(outcome: Outcome, folder: Path) -> None:
    """Write down what was found, and how to repeat it."""
    for seed, (text, script) in outcome.found.items():
        file = folder / f"seed-{seed}.script"
        write(file, script.encode())
        again = f"python -m tools.simtest --replay {file}"
        write(folder / f"seed-{seed}.txt", f"{again}\n\n{text}\n".encode())


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.simtest", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--budget", type=seconds, default="5m", help="for how long: 30s, 8h")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, help="the first seed, unless later ones were run")
    parser.add_argument("--only", type=int, metavar="SEED", help="run this seed alone")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run the world of this script")
    parser.add_argument(
        "--shrink",
        type=seconds,
        default="60s",
        help="processor time to shorten a world that fails: 10s, 5m",
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help=f"default: {_FOLDER}")
    parser.add_argument(
        "--check-every",
        type=int,
        default=0,
        metavar="N",
        help="check everything after so many inputs; 0: after each what it may have changed",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
