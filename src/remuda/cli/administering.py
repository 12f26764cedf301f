"""How commands change a running scheduler: the administrator's calls, asked for twice.

The HTTP API changes nothing, so these calls go over gRPC, where the role of an administrator is
checked and each deed is written into the audit log (ADR 30). Implements: EXT-82.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from remuda.base.errors import RemudaError, UsageError
from remuda.base.texts import shown
from remuda.cli.failures import NotThereError
from remuda.cli.server import NotReachableError, RefusedError, read_token

if TYPE_CHECKING:
    from remuda.client import Admin, Security

DEFAULT_GRPC: Final = "127.0.0.1:9079"

# What a refusal of gRPC begins with -> which exit code it has.
_NOT_THERE: Final = ("NOT_FOUND:",)
_REFUSED: Final = ("PERMISSION_DENIED:", "UNAUTHENTICATED:", "FAILED_PRECONDITION:", "ABORTED:")

GrpcOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_GRPC",
        help="The scheduler's gRPC listener; several with commas between them: the active one.",
    ),
]
GrpcAuthorityOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_CA",
        help="Authorities, in PEM, of the listener's certificate. Default: clear text.",
    ),
]
AdminTokenOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_TOKEN_FILE",
        help="File with the token of an administrator; - reads stdin.",
    ),
]
YesOption: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask; needed without a terminal.")
]


@contextmanager
def administrator(
    grpc: str, authorities: Path | None, token: Path | None, *, wrong: str = ""
) -> Iterator[Admin]:
    """Give the administrator's calls to one scheduler.

    ``wrong``: what a refusal begins with that is an error of the user. Raises: UsageError for such
    a one, NotReachableError, RefusedError, NotThereError or RemudaError, with one line each, for
    what goes wrong in a call.
    """
    from remuda.client import Admin  # noqa: PLC0415 - keeps help fast

    with failures_told(grpc, wrong=wrong), Admin(grpc, security=security(authorities, token)) as it:
        yield it


def security(authorities: Path | None, token: Path | None) -> Security:
    """Return what identifies the caller. Raises: UsageError."""
    from remuda.client import Security  # noqa: PLC0415 - keeps help fast

    return Security(authorities, token="" if token is None else read_token(token))


@contextmanager
def failures_told(grpc: str, *, wrong: str = "") -> Iterator[None]:
    """Tell in one line what goes wrong in calls.

    ``wrong``: what a refusal begins with that is an error of the user. Raises: as
    ``administrator``.
    """
    from remuda.client import ClientError  # noqa: PLC0415 - keeps help fast
    from remuda.connection.channel import NotAnsweredError  # noqa: PLC0415

    try:
        yield
    except NotAnsweredError as error:
        raise NotReachableError(shown(str(error))) from None
    except ClientError as error:
        text = shown(str(error))
        if wrong and text.startswith(wrong):
            raise UsageError(text) from None
        if text.startswith(_NOT_THERE):
            raise NotThereError(text.partition(": ")[2]) from None
        if text.startswith(_REFUSED):
            raise RefusedError(f"{grpc}: {text.partition(': ')[2]}") from None
        raise RemudaError(text) from None


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if a person agrees.

    Raises: UsageError if nobody can be asked; RemudaError if the answer is no.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{question}: nobody can be asked here; --yes says that you mean it")
    if not typer.confirm(question, err=True):
        raise RemudaError("nothing was changed")


def manager_of(admin: Admin, partition: str, rm: str) -> str:
    """Return the resource manager whose partition is meant.

    Raises: NotThereError if there is none; UsageError if there are several and none was named.
    """
    found = sorted(each.rm_id for each in admin.partitions() if each.name == partition)
    if rm in found:
        return rm
    if rm or not found:
        of = f" of the resource manager '{shown(rm)}'" if rm else ""
        raise NotThereError(f"no partition '{shown(partition)}'{of}")
    if len(found) > 1:
        raise UsageError(f"several have a partition {partition}; name one with --rm: {found}")
    return found[0]
