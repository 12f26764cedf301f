"""The refusals of calls and streams: the table from errors to statuses, and their texts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final, NoReturn, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from remuda.base.errors import ConfigError, ProtocolError
from remuda.runtime.errors import LoopStoppedError, NotRegisteredError
from remuda.runtime.roster import RmState, RmStatus
from remuda.si.limits import MessageTooLargeError

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]

# Characters of a status text; it travels in a header, which has a limit of its own.
_DETAIL_LENGTH_LIMIT: Final = 2_000


class RefusalError(Exception):
    """Ends a call or stream with a status and one line that says why."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Turn the errors of a request into refusals with their statuses."""
    try:
        yield
    except MessageTooLargeError as error:
        raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)) from None
    except NotRegisteredError as error:
        raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, str(error)) from None
    except ProtocolError as error:
        raise RefusalError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None
    except DecodeError:
        raise RefusalError(
            grpc.StatusCode.INVALID_ARGUMENT, "the message is not the protobuf type of this method"
        ) from None
    except MemoryError:
        text = "the scheduler has no memory for this request; send less, or later"
        raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, text) from None
    except LoopStoppedError as error:
        raise RefusalError(grpc.StatusCode.UNAVAILABLE, str(error)) from None


async def abort(context: Context, refusal: RefusalError) -> NoReturn:
    """End a call with the status of a refusal."""
    try:
        await context.abort(refusal.code, refusal.detail[:_DETAIL_LENGTH_LIMIT])
    except grpc.aio.AbortError as error:
        asyncio.get_running_loop().call_soon(_forget, error)
        raise
    raise AssertionError("the library did not end the call")


def _forget(error: BaseException) -> None:
    """Cut the references of an error to its call, which refers to the error: a cycle otherwise."""
    error.__traceback__ = error.__context__ = None


def not_registered(rm_id: str, status: RmStatus | None) -> RefusalError:
    """Say that requests of an RM are not taken, and what to do about it.

    Implements: REC-12. Rules: RM-2, SI-101.
    """
    name = f"resource manager {rm_id[:300]!r}"
    if status is None:
        text = f"{name} is not registered; call RegisterResourceManager first"
    elif status.state is RmState.INIT:
        text = f"{name} is not registered yet; wait for the answer to its registration"
    else:
        text = f"{name} is not registered any more ({status.cause}); register again"
    return RefusalError(grpc.StatusCode.FAILED_PRECONDITION, text)


def one_line(error: ConfigError) -> str:
    """Return all problems in one line, the most important first."""
    return "; ".join(str(error).splitlines())
