"""A process beside the measured one."""

from __future__ import annotations

from multiprocessing.connection import Connection

import pytest

from remuda.bench.services.companion import start_beside


def say_and_end(what: str, pipe: Connection) -> None:
    pipe.send(what)


def test_what_it_says_is_heard_and_so_is_its_end() -> None:
    process, pipe = start_beside(say_and_end, "ready")
    assert pipe.recv() == "ready"
    with pytest.raises(EOFError):
        pipe.recv()
    process.join(10)
    assert process.exitcode == 0
