"""Runs a scheduler and resource managers as processes, and breaks everything around them.

    python -m tools.chaos --budget 10m --seed 1

Each seed is a world: `remuda serve`, two to four resource managers and a relay between them. In
each round processes are killed or stopped, wires are cut, disks are full. Then all is healed, and
both sides have to agree again on everything that runs. `build/chaos/SEED.json` says what happened,
and the folder beside it has the logs if something was wrong. The scheduler is the one that Python
finds: PYTHONPATH=build/compiled takes the compiled one.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from tools.chaos.faults import KINDS
from tools.chaos.world import Record, run
from tools.long_runs import seconds

_FOLDER: Final = Path("build/chaos")
_BAR: Final = 24


class Times(msgspec.Struct, frozen=True):
    """How long something took after the faults of a round were healed, in seconds."""

    median: float = 0.0
    longest: float = 0.0


class Summary(msgspec.Struct):
    """What all worlds came to. ``failed``: what was wrong, by seed."""

    build: str = ""
    worlds: int = 0
    rounds: int = 0
    kills: int = 0
    starts: int = 0
    seconds: float = 0.0
    faults: dict[str, int] = {}
    decided: Times = Times()
    converged: Times = Times()
    failed: dict[int, list[str]] = {}


def main(arguments: list[str] | None = None) -> int:
    """Run worlds until the budget is spent; 1 if something was wrong in one."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    deadline = time.monotonic() + options.budget
    records: list[Record] = []

    def proceed(record: Record) -> bool:
        _show(options, [*records, record], deadline)
        return bool(time.monotonic() < deadline)

    seed = options.seed
    while time.monotonic() < deadline:
        only = tuple(options.only.split(",")) if options.only else ()
        records.append(
            run(
                seed,
                options.folder,
                options.rounds,
                bound=options.bound,
                only=only,
                proceed=proceed,
            )
        )
        seed += 1
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    summary = summarise(records)
    if options.output == "json":
        print(msgspec.json.encode(summary).decode())
    else:
        print(table(summary, options.folder))
    return 1 if summary.failed else 0


def summarise(records: list[Record]) -> Summary:
    """Add up what worlds came to."""
    rounds = [each for record in records for each in record.rounds if each.number >= 0]
    passed = [each for each in rounds if not each.evidence]
    kinds = Counter(fault.kind for each in rounds for fault in each.faults)
    return Summary(
        build=records[0].build if records else "",
        worlds=len(records),
        rounds=len(rounds),
        kills=sum(record.kills for record in records),
        starts=sum(record.starts for record in records),
        seconds=round(sum(record.seconds for record in records), 1),
        faults={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        decided=_times_of([each.decided for each in passed]),
        converged=_times_of([each.converged for each in passed]),
        failed={record.seed: record.evidence for record in records if record.evidence},
    )


def _times_of(seconds: list[float]) -> Times:
    return Times(round(median(seconds), 2), round(max(seconds), 2)) if seconds else Times()


def table(summary: Summary, folder: Path) -> str:
    """Return what all worlds came to, for people."""
    lines = [f"{kind:<16} {count:>6}" for kind, count in summary.faults.items()]
    ran = f"{summary.worlds} worlds, {summary.rounds} rounds, {summary.seconds:,.0f} s"
    lines += [
        "",
        f"build {summary.build}: {ran}",
        f"{summary.kills} processes killed, {summary.starts:,} allocations told",
        f"seconds until it decided again: {_times(summary.decided)}",
        f"seconds until both sides agreed: {_times(summary.converged)}",
        f"{len(summary.failed)} worlds failed",
    ]
    for seed, evidence in summary.failed.items():
        lines += [
            f"seed {seed}, see {folder / str(seed)}.json:",
            *(f"  {text}" for text in evidence),
        ]
    return "\n".join(lines)


def _times(times: Times) -> str:
    return f"{times.median:.2f} half of the rounds, {times.longest:.2f} the longest"


def _show(options: argparse.Namespace, records: list[Record], deadline: float) -> None:
    """Say on a terminal how far it is."""
    if not sys.stderr.isatty():
        return
    left = max(0.0, deadline - time.monotonic())
    filled = round(_BAR * (1 - left / options.budget))
    bar = "#" * filled + "-" * (_BAR - filled)
    kills = sum(record.kills for record in records)
    failed = sum(bool(record.evidence) for record in records)
    sys.stderr.write(
        f"\r\033[K[{bar}] seed {records[-1].seed}, round {len(records[-1].rounds)}: {kills} killed,"
        f" {failed} failed, {left:,.0f} s left"
    )
    sys.stderr.flush()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--budget", type=seconds, default="5m", help="for how long: 30s, 2h")
    parser.add_argument("--seed", type=int, default=1, help="the first world")
    parser.add_argument("--rounds", type=int, default=20, help="of each world")
    parser.add_argument("--only", metavar="KIND,KIND", help=f"faults: {', '.join(KINDS)}")
    parser.add_argument(
        "--bound", type=float, default=15.0, help="seconds until a healed world must be right"
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help=f"default: {_FOLDER}")
    parser.add_argument("--output", choices=["table", "json"], default="table")
    options = parser.parse_args(arguments)
    unknown = set((options.only or KINDS[0]).split(",")) - set(KINDS)
    if unknown:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
