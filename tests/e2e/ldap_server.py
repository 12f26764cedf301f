"""A real LDAP server on a free loopback port, and a proxy that makes it slow."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
SLAPD = shutil.which("slapd", path=SEARCH_PATH)
SLAPADD = shutil.which("slapadd", path=SEARCH_PATH)
SCHEMA = Path("/etc/ldap/schema")
MODULES = Path("/usr/lib/ldap")

READY_SECONDS = 20.0
PASSWORD = "reader's secret"
READER = "cn=reader,dc=example,dc=com"


def missing() -> str:
    """Why the tests with a server cannot run here, "" if they can."""
    if find_spec("bonsai") is None:
        return "the LDAP library is not installed (make ldap)"
    if SLAPD is None or SLAPADD is None:
        return "there is no slapd to test against (make ldap)"
    return ""


# `title` stands for memberOf in some entries: any attribute can hold the names of groups.
ENTRIES = f"""
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: {READER}
objectClass: person
cn: reader
sn: reader
userPassword: {PASSWORD}

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=bob,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Bob
title: CN=title-group,OU=groups,DC=example,DC=com

dn: uid=jo*n,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: jo*n
cn: Jo Star
sn: Star
title: cn=star,ou=groups,dc=example,dc=com

dn: uid=john,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: john
cn: John
sn: John
title: cn=plain,ou=groups,dc=example,dc=com

dn: uid=par)en,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: par)en
cn: Paren
sn: Paren
title: cn=parenthesis,ou=groups,dc=example,dc=com
title: not a name of an entry
"""

# Added after the members, so that the server itself writes memberOf into their entries.
GROUPS = r"""
dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: cn=dev,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: dev
member: uid=bob,ou=people,dc=example,dc=com

dn: cn=Smith\, John,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: Smith, John
member: uid=bob,ou=people,dc=example,dc=com
"""


class LdapServer:
    """A server with the entries above; it stops and starts again on the same port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        (directory / "data").mkdir()
        (directory / "slapd.conf").write_text(self._configuration())
        self._add(ENTRIES)

    def __enter__(self) -> Self:
        self.start()
        self._modify(GROUPS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it listens."""
        assert SLAPD is not None
        self._process = subprocess.Popen(
            [
                SLAPD,
                "-d0",
                "-h",
                f"ldap://127.0.0.1:{self.port}",
                "-f",
                str(self._directory / "slapd.conf"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.port, self._process)

    def stop(self) -> None:
        """Stop it; connections break."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(READY_SECONDS)
            self._process = None

    def settings(self, directory: Path, **changes: str) -> Path:
        """Write settings that lead here, one file each."""
        values = {
            "Host": "127.0.0.1",
            "Port": str(self.port),
            "BaseDN": "ou=people,dc=example,dc=com",
            "Filter": "(&(objectClass=inetOrgPerson)(uid=%s))",
            "GroupAttr": "memberOf",
            "ReturnAttr": "memberOf",
            "BindUser": READER,
            "BindPassword": PASSWORD,
        }
        directory.mkdir(exist_ok=True)
        for name, value in {**values, **changes}.items():
            (directory / name).write_text(value)
        return directory

    def _configuration(self) -> str:
        schemas = "\n".join(
            f"include {SCHEMA / name}.schema" for name in ("core", "cosine", "inetorgperson")
        )
        return f"""
{schemas}
modulepath {MODULES}
moduleload back_mdb
moduleload memberof
pidfile {self._directory / "pid"}
database mdb
maxsize 10485760
suffix "dc=example,dc=com"
rootdn "cn=root,dc=example,dc=com"
rootpw root
directory {self._directory / "data"}
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
overlay memberof
"""

    def _add(self, entries: str) -> None:
        assert SLAPADD is not None
        subprocess.run(
            [SLAPADD, "-f", str(self._directory / "slapd.conf")],
            input=entries.strip() + "\n",
            text=True,
            check=True,
            capture_output=True,
        )

    def _modify(self, entries: str) -> None:
        """Add entries over the wire, as the overlay needs it."""
        import bonsai  # noqa: PLC0415 - optional

        client = bonsai.LDAPClient(f"ldap://127.0.0.1:{self.port}")
        client.set_credentials("SIMPLE", user="cn=root,dc=example,dc=com", password="root")
        with client.connect() as connection:
            for block in entries.strip().split("\n\n"):
                pairs = [line.split(": ", 1) for line in block.splitlines()]
                entry = bonsai.LDAPEntry(pairs[0][1])
                for name, value in pairs[1:]:
                    entry[name] = [*entry.get(name, []), value]
                connection.add(entry)


class SlowProxy:
    """Passes bytes to a server; while ``held``, what the server answers is kept back."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.flowing = threading.Event()
        self.flowing.set()
        self.asked = threading.Event()
        self.connections = 0
        self._sockets: list[socket.socket] = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def hold(self) -> None:
        """Keep answers back from now on."""
        self.asked.clear()
        self.flowing.clear()

    def close(self) -> None:
        """End all connections."""
        self.flowing.set()
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(READY_SECONDS)
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            for pair in ((client, server, False), (server, client, True)):
                thread = threading.Thread(target=self._pass, args=pair)
                self._threads.append(thread)
                thread.start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65_536):
                if answers:
                    self.flowing.wait(READY_SECONDS)
                target.sendall(data)
                if not answers:
                    self.asked.set()
            if answers:
                self.flowing.wait(READY_SECONDS)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"slapd ended with code {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("slapd does not listen")
