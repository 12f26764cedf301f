"""Sessions of results that nobody measured."""

from __future__ import annotations

import io

from remuda.bench.calibration import Calibration
from remuda.bench.machine import Machine
from remuda.bench.session import Measured, Run, Session, as_table
from remuda.bench.suites import Figures

MACHINE = Machine("a processor", 2, "Linux 6", "CPython 3.11.7", "interpreted", "1.0")
STEADY = Calibration(50.0, 51.0)


def session_of(*results: Figures, calibration: Calibration = STEADY) -> Session:
    """A session of one run for each of these results."""
    return Session(
        MACHINE,
        tuple(Measured(each.shape, each, (Run(each, calibration),)) for each in results),
    )


def shown(session: Session) -> list[str]:
    """The lines that people see of a session."""
    out = io.StringIO()
    as_table(session, out)
    return out.getvalue().splitlines()
