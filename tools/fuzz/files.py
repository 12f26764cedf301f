"""Files that a service or a command reads: recordings, and identities with their tokens."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.core.messages.commands import (
    CREATE,
    Ask,
    Command,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.ports import always_true
from remuda.core.scheduler import Scheduler
from remuda.edges.callers import KnownCallers
from remuda.edges.identities import read_access_rules
from remuda.edges.lockout import LockedOutError
from remuda.edges.rights import Identity
from remuda.edges.token_hashes import TokenHash, key_of, read_token_hash
from remuda.runtime.journal import JournalWriter
from remuda.runtime.replay import replay
from tools.fuzz.target import Target

# Bytes of work of a slow hash that is computed here; more of it would only take longer.
_COST_LIMIT: Final = 2**24


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="remuda-fuzz-")


def _file(data: bytes) -> Path:
    file = Path(_folder().name, "input")
    file.write_bytes(data)
    return file


def recording(data: bytes) -> None:
    """Repeat a recording, and open it to append another one."""
    file = _file(data)
    with suppress(UsageError):
        found = replay(file)
        assert found.inputs >= 0
    with suppress(UsageError):
        JournalWriter(file).close()


def identities(data: bytes) -> None:
    """Read a file of identities, and the text of a slow hash."""
    with suppress(UsageError):
        for each in read_access_rules(_file(data), certificates=True).identities:
            for stored in each.token_hashes:
                _use(stored)
    alone = read_token_hash(data.decode("utf-8", "replace"))
    if alone is not None:
        assert read_token_hash(alone.text()) == alone
        _use(alone)


def _use(stored: TokenHash) -> None:
    if 128 * stored.rounds * stored.blocks * stored.parallel <= _COST_LIMIT:
        assert not stored.fits(b"some token")


_KEY: Final = b"0123456789abcdef"


@cache
def _callers() -> KnownCallers:
    digest = sha256(b"secret").digest()
    slow = TokenHash(_KEY, b"salt", bytes(32), rounds=2, blocks=1)
    return KnownCallers(
        [
            Identity("reader", token_digests=(digest,), read=True),
            Identity("admin", token_hashes=(slow,), admin=True),
        ]
    )


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def token(data: bytes) -> None:
    """Look up who has a token; nobody but the reader has the one that is known."""
    key_of(data)
    address = f"127.0.{data[0] if data else 0}.1"
    with suppress(LockedOutError):
        found = _loop().run_until_complete(_callers().bearer(data, address))
        assert (found is not None) == (data == b"secret")


def _recording_seeds() -> list[bytes]:
    """Return a short recording, whole and cut off, and others of older formats."""
    file = Path(_folder().name, "seed")
    scheduler = Scheduler(always_true)
    writer = JournalWriter(file)
    writer.begin(None, {})
    capacity = {"memory": 1_000, "vcore": 1_000}
    commands: tuple[Command, ...] = (
        RegisterResourceManager("rm", load_configuration(_CONFIGURATION)),
        UpdateNodes("rm", (NodeUpdate("node-1", CREATE, capacity),)),
        UpdateApplications("rm", new=(NewApplication("app-1", "root.a", user="u"),)),
        UpdateAllocations("rm", asks=(Ask("app-1", "ask-1", {"memory": 10}),)),
    )
    for now_ns, command in enumerate(commands):
        writer.command(now_ns, command)
        writer.effects(scheduler.handle(command, now_ns))
    writer.step(len(commands), 10)
    writer.effects(scheduler.step(len(commands), 10))
    writer.close()
    whole = file.read_bytes()
    file.unlink()
    lines = whole.splitlines(keepends=True)
    begun_twice = b'["remuda-rec\n["remuda-\n' + whole
    nested = b'["remuda-recording",8,null,{},' + b"[" * 990 + b"\n"
    return [
        whole,
        b"".join(lines[:4]),
        whole[:-5],
        whole + whole,
        nested,
        begun_twice,
        lines[0],
        b"",
    ]


_CONFIGURATION: Final = """
partitions: [{name: default, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}]
"""

_IDENTITIES: Final = b"""
[[identity]]
name = "reader"
token-sha256 = ["0000000000000000000000000000000000000000000000000000000000000000"]
read = true

[[identity]]
name = "operator"
certificates = ["spiffe://cluster/operator"]
role = "operator"
partitions = ["default"]
queues = ["root.a"]

[[identity]]
name = "rm"
token-hash = ["%s"]
rm-ids = ["*"]
"""


def _identity_seeds() -> list[bytes]:
    hashed = TokenHash(_KEY, bytes(16), bytes(32), rounds=2, blocks=1).text().encode()
    narrow = TokenHash(_KEY, bytes(16), bytes(32), rounds=2**16, blocks=1).text().encode()
    texts = (b"identity = []", b"a = 1979-05-27T07:32:00Z", b"a = " + b"9" * 5_000)
    return [
        _IDENTITIES % hashed,
        _IDENTITIES % narrow,
        hashed,
        narrow,
        *texts,
        b"a = " + b"[" * 2_000,
    ]


def _token_seeds() -> list[bytes]:
    return [b"secret", b"secres", _KEY + b".secret", _KEY, b".", b"", bytes(range(256))]


RECORDING: Final = Target(
    recording,
    _recording_seeds,
    (
        b'["remuda-recording",8,',
        b'["command",',
        b'["step",',
        b'["outcome","',
        b'["end",',
        b"null",
        b"1e400",
        b"\n",
        b'"\\ud800"',
        b"9223372036854775808",
        b"[[[[",
    ),
    8_192,
)
IDENTITIES: Final = Target(
    identities,
    _identity_seeds,
    (
        b"[[identity]]\n",
        b"token-hash = [",
        b"scrypt:",
        b":1:1:",
        b"65536",
        b"role = ",
        b"1e400",
        b"0x",
        b"\\uD800",
        b'"""',
        b"1979-05-27",
        b"queues = ",
    ),
    6_000,
)
TOKEN: Final = Target(token, _token_seeds, (_KEY + b".", b"secret"), 512)
