"""Reads the body of a request that submits a command, strictly and within bounds."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Final, TypeAlias

import msgspec

from remuda.base.quantity import QuantityError, parse_quantity
from remuda.base.resources import MAX
from remuda.config.findings import cut, one_line
from remuda.edges.rest.requests.errors import ApiError
from remuda.local.commands import too_large
from remuda.local.records import Wanted

# Bytes of a body: arguments and environment of a program.
BODY_LIMIT: Final = 512 * 1024

# Tasks of a gang, and commands that have not ended.
GANG_LIMIT: Final = 256
LIVE_LIMIT: Final = 10_000

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_NAME_LENGTH: Final = 40
_ANY_NAME: Final = "command"

_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=128 * 1024)]
_Arguments: TypeAlias = Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16_384)]
_Environment: TypeAlias = Annotated[dict[_Text, _Text], msgspec.Meta(max_length=4_096)]
_Amounts: TypeAlias = Annotated[dict[str, str], msgspec.Meta(min_length=1, max_length=3)]


class _Body(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A command that is submitted."""

    arguments: _Arguments
    environment: _Environment = {}
    directory: Annotated[str, msgspec.Meta(max_length=4_096)] = "/"
    umask: Annotated[int, msgspec.Meta(ge=0, le=0o777)] = 0o077
    resources: _Amounts
    gang: Annotated[int, msgspec.Meta(ge=1, le=GANG_LIMIT)] = 1
    queue: Annotated[str, msgspec.Meta(max_length=1_024)] = ""
    name: Annotated[str, msgspec.Meta(max_length=_NAME_LENGTH)] = ""
    priority: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] = 0


_decoder = msgspec.json.Decoder(_Body, strict=True)


def wanted_of(content: bytes, number: int, user: str, capacity: Mapping[str, int]) -> Wanted:
    """Return the command in a body; ``number``: its place among all.

    Raises: ApiError 400, which says what is wrong and where. Implements: EXT-109.
    """
    try:
        body = _decoder.decode(content)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(f"it is not JSON: {error}") from None
    _check_texts(body)
    resources = {name: _amount(name, text) for name, text in body.resources.items()}
    lacking = too_large(resources, body.gang, capacity)
    if lacking:
        most = capacity.get(lacking, 0)
        raise _wrong(
            f"it needs more {cut(lacking)} than this machine has, which is {most};"
            " it would wait for ever"
        )
    return Wanted(
        number=number,
        identity=f"{body.name or _name_of(body.arguments[0])}-{number}",
        user=user,
        arguments=body.arguments,
        environment=body.environment,
        directory=body.directory,
        umask=body.umask,
        resources=resources,
        gang=body.gang,
        queue=body.queue,
        priority=body.priority,
        submitted_s=int(time.time()),
    )


def _check_texts(body: _Body) -> None:
    """Raise ApiError for texts that no process can have."""
    if not body.arguments[0]:
        raise _wrong("the program has no name - at arguments[0]")
    if not body.directory.startswith("/"):
        raise _wrong("directory has to begin with /")
    if body.name and not _NAME.fullmatch(body.name):
        raise _wrong(
            "name has up to 40 letters, digits and the characters _ . -, and begins with a letter"
            " or digit"
        )
    for name in body.environment:
        if not name or "=" in name:
            raise _wrong(f"a variable cannot be named {cut(name)!r} - at environment")
    texts = (body.directory, *body.arguments, *body.environment, *body.environment.values())
    if any("\0" in text for text in texts):
        raise _wrong("arguments, directory and environment cannot have the character NUL")


def _amount(name: str, text: str) -> int:
    """Return an amount in base units. Raises: ApiError."""
    try:
        amount = parse_quantity(name, text)
    except QuantityError as error:
        raise _wrong(f"{cut(name)} is {cut(text)!r}: {error} - at resources") from None
    if not 0 < amount <= MAX:
        raise _wrong(f"{cut(name)} has to be more than 0 - at resources")
    return amount


def _name_of(program: str) -> str:
    """Return a name for a command without one, after its program."""
    name = _NO_NAME.sub("-", PurePosixPath(program).name).lstrip("-_.")[:_NAME_LENGTH]
    return name or _ANY_NAME


def _wrong(text: str) -> ApiError:
    return ApiError(400, f"The command is wrong: {one_line(text)}")
