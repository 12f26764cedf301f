"""Puts small faults into a package, one at a time, and says which ones no test notices.

    python -m tools.mutants core/accounting --sample 80 --seed 1

A package is a folder of src/remuda, or a pattern of files there such as 'core/**/*gang*.py'. The
faults are drawn at random from all that it can have. Each is tried with the tests that call its
function, the quickest first, up to --seconds of their processor time. The same command again goes
on where it was, until the text of the package or of the tests changes.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest

from tools.long_runs import write
from tools.mutants.operators import mutants
from tools.mutants.running import SAME, SURVIVED, UNTESTED, Calls, Fault, Outcome, Runner

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCES: Final = _ROOT / "src" / "remuda"
_FOLDER: Final = Path("build/mutants")
_TESTS: Final = ("tests/unit/core",)
_MARKS: Final = "not long and not timed and not kubernetes"

# Of a normal distribution, the width that 95 % of it are in.
_Z: Final = 1.96


class Store(msgspec.Struct):
    """What earlier runs found. ``text``: the digest of all sources and tests.

    ``calls``: of each test. ``outcomes``: by fault.
    """

    text: str
    calls: Calls | None = None
    outcomes: dict[str, Outcome] = {}


def main(arguments: list[str] | None = None) -> int:
    """Try faults; 1 if fewer were noticed than --least says, 2 if there is nothing to try."""
    options = _options(arguments)
    files = _files(options.package)
    faults = [Fault(file, mutant) for file in files for mutant in mutants(file.read_text())]
    if not faults:
        print(f"mutants: no function of src/remuda is in {options.package!r}")
        return 2
    Random(options.seed).shuffle(faults)  # noqa: S311 - drawn again by the same seed
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{''.join([c if c.isalnum() else '-' for c in options.package])}.json"
    store = _load(path, _digest())
    print(f"mutants: {options.package} can have {len(faults)} faults; {options.sample} are tried")
    _try(faults, store, path, options)
    return _report(_sample(faults, store, options.sample), options.least)


def _try(faults: list[Fault], store: Store, path: Path, options: argparse.Namespace) -> None:
    """Try those of the sample that were not tried yet."""
    done = len(_sample(faults, store, options.sample))
    if done == options.sample:
        return

    def told(fault: Fault, outcome: Outcome) -> None:
        store.outcomes[_name(fault)] = outcome
        write(path, msgspec.json.encode(store))
        if outcome.verdict != SAME:
            print(f"{outcome.verdict}: {_name(fault)}", flush=True)

    def measured(calls: Calls) -> None:
        store.calls = calls
        write(path, msgspec.json.encode(store))

    runner = Runner(
        [fault for fault in faults if _name(fault) not in store.outcomes],
        options.sample - done,
        told,
        known=store.calls,
        measured=measured,
        workers=options.workers,
        seconds=options.seconds,
    )
    pytest.main(
        [*options.tests, "-m", _MARKS, "-p", "no:cacheprovider", "-p", "no:xdist", "-q"],
        plugins=[runner],
    )


def _sample(faults: Iterable[Fault], store: Store, most: int) -> list[tuple[Fault, Outcome]]:
    """Return the first faults that were tried, with what came of them."""
    tried = [
        (fault, store.outcomes[_name(fault)]) for fault in faults if _name(fault) in store.outcomes
    ]
    return [pair for pair in tried if pair[1].verdict != SAME][:most]


def _report(sample: list[tuple[Fault, Outcome]], least: float) -> int:
    """Print the faults that nobody noticed and the share of the others."""
    survived = [(f, each) for f, each in sample if each.verdict in (SURVIVED, UNTESTED)]
    for fault, outcome in sorted(survived, key=lambda pair: _name(pair[0])):
        print(f"{outcome.verdict} ({outcome.tests} tests): {_name(fault)}")
    total = len(sample)
    killed = total - len(survived)
    low, high = interval(killed, total)
    percent = 100 * killed / total if total else 0.0
    print(
        f"mutants: {killed} of {total} were noticed, {percent:.1f} %; of all it is between"
        f" {low:.1f} and {high:.1f} % (with 95 % confidence)"
    )
    return 1 if percent < least else 0


def interval(hits: int, total: int) -> tuple[float, float]:
    """Return the bounds of a share in percent, with 95 % confidence (Wilson's)."""
    if not total:
        return 0.0, 100.0
    share, spread = hits / total, _Z**2 / total
    middle = share + spread / 2
    width = _Z * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return 100 * (middle - width) / (1 + spread), 100 * (middle + width) / (1 + spread)


def _name(fault: Fault) -> str:
    """Return the place and the words of a fault, which no other one of the same text has."""
    file = fault.file.relative_to(_ROOT)
    mutant = fault.mutant
    return f"{file}:{mutant.line}: {mutant.text()} (fault {mutant.number})"


def _files(package: str) -> list[Path]:
    folder = _SOURCES / package
    return sorted(folder.rglob("*.py") if folder.is_dir() else _SOURCES.glob(package))


def _digest() -> str:
    """Return a digest of all sources and tests."""
    digest = hashlib.sha256()
    for folder in ("src", "tests"):
        for file in sorted((_ROOT / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _load(path: Path, text: str) -> Store:
    if path.exists():
        store = msgspec.json.decode(path.read_bytes(), type=Store)
        if store.text == text:
            return store
    return Store(text)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("package", help="core/accounting, or a pattern such as 'core/**/*gang*.py'")
    parser.add_argument("--sample", type=int, default=100, help="faults to try; default: 100")
    parser.add_argument("--seed", type=int, default=1, help="draws the faults; default: 1")
    parser.add_argument("--tests", nargs="+", default=_TESTS, help="default: tests/unit/core")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for each; default: 60")
    parser.add_argument("--workers", type=int, default=2, help="faults at a time; default: 2")
    parser.add_argument("--least", type=float, default=85, help="percent; default: 85")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help=f"default: {_FOLDER}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
