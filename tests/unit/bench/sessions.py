"""Sessions of results that nobody measured."""

from __future__ import annotations

import io

from remuda.bench.suites.calibration import Calibration
from remuda.bench.suites.catalogue import Figures
from remuda.bench.suites.machine import Machine
from remuda.bench.suites.session import Measured, Run, Session, as_table

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
