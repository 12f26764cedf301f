"""A real API server for tests: etcd and kube-apiserver on free loopback ports, for a while.

    with RealServer() as server:
        ...  # server.kubeconfig is a file that leads there, as an administrator

The servers start empty and end with the block, or with the process that started them, however that
ends. There is no kubelet, and no controller unless ``controllers`` names some: pods wait until
somebody binds them, and stay Pending until somebody reports more.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from remuda_kubernetes.testing import credentials
from remuda_kubernetes.testing.binaries import Binaries, BinariesMissingError, find
from remuda_kubernetes.testing.kept import KeptProcess, free_ports, listens

# Long, for the machine may be busy with other things. It takes 3 seconds on 2 cores.
_READY_SECONDS: Final = 180.0
_PAUSE_SECONDS: Final = 0.05
# Between the choice of a free port and its use somebody else may take it.
_ATTEMPTS: Final = 3


class NotReadyError(Exception):
    """A server did not start; the text has the end of its log."""


class RealServer:
    """An API server and its store; also a context manager that starts and ends them.

    Args:
        directory: Where data, logs and the kubeconfig go; it is made if it is missing, and stays.
            Without it they are in a temporary folder, which is removed unless the block fails.
        binaries: The programs; without them those that ``binaries.find`` finds.
        options: More options of kube-apiserver, such as ``--runtime-config=...``.
        users: Names and groups of users beside the administrator. If there are any, roles (RBAC)
            decide what they may do. Without users everything is allowed.
        controllers: Controllers of kube-controller-manager to run, such as ``disruption``.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        binaries: Binaries | None = None,
        options: Sequence[str] = (),
        users: Mapping[str, Sequence[str]] | None = None,
        controllers: Sequence[str] = (),
    ) -> None:
        self._binaries = binaries or find()
        self._temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="kube-apiserver-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self._options = list(options)
        self._users = dict(users or {})
        self._groups = {**self._users, credentials.ADMINISTRATOR: [credentials.ADMINISTRATORS]}
        self._tokens = {name: credentials.token() for name in self._groups}
        self._controllers = ",".join(controllers)
        self._processes: dict[str, KeptProcess] = {}
        self._port = 0
        self._store_port = 0

    @property
    def address(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of an administrator; only the owner of the process may read it."""
        return self.kubeconfig_of(credentials.ADMINISTRATOR)

    def kubeconfig_of(self, user: str) -> Path:
        """Return the kubeconfig of one of the ``users``."""
        return self.directory / f"{user}.kubeconfig"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException as error:
            error.add_note(f"the logs of the servers are in {self.directory}")
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()
        if error is not None:
            error.add_note(f"the logs of the servers are in {self.directory}")
        elif self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        """Start both servers and wait until they are ready."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._port, self._store_port = free_ports(2)
            try:
                self._start_store()
                self.start_api()
            except NotReadyError as error:
                self.end()
                if attempt == _ATTEMPTS or "address already in use" not in str(error):
                    raise
            except BaseException:
                self.end()
                raise
            else:
                return

    def end(self) -> None:
        """Kill all servers and remove their data; the logs stay."""
        for name in reversed(list(self._processes)):
            self._processes.pop(name).end()
        shutil.rmtree(self.directory / "store", ignore_errors=True)

    def start_api(self) -> None:
        """Start the API server, after ``end_api`` with what it knew and on the same port."""
        self._run("kube-apiserver", self._api_command())
        self._wait_until(self._is_ready)
        authority = self._authority().read_bytes()
        for name, secret in self._tokens.items():
            text = credentials.kubeconfig(self.address, user_token=secret, authority=authority)
            credentials.write_secret(self.kubeconfig_of(name), text)
        if self._controllers and "kube-controller-manager" not in self._processes:
            self._start_controllers()

    def end_api(self) -> None:
        """Kill the API server; its store stays, and so do its objects."""
        self._processes.pop("kube-apiserver").end()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Let the API server be gone as long as the context lasts."""
        self.end_api()
        try:
            yield
        finally:
            self.start_api()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Let the API server answer nothing as long as the context lasts; connections stay open."""
        server = self._processes["kube-apiserver"]
        server.pause()
        try:
            yield
        finally:
            server.resume()

    def _run(self, name: str, command: Sequence[str | Path]) -> None:
        self._processes[name] = KeptProcess(command, self.directory / f"{name}.log")

    def _start_store(self) -> None:
        client = f"http://127.0.0.1:{self._store_port}"
        peer = "http://127.0.0.1:0"
        command: list[str | Path] = [self._binaries.etcd, f"--data-dir={self.directory / 'store'}"]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        command += [f"--initial-cluster=default={peer}"]
        # Nothing is to survive a crash of the machine, so that no write need wait for the disk.
        command += offered(self._binaries.etcd, "--unsafe-no-fsync")
        self._run("etcd", command)

    def _api_command(self) -> list[str | Path]:
        key = self.directory / "accounts.key"
        if not key.exists():
            credentials.write_secret(key, credentials.signing_key())
        tokens = credentials.token_file(self._groups, self._tokens)
        credentials.write_secret(self.directory / "tokens.csv", tokens)
        return [
            self._binaries.api_server,
            f"--etcd-servers=http://127.0.0.1:{self._store_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={self.directory / 'certificates'}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            f"--authorization-mode={'RBAC' if self._users else 'AlwaysAllow'}",
            "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Nobody makes the accounts that pods would have to use.
            "--disable-admission-plugins=ServiceAccount",
            # The endpoint of the service `kubernetes` may not be a loopback address.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            *self._options,
        ]

    def _start_controllers(self) -> None:
        program = self._binaries.controller_manager
        if program is None:
            raise BinariesMissingError(f"{self._binaries.folder} has no kube-controller-manager")
        (port,) = free_ports(1)
        command: list[str | Path] = [program, f"--kubeconfig={self.kubeconfig}"]
        command += [f"--controllers={self._controllers}", "--leader-elect=false"]
        command += ["--bind-address=127.0.0.1", f"--secure-port={port}"]
        command += [f"--cert-dir={self.directory / 'certificates'}"]
        # Old versions listen on every address of the machine, too.
        command += offered(program, "--port", "=0")
        self._run("kube-controller-manager", command)
        self._wait_until(lambda: listens(port))

    def _authority(self) -> Path:
        """The certificate that the API server made for itself."""
        return self.directory / "certificates" / "apiserver.crt"

    def _is_ready(self) -> bool:
        return self._answers("/readyz") and self._answers("/api/v1/namespaces/default")

    def _wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until something is so; the end of a server is an error."""
        deadline = time.monotonic() + _READY_SECONDS
        while not ready():
            for process in self._processes.values():
                if process.ended:
                    raise NotReadyError(process.why())
            if time.monotonic() > deadline:
                raise NotReadyError(f"the servers are not ready; see the logs in {self.directory}")
            time.sleep(_PAUSE_SECONDS)

    def _answers(self, path: str) -> bool:
        """Whether the server answers a request with 200."""
        try:
            trust = ssl.create_default_context(cafile=self._authority())
            connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=trust)
            secret = self._tokens[credentials.ADMINISTRATOR]
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
                return connection.getresponse().status == http.HTTPStatus.OK
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False


def offered(program: Path, option: str, value: str = "") -> list[str]:
    """Return an option if this version of a program has it."""
    told = subprocess.run(  # noqa: S603 - the user's own program
        [program, "--help"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(rf"^\s*{option}\b(?!-)", told, re.MULTILINE)
    return [option + value] if found else []
