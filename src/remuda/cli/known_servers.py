"""The servers that a person works with, by name: one file, of which one entry is current.

The file has no token. It names a file with the token, and that file is read only if nobody but its
owner may.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.cli.whole_file import write_whole

VARIABLE: Final = "REMUDA_CONTEXTS"

# Bytes of the file, and what a name consists of.
_LIMIT: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

_KEYS: Final = ("server", "token-file", "server-ca")

# Rights of others on a file.
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class KnownServer:
    """Where a scheduler is, as ``--server``, ``--token-file`` and ``--server-ca`` say it."""

    server: str
    token_file: Path | None = None
    server_ca: Path | None = None


@dataclass(frozen=True)
class KnownServers:
    """All of them by name. ``current``: the one that commands use, "" for none."""

    current: str = ""
    servers: Mapping[str, KnownServer] = field(default_factory=dict)


def place() -> Path:
    """Return where the file is: ``REMUDA_CONTEXTS``, or in the folder for settings."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "remuda" / "contexts.yaml"


def read_known() -> KnownServers:
    """Return what the file says, nothing if there is none.

    Raises: UsageError if it cannot be read or has another form.
    """
    path = place()
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT + 1)
    except FileNotFoundError:
        return KnownServers()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(content) > _LIMIT:
        raise UsageError(f"{path} has more than 1 MiB; is it a file of contexts?")
    return _parsed(path, content)


def write_known(known: KnownServers) -> None:
    """Replace the file at once; only its owner may read it. Raises: OSError."""
    import yaml  # noqa: PLC0415 - keeps completion fast

    path = place()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entries = {name: _written(each) for name, each in sorted(known.servers.items())}
    content = yaml.safe_dump({"current": known.current, "contexts": entries}, sort_keys=False)
    write_whole(path, content)


def known_server(name: str) -> KnownServer | None:
    """Return the server with a name, or the current one for "".

    None: no name was given, and none is current. Raises: UsageError if there is none of that name.
    Implements: EXT-75.
    """
    known = read_known()
    wanted = name or known.current
    if not wanted:
        return None
    if wanted not in known.servers:
        raise UsageError(no_such(wanted, known))
    return known.servers[wanted]


def names_that_begin(incomplete: str) -> list[str]:
    """Return the names of contexts that a shell offers; none if the file cannot be read."""
    try:
        return [name for name in sorted(read_known().servers) if name.startswith(incomplete)]
    except UsageError:
        return []


def no_such(name: str, known: KnownServers) -> str:
    """Return the line that says that there is no context of that name, and which there are."""
    there = ", ".join(sorted(known.servers)) or "none"
    return f"no context {name!r} in {place()}; it has: {there}; 'remuda context set' adds one"


def check_name(name: str) -> None:
    """Go on only with a name that a context may have. Raises: UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name of a context: it has 1 to 64 letters, digits and . _ @ -,"
            " and begins with a letter or digit"
        )


def check_private(path: Path) -> None:
    """Go on only if nobody but its owner may read a file with a token.

    Raises: UsageError if others may, or if it is not there.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(f"token-file {path}: {error.strerror}") from None
    if stat.S_ISREG(mode) and mode & _OTHERS:
        raise UsageError(
            f"token-file {path}: others than its owner may use it; run 'chmod 600 {path}'"
        )


def _written(each: KnownServer) -> dict[str, str]:
    found = {"server": each.server}
    if each.token_file is not None:
        found["token-file"] = str(each.token_file)
    if each.server_ca is not None:
        found["server-ca"] = str(each.server_ca)
    return found


def _parsed(path: Path, content: bytes) -> KnownServers:
    import yaml  # noqa: PLC0415 - most people have no such file

    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UsageError(f"{path} is no YAML; 'remuda context set' writes such a file") from None
    if found is None:
        return KnownServers()
    if not isinstance(found, dict) or found.keys() - {"current", "contexts"}:
        raise UsageError(f"{path}: its keys are 'current' and 'contexts'")
    current, contexts = found.get("current") or "", found.get("contexts") or {}
    if not isinstance(current, str) or not isinstance(contexts, dict):
        raise UsageError(f"{path}: 'current' is a name, and 'contexts' has an entry for each name")
    return KnownServers(current, {str(name): _entry(path, name, e) for name, e in contexts.items()})


def _entry(path: Path, name: object, entry: object) -> KnownServer:
    where = f"{path}: contexts.{name}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"{path}: {name!r} is no name of a context")
    if not isinstance(entry, dict) or entry.keys() - set(_KEYS) or "server" not in entry:
        raise UsageError(f"{where} has 'server', and may have 'token-file' and 'server-ca'")
    values = [entry.get(key) for key in _KEYS]
    if not all(value is None or _is_line(value) for value in values):
        raise UsageError(f"{where}: each value is one line of text")
    server, token_file, authorities = values
    assert isinstance(server, str)
    return KnownServer(server, _path(token_file), _path(authorities))


def _is_line(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _path(value: object) -> Path | None:
    return Path(value).expanduser() if isinstance(value, str) else None
