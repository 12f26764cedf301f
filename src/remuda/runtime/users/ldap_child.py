"""The process that talks to the LDAP server; started by ldap.py, imports nothing of remuda.

The LDAP library connects, shakes hands and binds while it holds the interpreter, so a slow
server would stop every thread, that of the scheduler included. Here it can stop nobody. A lookup
that takes too long ends this process, by an alarm that needs no interpreter.

Standard input: one line of settings, then one line per filter; standard output: one line per
answer; all JSON. The end of the input ends the process.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import bonsai


class Directory:
    """A connection that is opened when it is needed and kept."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        scheme = "ldaps" if settings["ssl"] else "ldap"
        self._client = bonsai.LDAPClient(f"{scheme}://{settings['host']}:{settings['port']}")
        self._client.set_credentials("SIMPLE", user=settings["user"], password=settings["password"])
        self._client.set_cert_policy("never" if settings["insecure"] else "demand")
        self._connection: Any = None

    def values(self, text: str) -> list[str]:
        """Return the values of the group attribute of all entries that match a filter.

        A connection that was open may have been closed by the server since, so then a second
        attempt is made with a new one.
        """
        if self._connection is not None:
            try:
                return self._search(text)
            except (bonsai.errors.ConnectionError, bonsai.errors.ClosedConnection):
                self._connection = None
        try:
            self._connection = self._client.connect(timeout=self._settings["seconds"])
            return self._search(text)
        except bonsai.LDAPError:
            self._connection = None
            raise

    def _search(self, text: str) -> list[str]:
        entries = self._connection.search(
            self._settings["base"],
            bonsai.LDAPSearchScope.SUBTREE,
            text,
            self._settings["attributes"],
            timeout=self._settings["seconds"],
            sizelimit=self._settings["entries"],
        )
        name = self._settings["group_attribute"]
        return [str(value) for entry in entries for value in entry.get(name, [])]


def main() -> None:
    """Answer filters until the input ends."""
    settings = json.loads(sys.stdin.readline())
    directory = Directory(settings)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, 2 * settings["seconds"])
        try:
            answer: dict[str, object] = {"values": directory.values(json.loads(line))}
        except bonsai.errors.SizeLimitError:
            answer = {"many": f"more than {settings['entries']} entries match the filter"}
        except bonsai.LDAPError as error:
            answer = {"fault": str(error) or type(error).__name__}
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
