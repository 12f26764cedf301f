"""The recorded figures: one committed file, a section for each build on each version of Python."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.gate.judge import RENEW, Figures

FILE: Final = Path(__file__).with_name("reference.toml")
_CALIBRATION: Final = Path(__file__).with_name("calibration.py")

_HEAD: Final = f"""\
# What an allocation costs, as recorded. To renew the section of the build that runs:
#
#     {RENEW}
#
# on a machine with nothing else to do; the commit message says why costs changed.
# time: millionths of the calibration, by processor; work: instructions of Python.
# See CONTRIBUTING.md.
"""


class Recorded(msgspec.Struct):
    """The figures of one build: what an allocation costs, by case; time by processor, too.

    The calibration costs more beside an allocation on one kind of processor than on another, by up
    to a third. A processor is named by what its name begins with; the longest such name counts.
    """

    time: dict[str, dict[str, float]] = {}
    work: dict[str, float] = {}

    def time_on(self, processor: str) -> dict[str, float] | None:
        """Return the timed figures for a processor, None if there are none."""
        names = [name for name in self.time if processor.startswith(name)]
        return self.time[max(names, key=len)] if names else None


class Reference(msgspec.Struct):
    """All there is: the digest of the calibration that was used, and the figures by build."""

    calibration: str = ""
    builds: dict[str, Recorded] = {}


def calibration_digest() -> str:
    """Return what tells one calibration from another."""
    return hashlib.sha256(_CALIBRATION.read_bytes()).hexdigest()[:16]


def read(file: Path = FILE) -> Reference:
    """Return what is recorded; nothing if there is no file."""
    if not file.exists():
        return Reference()
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Reference)


def record(build: str, processor: str, time: Figures, work: Figures, file: Path = FILE) -> None:
    """Write figures of one build; others stay, of others too, if they were calibrated alike."""
    reference = read(file)
    digest = calibration_digest()
    builds = reference.builds if reference.calibration == digest else {}
    old = builds.get(build, Recorded())
    timed = {**old.time, processor: {**(old.time_on(processor) or {}), **time}}
    builds[build] = Recorded(timed if time else old.time, {**old.work, **work})
    lines = [_HEAD, f'calibration = "{digest}"']
    for name, recorded in sorted(builds.items()):
        for each, figures in sorted(recorded.time.items()):
            lines += _table(f'builds."{name}".time."{each}"', figures)
        lines += _table(f'builds."{name}".work', recorded.work)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _table(name: str, figures: Mapping[str, float]) -> list[str]:
    if not figures:
        return []
    return ["", f"[{name}]", *(f'"{case}" = {figure}' for case, figure in figures.items())]
