"""Prevents the gRPC library from leaving garbage behind with every call.

When the library looks for the handler of a call, it makes a function that refers to itself and to
the metadata of the call. Only a collector of cyclic garbage frees that, and in a process that
schedules the collector looks at some objects only (see runtime/collection.py). So each call would
cost memory of up to the size of its metadata for ever. The search of the library is therefore
replaced by one that does the same without that function. A test fails if a version of the library
comes that leaves something behind again.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, Protocol

import grpc

# Private, and without types.
_INSIDE: Final = "grpc._cython.cygrpc"

# The function that is replaced, and what it takes; with other parameters it is left alone.
_SEARCH: Final = "_find_method_handler"
_DETAILS: Final = "_HandlerCallDetails"
_PARAMETERS: Final = ["method", "metadata", "method_resolver", "interceptors"]


class _Resolver(Protocol):
    """The library's table of methods."""

    def resolve_handler(self, details: grpc.HandlerCallDetails, /) -> Any:
        """Return the handler of a method, None if there is none."""


def replace_search() -> None:
    """Replace the search of the library in this process. Repeating is harmless."""
    inside = import_module(_INSIDE)
    search = getattr(inside, _SEARCH, None)
    if search is not None and list(inspect.signature(search).parameters) == _PARAMETERS:
        setattr(inside, _SEARCH, _find_handler)


async def _find_handler(
    method: str,
    metadata: Any,
    method_resolver: _Resolver,
    interceptors: tuple[grpc.aio.ServerInterceptor, ...],
) -> Any:
    """Return the handler of a method, the way the interceptors want it; None: there is none."""
    details = getattr(import_module(_INSIDE), _DETAILS)(method, metadata)
    return await _ask(interceptors, method_resolver, details)


async def _ask(
    interceptors: Sequence[grpc.aio.ServerInterceptor],
    resolver: _Resolver,
    details: grpc.HandlerCallDetails,
) -> Any:
    if not interceptors:
        return resolver.resolve_handler(details)
    further = partial(_ask, interceptors[1:], resolver)
    return await interceptors[0].intercept_service(further, details)
