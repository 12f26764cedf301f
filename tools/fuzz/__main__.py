"""Fuzzes the readers of remuda for as long as it may, and keeps what it finds.

    python -m tools.fuzz --budget 8h --workers 2 --target wire,rest

Each target runs in a process of its own, guided by coverage: inputs that reach new code are kept
and changed further (build/fuzz/TARGET/corpus), so the next start goes on where this one ended. A
target ends at its first fault; the input that shows it is kept, and --again repeats it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.duration import SECOND, parse_duration
from tools.fuzz.targets import TARGETS
from tools.long_runs import write

_FOLDER: Final = Path("build/fuzz")
_STATE: Final = "state.json"

# What one input may take: seconds, and MiB of the whole process.
_INPUT_SECONDS: Final = 10
_MEMORY_MIB: Final = 2_048

# The program that fuzzes one target.
GUIDED: Final = ("-m", "tools.fuzz.guided")

_EXECUTED: Final = re.compile(r"^stat::number_of_executed_units:\s*([0-9]+)", re.MULTILINE)
_COVERED: Final = re.compile(r"\bcov: ([0-9]+)")


class Progress(msgspec.Struct):
    """What was done with one target so far.

    ``covered``: places of the code that its inputs reach, as libFuzzer counts them. ``faults``: the
    files that show faults.
    """

    executed: int = 0
    seconds: int = 0
    covered: int = 0
    faults: list[str] = []

    def line(self, name: str) -> str:
        """Return it in a line for people."""
        rate = self.executed / self.seconds if self.seconds else 0.0
        found = f"; {len(self.faults)} faults: {', '.join(self.faults)}" if self.faults else ""
        return (
            f"{name:14}{self.executed:>13,} inputs {rate:>8,.0f}/s {self.covered:>6,} places{found}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Fuzz until the budget is spent; 1 if a fault was found."""
    options = _options(arguments)
    names: list[str] = options.target
    if options.again is not None:
        TARGETS[names[0]].take(options.again.read_bytes())
        print(f"fuzz: no fault of {names[0]}")
        return 0
    file = options.folder / _STATE
    state = _read(file)
    seconds = max(1, options.budget * options.workers // len(names))
    print(f"fuzz: {len(names)} targets, {seconds} s each; {options.folder} has what was found")
    found = False
    with ThreadPoolExecutor(options.workers) as pool:
        runs = {name: pool.submit(_fuzz, name, options.folder / name, seconds) for name in names}
        for name, run in runs.items():
            done = run.result()
            found = found or bool(done.faults)
            known = state.setdefault(name, Progress())
            known.executed += done.executed
            known.seconds += done.seconds
            known.covered = done.covered
            known.faults += done.faults
            print(known.line(name), flush=True)
            write(file, msgspec.json.format(msgspec.json.encode(state)))
    print(f"fuzz: {sum(each.executed for each in state.values()):,} inputs in all runs")
    return 1 if found else 0


def _fuzz(name: str, folder: Path, seconds: int) -> Progress:
    """Fuzz one target in a process of its own, and return what came of it."""
    corpus, seeds = folder / "corpus", folder / "seeds"
    for each in (corpus, seeds):
        each.mkdir(parents=True, exist_ok=True)
    target = TARGETS[name]
    for number, seed in enumerate(target.seeds()):
        (seeds / f"{number}").write_bytes(seed)
    words = folder / "words"
    words.write_text("".join([f"{_quoted(word)}\n" for word in target.words]))
    before = set(folder.glob("*-*"))
    command = [sys.executable, *GUIDED, name, str(corpus), str(seeds)]
    command += [f"-max_total_time={seconds}", f"-timeout={_INPUT_SECONDS}"]
    command += [f"-rss_limit_mb={_MEMORY_MIB}", f"-max_len={target.bytes_limit}"]
    command += [f"-artifact_prefix={folder}/", f"-dict={words}", "-print_final_stats=1"]
    log = folder / "log"
    with log.open("w") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(errors="replace")
    faults = sorted(str(each) for each in set(folder.glob("*-*")) - before)
    if code.returncode and not faults:
        faults = [f"{log} (it ended with {code.returncode})"]
    executed = sum(map(int, _EXECUTED.findall(text)))
    covered = max(map(int, _COVERED.findall(text)), default=0)
    return Progress(executed, seconds, covered, faults)


def _quoted(word: bytes) -> str:
    """Return a word as dictionaries of libFuzzer have them."""
    return '"' + "".join([f"\\x{byte:02x}" for byte in word]) + '"'


def _read(file: Path) -> dict[str, Progress]:
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Progress])


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--budget", type=_seconds, default="5m", help="for how long: 30s, 8h")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--target", type=_names, default="all", help=f"all, or some of {', '.join(TARGETS)}"
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help=f"default: {_FOLDER}")
    parser.add_argument("--again", type=Path, metavar="FILE", help="give this input to the target")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = list(TARGETS) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}"
        )
    return names


def _seconds(text: str) -> int:
    duration = parse_duration(text)
    if duration is None or duration < SECOND:
        raise argparse.ArgumentTypeError(f"{text!r} is no time of at least 1s, such as 30s or 8h")
    return duration // SECOND


if __name__ == "__main__":
    sys.exit(main())
