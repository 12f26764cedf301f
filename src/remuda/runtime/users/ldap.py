"""Groups from a directory server.

The lookups are done by child processes (ldap_child.py says why), one for each lookup that runs
at the same time; they keep their connections. A server that does not answer costs time only
once: for a while after, lookups fail at once instead of waiting for it one after another.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from remuda.runtime.users.ldap_settings import LdapSettings
from remuda.runtime.users.resolver import ResolutionError

# How long connecting, and how long a search, may take.
_TIMEOUT_SECONDS: Final = 5.0

# How long after a failure of the server no lookup is tried.
PAUSE_SECONDS: Final = 5.0

# Entries one user may match; the server is told not to send more.
ENTRIES_LIMIT: Final = 100

MISSING_LIBRARY: Final = "the LDAP library is not installed; install remuda with its extra 'ldap'"

_CHILD: Final = Path(__file__).with_name("ldap_child.py")
_SPECIAL: Final = re.compile(r"[\\*()\0]")

# The pieces of a DN: its first component, the parts of that, a value without blanks around it.
_COMPONENT: Final = re.compile(r"(?:[^\\,;]|\\.)*", re.DOTALL)
_PART: Final = re.compile(r"(?:[^\\+]|\\.)+", re.DOTALL)
_VALUE: Final = re.compile(r"\s*((?:[^\\]|\\.)*?)\s*", re.DOTALL)
_ESCAPED: Final = re.compile(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)", re.DOTALL)


def library_present() -> bool:
    """Whether lookups are possible at all."""
    return find_spec("bonsai") is not None


class _TooManyError(ResolutionError):
    """The filter does not single out one user; the server itself is well."""


class LdapResolver:
    """Looks groups up in a directory server.

    Args:
        settings: where and how.
        timeout_seconds: how long connecting and searching may take, each.
        now: seconds of a clock that only goes forward.

    Implements: UGR-25, UGR-28 (Ours).
    """

    def __init__(
        self,
        settings: LdapSettings,
        *,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._timeout = timeout_seconds
        self._now = now
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._closed = False
        self._trouble = ""
        self._trouble_until = 0.0

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the user and the groups of all entries found for it; every user exists.

        Raises: ResolutionError if the server gives no answer.
        """
        child = self._take()
        try:
            values = child.ask(self._settings.filter.replace("%s", escape(user)))
        except _TooManyError:
            self._give_back(child)
            raise
        except ResolutionError as error:
            child.close()
            with self._lock:
                self._busy.discard(child)
                self._trouble = str(error)
                self._trouble_until = self._now() + PAUSE_SECONDS
            raise
        self._give_back(child)
        names = [name for name in map(common_name, values) if name]
        return tuple(dict.fromkeys([user, *names]))

    def close(self) -> None:
        """End the child processes; lookups that run fail."""
        with self._lock:
            self._closed = True
            children, self._idle = self._idle, []
            # Those who wait for an answer of these find no more of it, and clean up.
            for child in self._busy:
                child.kill()
        for child in children:
            child.close()

    def _take(self) -> _Child:
        with self._lock:
            if self._closed:
                raise ResolutionError("LDAP lookups have ended")
            if self._now() < self._trouble_until:
                raise ResolutionError(self._trouble)
            idle = self._idle.pop() if self._idle else None
        child = idle or _Child(self._settings, self._timeout)
        self._note_busy(child)
        return child

    def _note_busy(self, child: _Child) -> None:
        with self._lock:
            self._busy.add(child)
            if self._closed:
                child.kill()

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            self._busy.discard(child)
            self._trouble_until = 0.0
            if not self._closed:
                self._idle.append(child)
                return
        child.close()


class _Child:
    """A child process with its own connection to the server; one lookup at a time."""

    def __init__(self, settings: LdapSettings, timeout_seconds: float) -> None:
        self._place = f"LDAP server {settings.host}:{settings.port}"
        self._timeout = timeout_seconds
        # Not in our process group: Ctrl-C is for the scheduler, which then ends its children.
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with contextlib.suppress(ResolutionError):
            self._tell(_wire_settings(settings, timeout_seconds))

    def ask(self, text: str) -> list[str]:
        """Return the values of the group attribute for a filter. Raises: ResolutionError."""
        self._tell(text)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ResolutionError(self._end())
        answer = json.loads(line)
        if "many" in answer:
            raise _TooManyError(f"{self._place}: {answer['many']}")
        if "fault" in answer:
            raise ResolutionError(f"{self._place}: {answer['fault']}")
        return [str(value) for value in answer["values"]]

    def kill(self) -> None:
        """End the process, whatever it does, while another thread may wait for its answer."""
        self._process.kill()

    def close(self) -> None:
        """End the process and give back what it held."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        self._process.wait()

    def _end(self) -> str:
        """Return why there is no answer. The process is about to end, or has."""
        code = self._process.wait()
        if code == -signal.SIGALRM:
            return f"{self._place} did not answer within {2 * self._timeout:g} s"
        return f"{self._place}: the lookup process ended with code {code}"

    def _tell(self, what: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise ResolutionError(f"{self._place}: the lookup process has ended") from None


def _wire_settings(settings: LdapSettings, timeout_seconds: float) -> dict[str, Any]:
    attributes = dict.fromkeys([*settings.return_attributes, settings.group_attribute])
    return {
        "host": settings.host,
        "port": settings.port,
        "ssl": settings.ssl,
        "insecure": settings.insecure,
        "user": settings.bind_user,
        "password": settings.bind_password,
        "base": settings.base,
        "attributes": list(attributes),
        "group_attribute": settings.group_attribute,
        "seconds": timeout_seconds,
        "entries": ENTRIES_LIMIT,
    }


def escape(user: str) -> str:
    """Return a user name as it may stand in a filter (RFC 4515). Rules: UGR-28 (Ours)."""
    return _SPECIAL.sub(lambda found: f"\\{ord(found.group()):02x}", user)


def common_name(dn: str) -> str:
    """Return the value of CN in the first component of a DN (RFC 4514), "" if it has none.

    Upper and lower case are the same, escaped characters are what they stand for.
    Rules: UGR-25, UGR-28 (Ours).
    """
    first = _COMPONENT.match(dn)
    assert first is not None
    for part in _PART.findall(first.group()):
        name, equals, value = part.partition("=")
        if equals and name.strip().lower() == "cn":
            return _unescaped(value)
    return ""


def _unescaped(value: str) -> str:
    """Undo the escapes of an attribute value; bytes given in hexadecimal are UTF-8."""

    def character(found: re.Match[str]) -> str:
        octets, literal = found.group(1), found.group(2)
        if octets:
            return bytes.fromhex(octets.replace("\\", "")).decode("utf-8", "replace")
        return str(literal)

    bare = _VALUE.fullmatch(value)
    return _ESCAPED.sub(character, bare.group(1) if bare else value)
