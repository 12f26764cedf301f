"""Compare the processor time of calls with and without a file of identities.

`python -m tools.access_cost` starts two served processes that differ only in that file, and one
with an issuer of signed tokens, if the extra `oidc` is installed. It makes the same calls to them
in turns, and reads from the system how much processor time each process took: other work on the
machine does not count. Unary calls are the cheapest there are, so nothing hides the cost. Single
messages are asks on one stream, each with its answer.
"""

from __future__ import annotations

import hashlib
import json
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import grpc
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.algorithms import RSAAlgorithm

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub

# Calls of a turn, turns of each process; the turns before are not counted.
_CALLS: Final = 200
_TURNS: Final = 90
_WARM: Final = 3

_SECONDS: Final = 30.0
_RM: Final = "rm"
_TOKEN: Final = "a long random token of a resource manager"  # noqa: S105 - of this run only
_IDENTITY: Final = """
[[identity]]
name = "rm"
token-sha256 = ["{digest}"]
rm-ids = ["rm"]
"""
_ISSUER: Final = """
[[issuer]]
name = "login"
issuer = "https://login.example.org"
audience = "remuda"
keys-file = "keys.json"

[[issuer.grant]]
claim = "sub"
values = ["rm"]
rm-ids = ["rm"]
"""


class Measured:
    """A served process. ``spent``: its processor time so far, ns."""

    def __init__(self, process: subprocess.Popen[str], token: str) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.partition("grpc=")[2].partition(" ")[0]
        self._tasks = Path(f"/proc/{process.pid}/task")
        self._who = (("authorization", f"Bearer {token}"),) if token else ()
        self.channel = grpc.insecure_channel(address)
        self._health = MetricsStub(self.channel).GetHealth
        self._begin_stream()

    def spent(self) -> int:
        """Return the processor time of all threads, ns."""
        found = 0
        for each in self._tasks.iterdir():
            found += int((each / "schedstat").read_text().split()[0])
        return found

    def unary(self) -> None:
        """Make one call."""
        self._health(ext.HealthRequest(), _SECONDS, metadata=self._who)

    def single(self) -> None:
        """Send one ask on the stream and wait for what becomes of it."""
        self._asked += 1
        ask = si.AllocationAsk(
            allocationKey=f"k{self._asked}", applicationID="none", partitionName="default"
        )
        self._messages.put(si.AllocationRequest(rmID=_RM, asks=[ask]))
        next(self._answers)

    def _begin_stream(self) -> None:
        stub = SchedulerStub(self.channel)
        request = si.RegisterResourceManagerRequest(rmID=_RM)
        stub.RegisterResourceManager(request, _SECONDS, metadata=self._who)
        self._asked = 0
        self._messages: queue.SimpleQueue[si.AllocationRequest] = queue.SimpleQueue()
        # Without an end: the stream lasts as long as the process.
        messages = iter(self._messages.get, None)
        self._answers = stub.UpdateAllocation(messages, metadata=self._who)


@contextmanager
def _served(folder: Path, access: str, token: str) -> Iterator[Measured]:
    options = ["--grpc-address", "127.0.0.1:0", "--rest-address", "127.0.0.1:0"]
    if access:
        path = folder / f"{hashlib.sha256(access.encode()).hexdigest()[:8]}.toml"
        path.write_text(access)
        options += ["--grpc-access", str(path)]
    command = [sys.executable, "-m", "remuda", "serve", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        measured = Measured(process, token)
        yield measured
        measured.channel.close()
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _signed(folder: Path) -> str:
    """Return a signed token, and leave the key of its issuer in a folder."""
    key = generate_private_key(65_537, 2_048)
    entry = {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "one"}
    (folder / "keys.json").write_text(json.dumps({"keys": [entry]}))
    claims = {"iss": "https://login.example.org", "aud": "remuda", "sub": "rm"}
    claims["exp"] = int(time.time()) + 86_400  # type: ignore[assignment] # a number among texts
    return jwt.encode(claims, key, "RS256", headers={"kid": "one"})


def _turn(measured: Measured, call: Callable[[Measured], None]) -> float:
    """Return the processor time of a call, microseconds."""
    before = measured.spent()
    for _ in range(_CALLS):
        call(measured)
    return (measured.spent() - before) / _CALLS / 1_000


def _compare(name: str, processes: dict[str, Measured], call: Callable[[Measured], None]) -> None:
    turns: dict[str, list[float]] = {each: [] for each in processes}
    names = list(processes)
    for number in range(_WARM + _TURNS):
        # Each process is first in a turn as often as the others.
        names.append(names.pop(0))
        for each in names:
            measured = processes[each]
            spent = _turn(measured, call)
            if number >= _WARM:
                turns[each].append(spent)
    # Other work on the machine makes turns dearer, never cheaper. So the cheapest tenth counts.
    costs = {each: statistics.quantiles(spents, n=10)[0] for each, spents in turns.items()}
    plain = costs["open to everybody"]
    for each, cost in costs.items():
        print(f"{name:15} {each:22} {cost:8.1f} us {100 * (cost / plain - 1):+7.1f} %")


def main() -> int:
    """Measure and print; 0."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
        signed = _signed(folder)
        kinds = {
            "open to everybody": ("", ""),
            "token-sha256": (_IDENTITY.format(digest=digest), _TOKEN),
            "token of an issuer": (_ISSUER, signed),
        }
        processes = {
            kind: stack.enter_context(_served(folder, access, token))
            for kind, (access, token) in kinds.items()
        }
        _compare("unary call", processes, Measured.unary)
        _compare("single message", processes, Measured.single)
    return 0


if __name__ == "__main__":
    sys.exit(main())
