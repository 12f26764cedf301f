"""The memory that a process took at most.

`ru_maxrss` is not used: a process that another one starts begins with the peak of its parent there
(getrusage(2) counts what was before exec), so a small program under a large pytest seems large.
"""

from __future__ import annotations

from pathlib import Path


def peak_kilobytes(process: int | str = "self") -> int:
    """Return the peak of the memory that a process has held (VmHWM of proc(5)), in KiB."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError(f"process {process}: no VmHWM")
