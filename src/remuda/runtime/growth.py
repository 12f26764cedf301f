"""Passes on to the core that it may take nothing new (rule EXT-39)."""

from __future__ import annotations

from collections.abc import Callable

from remuda.core.messages.commands import Command, LimitGrowth


class Growth:
    """Whether the core may take what is new.

    Args:
        handle: has the core handle a command; core thread.
        wake: has the core thread look, some time.

    Rules: EXT-39.
    """

    def __init__(self, handle: Callable[[Command], object], wake: Callable[[], object]) -> None:
        self._handle = handle
        self._wake = wake
        self._shortage = self._told = ""

    def limit(self, shortage: str) -> None:
        """Let the core refuse what is new while there is a ``shortage``, "" for none. Any thread.

        It learns of it before it handles the next request, however many wait.
        """
        if shortage != self._shortage:
            self._shortage = shortage
            self._wake()

    def settle(self) -> None:
        """Tell the core what it was not told yet. Core thread."""
        shortage = self._shortage
        if shortage != self._told:
            self._told = shortage
            self._handle(LimitGrowth(shortage))
