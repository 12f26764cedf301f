"""How commands reach the local node: where its service listens, what lets them in, what it says.

The service writes its address and a secret into its state directory, which only its owner reads.
So the commands of the same user need no option. Others name a server and a token, as for all else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from remuda.base.errors import RemudaError
from remuda.base.texts import shown
from remuda.cli.failures import NotThereError
from remuda.cli.local_answers import CommandSeen, OutputSeen, command_of, output_of
from remuda.cli.server import (
    HttpServer,
    NoRouteError,
    NotReachableError,
    RefusedError,
    WrongRequestError,
    path_of,
    server_at,
)

# Exit code of 'run' when Remuda itself failed.
FAILED: Final = 125

# Seconds for which a service may be away, as when it is started again, and between two tries.
_AWAY_SECONDS: Final = 60.0
_AGAIN_SECONDS: Final = 0.2
# After these the user is told what is waited for.
_QUIET_SECONDS: Final = 5.0

# Seconds that the server waits for something to happen.
_WAIT: Final = 20

_ADDRESS_LIMIT: Final = 1_024

LocalDirOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIRECTORY",
        envvar="REMUDA_LOCAL_DIR",
        help="State directory of the local node. Default: remuda/local below XDG_STATE_HOME, which"
        " is ~/.local/state if it is not set.",
    ),
]
IdArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="What 'remuda submit' printed.")
]
IdsArgument: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="ID", help="What 'remuda submit' printed.")
]


def state_directory() -> Path:
    """Return where the local node of this user keeps its state, if nobody says otherwise."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # A path that is not absolute does not count, as that standard says.
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return root / "remuda" / "local"


class LocalNode:
    """The local node as commands see it; each call finds out anew where it is.

    A service that was started again has another secret, and may have another address.
    """

    def __init__(
        self,
        server: str | None,
        context: str,
        token_file: Path | None,
        server_ca: Path | None,
        local_dir: Path | None,
    ) -> None:
        self._server, self._context = server, context
        self._token_file, self._server_ca = token_file, server_ca
        self._directory = local_dir or state_directory()

    def submit(self, content: bytes) -> CommandSeen:
        """Submit a command. Raises: RemudaError."""
        server = self._called()
        try:
            return command_of(server.post(path_of("local", "commands"), content))
        except NoRouteError:
            raise _no_local_node(server) from None
        except RefusedError as error:
            raise self._hinted(error) from None

    def cancel(self, identity: str) -> CommandSeen:
        """Cancel a command. Raises: RemudaError."""
        path = path_of("local", "command", identity, "cancel")
        return command_of(self._asked(identity, lambda server: server.post(path, b"{}")))

    def stage_after(self, identity: str, stage: str) -> CommandSeen:
        """Return a command once it has another stage, or after some time. Raises: RemudaError."""
        options = {"stage": stage, "wait": str(_WAIT)}
        path = path_of("local", "command", identity)
        return command_of(self._asked(identity, lambda server: server.get(path, options)))

    def output(self, identity: str, places: list[int], wait: int = _WAIT) -> OutputSeen:
        """Return what the tasks wrote from their places on. Raises: RemudaError."""
        options = {"from": ",".join(map(str, places)), "wait": str(wait)}
        path = path_of("local", "command", identity, "output")
        return output_of(self._asked(identity, lambda server: server.get(path, options)))

    def _asked(self, identity: str, ask: Callable[[HttpServer], bytes]) -> bytes:
        """Ask until the service answers; it may be away for a while. Raises: RemudaError."""
        deadline, told = time.monotonic() + _AWAY_SECONDS, False
        while True:
            server = self._called()
            try:
                return ask(server)
            except NoRouteError:
                raise _no_local_node(server) from None
            except WrongRequestError as error:
                if error.status == 404:
                    raise NotThereError(f"{shown(identity)}: {error}") from None
                raise
            except RefusedError as error:
                if not self._may_be_new() or time.monotonic() >= deadline:
                    raise self._hinted(error) from None
            except NotReachableError as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                if left <= _AWAY_SECONDS - _QUIET_SECONDS and not told:
                    told = True
                    print(f"remuda: {error}; trying again for {left:.0f} s", file=sys.stderr)
            time.sleep(_AGAIN_SECONDS)

    def _may_be_new(self) -> bool:
        """Whether the secret may be that of a service that was ended meanwhile."""
        return self._token_file is None and bool(self._recorded())

    def _called(self) -> HttpServer:
        """Return the server to call, with what lets this user in. Raises: UsageError."""
        recorded = self._recorded()
        if not recorded or not self._is_meant(recorded):
            return server_at(self._server, self._token_file, self._server_ca, self._context)
        return server_at(recorded, self._token_file or self._secret(), self._server_ca)

    def _is_meant(self, recorded: str) -> bool:
        """Whether the recorded address is to be called. The secret is told to no other."""
        named = self._server is not None or bool(self._context)
        return not named or self._server == recorded

    def _hinted(self, error: RefusedError) -> RefusedError:
        """Return a refusal that says what lets a user in who named no token."""
        if self._token_file is not None:
            return error
        return RefusedError(
            f"{error}; for a local node of yours, name the directory that it has by --local-dir"
            f" (here it is {shown(str(self._directory))}) and leave out --server and --context"
        )

    def _secret(self) -> Path | None:
        """Return the file with the secret of the service. Raises: UsageError."""
        from remuda.cli.known_servers import check_private  # noqa: PLC0415 - as the others

        path = self._directory / "token"
        if not path.exists():
            return None
        check_private(path)
        return path

    def _recorded(self) -> str:
        """Return the address in the state directory, "" if there is none to read."""
        try:
            with (self._directory / "address").open(encoding="ascii") as file:
                return file.read(_ADDRESS_LIMIT).strip()
        except (OSError, UnicodeDecodeError):
            return ""


def _no_local_node(server: HttpServer) -> RemudaError:
    """Return the error for a scheduler without the routes of a local node. Rules: EXT-111."""
    return RemudaError(
        f"the scheduler at {server.address} has no local node; 'remuda serve --local-node' makes"
        " its machine one"
    )
