"""Plays runs on a Dask cluster instead of on this machine.

A worker of the cluster reads the files of a study at the same paths, so they are in a folder that
all share, and works out the ID of the run anew: another version of remuda, or another content of a
file, would give another result under the same name. Results come back over Dask and are written
here, so workers need no output folder. Only a few runs are handed over at a time, and each is
handed over as it is: a result does not depend on who played it, nor on how often it was tried.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from remuda.base.errors import RemudaError, UsageError
from remuda.base.message import message
from remuda.base.texts import shortened
from remuda.study.figures import Content
from remuda.study.folder import Folder
from remuda.study.plan import Run, content_id, scene_id
from remuda.study.scenes import Stage

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS: Final = 10
# How long a study waits for workers when there are none.
WORKERS_SECONDS: Final = 60
_LOOK_SECONDS: Final = 1
_LEAVE_SECONDS: Final = 1
# Runs that are handed over for each thread of the cluster: one that it plays, one that waits there.
_AHEAD: Final = 2
# Characters of an error of Dask that are told.
_FAULT_CHARACTERS: Final = 300
_WITHOUT: Final = "without remuda"
_KEPT: Final = "finished runs are kept, start the study again"


@message
class _Played:
    """What a worker says of a run: its result or what is wrong; ``usage``: a fault of files."""

    result: Content | None
    error: str = ""
    usage: bool = False


class _Player:
    """Plays runs in a worker, one at a time, and keeps what neighbouring ones have in common."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._scene = ""
        self._stage = Stage()

    def play(self, run: Run) -> _Played:
        """Return the result of a run, or what is wrong with it."""
        with self._lock:
            try:
                if content_id(run) != run.run_id:
                    what = "a worker has another version of remuda, or other content in its files"
                    return _Played(None, f"{what}; it reads {run.trace.workload}", usage=True)
                scene = scene_id(run)
                if scene != self._scene:
                    self._stage, self._scene = Stage(), scene
                return _Played(self._stage.play(run))
            except UsageError as error:
                return _Played(None, f"on a worker: {error}", usage=True)
            except (RemudaError, OSError) as error:
                return _Played(None, f"on a worker: {error}")


# A worker's process keeps it between runs; its threads share it.
_player: Final = _Player()


def play_in_worker(run: Run) -> _Played:
    """Play a run: what a worker of the cluster is asked to do."""
    return _player.play(run)


def play_on_cluster(runs: Sequence[Run], folder: Folder, address: str) -> Iterator[Run]:
    """Play runs on the cluster of a Dask scheduler; yield each when its result is written.

    What a worker that dies had to play is played by another one. The folder is made when the
    scheduler has answered.

    Raises: UsageError, if nobody answers at the address or a run finds a fault in its files;
    RemudaError, if the scheduler is gone, no worker is left, or workers die of one run.
    Implements: EXT-97.
    """
    if not runs:
        return
    with _connected(address) as client:
        folder.claim()
        waiting = list(reversed(runs))
        handed: dict[Future, Run] = {}
        while waiting or handed:
            room = _threads(client, address) * _AHEAD
            while waiting and len(handed) < room:
                run = waiting.pop()
                with _answering(address):
                    handed[_hand_over(client, run)] = run
            for future in _ended(handed, address):
                run = handed.pop(future)
                folder.keep(run, _result(future, run, address))
                yield run


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler, and leave it whatever happens."""
    # It sets the levels of its loggers when it is imported.
    from distributed import Client  # noqa: PLC0415 - an extra

    with _silent():
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            what = str(error).partition("\n")[0] or f"no answer within {CONNECT_SECONDS} s"
            raise UsageError(f"--dask: {address}: {what}") from None
        try:
            with client.as_current():
                yield client
        finally:
            with suppress(OSError):
                client.close(timeout=_LEAVE_SECONDS)


@contextmanager
def _silent() -> Iterator[None]:
    """Have Dask log nothing: what it would log is told in one line, or does not matter."""
    known = logging.getLogger().manager.loggerDict
    logs = [logging.getLogger(name) for name in known if name.split(".")[0] == "distributed"]
    levels = [log.level for log in logs]
    try:
        for log in logs:
            log.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _answering(address: str) -> Iterator[None]:
    """Say in one line that the scheduler does not answer, however Dask says so."""
    try:
        yield
    except (CancelledError, OSError, RuntimeError, ValueError):
        what = "the connection to the scheduler is lost"
        raise RemudaError(f"--dask: {address}: {what}; {_KEPT}") from None


def _threads(client: Client, address: str) -> int:
    """Return how many threads the workers have; if there are no workers, wait for one."""
    with _answering(address):
        if client.status != "running":
            raise CancelledError
        threads: int = sum(client.nthreads().values())
        if threads:
            return threads
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        threads = sum(client.nthreads().values())
    if not threads:
        what = f"the cluster has had no workers for {WORKERS_SECONDS} s (they end {_WITHOUT})"
        raise RemudaError(f"--dask: {address}: {what}; {_KEPT}")
    return threads


def _hand_over(client: Client, run: Run) -> Future:
    # A key of its own: the cluster may have results of another study in memory.
    key = f"{run.run_id}-{uuid4().hex}"
    return client.submit(play_in_worker, _from_anywhere(run), key=key, pure=False)


def _from_anywhere(run: Run) -> Run:
    """Return a run whose files are named by whole paths: a worker has another directory."""
    trace, configuration = run.trace, run.configuration
    nodes = trace.nodes
    if nodes is not None and Path(nodes).is_file():
        nodes = str(Path(nodes).absolute())
    file = configuration.file
    return replace(
        run,
        trace=replace(trace, workload=trace.workload.absolute(), nodes=nodes),
        configuration=replace(configuration, file=None if file is None else file.absolute()),
    )


def _ended(handed: dict[Future, Run], address: str) -> list[Future]:
    """Return the runs that came to an end, after at most a second."""
    from distributed import wait  # noqa: PLC0415 - an extra

    with _answering(address):
        with suppress(TimeoutError):
            wait(list(handed), timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
        if any(future.status in ("cancelled", "lost") for future in handed):
            raise CancelledError
    return [future for future in handed if future.done()]


def _result(future: Future, run: Run, address: str) -> Content:
    """Return the result of a run that ended."""
    from distributed import KilledWorker  # noqa: PLC0415 - an extra

    with _answering(address):
        # It is returned and not raised, so that it is not taken for one of the connection.
        fault = future.exception(timeout=CONNECT_SECONDS)
        played: _Played | None = None if fault else future.result(timeout=CONNECT_SECONDS)
    if isinstance(fault, KilledWorker):
        what = f"workers ended without a result (killed, out of memory, or {_WITHOUT})"
        raise RemudaError(f"run {run.run_id}: {what}; {_KEPT}")
    if played is None:
        what = shortened(" ".join(str(fault).split()), _FAULT_CHARACTERS)
        hint = "remuda has to be installed at the scheduler and at each worker"
        raise UsageError(f"run {run.run_id}: the cluster cannot play it: {what}; {hint}")
    if played.result is None:
        kind = UsageError if played.usage else RemudaError
        raise kind(f"run {run.run_id}: {played.error}")
    return played.result
