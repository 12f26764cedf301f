"""The processes of a world: the scheduler, resource managers and the relay between them.

Each runs in its own memory and is spoken to as its users do: over sockets, pipes and signals. So a
kill takes from it what it would take on a real machine.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import struct
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Final, TypeAlias

import msgspec

import remuda
from tools.chaos.resource_manager import Status

ROOT: Final = Path(__file__).resolve().parents[2]
# Where the package lies that is under test: the sources, or a tree whose core is compiled.
_PACKAGES: Final = Path(remuda.__file__).resolve().parents[1]

_READY: Final = re.compile(r"listening grpc=127\.0\.0\.1:(\d+) rest=127\.0\.0\.1:(\d+)\n")
_SECONDS: Final = 60.0
_REST_SECONDS: Final = 10.0

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class GoneError(Exception):
    """A process ended that nobody had killed, or does not answer; the text says which."""


def _environment() -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("REMUDA_")}
    return {**inherited, "PYTHONPATH": f"{_PACKAGES}:{ROOT}", "PYTHONUNBUFFERED": "1"}


def _run(*arguments: str, log: Path, stdin: int = subprocess.PIPE) -> subprocess.Popen[str]:
    with log.open("a", encoding="utf-8") as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            env=_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )


def _end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> int:
    """Send a signal and wait; return the exit code."""
    process.send_signal(number)
    if number == signal.SIGKILL:
        # A stopped process dies of it as well.
        return process.wait(_SECONDS)
    try:
        return process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_SECONDS)
        raise GoneError(f"a process did not end after signal {number}") from None


class Lines:
    """What a process prints, line by line."""

    def __init__(self, stream: IO[str] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with self._stream:
            for line in self._stream:
                self._lines.put(line)
        self._lines.put("")

    def next(self, seconds: float) -> str:
        """Return the next line, empty at the end. Raises: GoneError if none comes in time."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            raise GoneError(f"a process printed nothing for {seconds:.0f} s") from None


class Relay:
    """The relay; ``ports`` has one for each resource manager."""

    def __init__(self, wires: int, folder: Path) -> None:
        self._process = _run("tools.chaos.relay", str(wires), log=folder / "relay.log")
        self.ports: list[int] = json.loads(Lines(self._process.stdout).next(_SECONDS))

    def target(self, port: int) -> None:
        """Lead new connections to another port."""
        self._write({"target": port})

    def do(self, wire: int, command: str) -> None:
        """Do something to a wire, see `tools.chaos.relay.Wire`."""
        self._write({"wire": wire, "do": command})

    def _write(self, command: dict[str, str | int]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """End it."""
        _end(self._process)
        assert self._process.stdin is not None
        self._process.stdin.close()


class Scheduler:
    """`remuda serve`, started again and again; the relay leads to the one that runs.

    ``disk``: folder for what it writes, which may be full.
    """

    def __init__(self, folder: Path, disk: Path, relay: Relay, *, kept: bool) -> None:
        self.log = folder / "scheduler.log"
        self._clock = folder / "clock"
        self._clock.write_bytes(bytes(8))
        self._relay = relay
        self._arguments = ["serve", "--grpc-address", "127.0.0.1:0", "--rest-address"]
        self._arguments += ["127.0.0.1:0", "--duration", "3h"]
        self._arguments += ["--audit-log", str(disk / "audit.log")]
        reports = disk / "faults"
        reports.mkdir()
        self._arguments += ["--fault-reports", str(reports)]
        if kept:
            self._arguments += ["--record", str(disk / "run.journal")]
        self._process: subprocess.Popen[str] | None = None
        self._rest = 0
        self._ready = threading.Event()
        self.starts = 0

    def start(self) -> None:
        """Start it, and lead the relay to it when it listens."""
        self._ready.clear()
        process = self._process = _run(
            "tools.chaos.stepped",
            str(self._clock),
            *self._arguments,
            log=self.log,
            stdin=subprocess.DEVNULL,
        )
        self.starts += 1
        lines = Lines(process.stdout)

        def await_ready() -> None:
            found = _READY.fullmatch(lines.next(_SECONDS))
            if found is not None and process is self._process:
                grpc, self._rest = map(int, found.groups())
                self._relay.target(grpc)
            if process is self._process:
                self._ready.set()

        threading.Thread(target=await_ready, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process that was started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it runs, stopped or not."""
        return self._process is not None and self._process.poll() is None

    def send(self, number: int) -> None:
        """Send a signal that does not end it."""
        if self.running:
            os.kill(self.pid, number)

    def end(self, number: int = signal.SIGKILL) -> int:
        """End it; return the exit code. Raises: GoneError if it does not end."""
        assert self._process is not None
        self._ready.clear()
        return _end(self._process, number)

    def set_clock(self, ahead_seconds: int) -> None:
        """Set its wall clock."""
        with self._clock.open("r+b") as file:
            file.write(struct.pack("<q", ahead_seconds))

    @property
    def ready(self) -> bool:
        """Whether it listens."""
        return self._ready.is_set()

    def await_ready(self) -> None:
        """Wait until it listens. Raises: GoneError."""
        if not self._ready.wait(_SECONDS) or not self.running:
            raise GoneError("the scheduler does not listen")

    def get(self, path: str) -> Json:
        """Return what the HTTP API answers. Raises: GoneError."""
        connection = HTTPConnection("127.0.0.1", self._rest, timeout=_REST_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read()
        except OSError as error:
            raise GoneError(f"GET {path}: {error!r}") from None
        finally:
            connection.close()
        if answer.status != 200:
            raise GoneError(f"GET {path}: {answer.status} {content[:200]!r}")
        found: Json = msgspec.json.decode(content)
        return found


class ResourceManager:
    """A resource manager as a process (`tools.chaos.resource_manager`), started again and again."""

    def __init__(self, number: int, port: int, folder: Path, traits: tuple[str, str, str]) -> None:
        self.name = f"rm-{number}"
        binding, way, seed = traits
        self._log = folder / f"{self.name}.log"
        self._arguments = ["--address", f"127.0.0.1:{port}", "--rm-id", self.name, "--seed", seed]
        self._arguments += ["--binding", binding, "--way", way]
        self._arguments += ["--diary", str(folder / f"{self.name}.diary")]
        self._process: subprocess.Popen[str] | None = None
        self._lines: Lines | None = None
        self._mood = "go"

    def start(self) -> None:
        """Start it in the mood it was in."""
        self._process = _run("tools.chaos.resource_manager", *self._arguments, log=self._log)
        self._lines = Lines(self._process.stdout)
        self.tell(self._mood)

    @property
    def running(self) -> bool:
        """Whether it runs, stopped or not."""
        return self._process is not None and self._process.poll() is None

    def tell(self, command: str) -> None:
        """Give a command."""
        if command in {"go", "hold", "finish"}:
            self._mood = command
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise GoneError(f"{self.name} ended by itself") from None

    def status(self) -> Status:
        """Return what it says of itself. Raises: GoneError."""
        self.tell("status")
        assert self._lines is not None
        line = self._lines.next(_SECONDS)
        if not line:
            raise GoneError(f"{self.name} ended by itself")
        return msgspec.json.decode(line, type=Status)

    def send(self, number: int) -> None:
        """Send a signal that does not end it."""
        if self._process is not None and self.running:
            self._process.send_signal(number)

    def end(self) -> None:
        """Kill it."""
        assert self._process is not None
        _end(self._process)
        assert self._process.stdin is not None
        self._process.stdin.close()
