"""The program ``remuda``: where it begins.

The version is printed at once. All else is in ``program``, because loading its libraries takes most
of the time of a short command.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from remuda.cli.scarcity import SCARCE, is_scarcity


def main() -> NoReturn:
    """Run the command line in ``sys.argv`` and exit."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from remuda.cli.version import version_line  # noqa: PLC0415 - nothing else is needed

        print(version_line())
        sys.exit(0)
    try:
        from remuda.cli.program import run  # noqa: PLC0415 - see above
    except (MemoryError, ImportError) as error:
        if not is_scarcity(error):
            raise
        sys.exit(f"remuda: {SCARCE}")
    sys.exit(run(arguments))
