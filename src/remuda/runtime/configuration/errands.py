"""Changes of configurations, asked for by any thread and carried out on the core thread.

Kept apart from the loop because these are the calls of administrators, not of scheduling.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from remuda.config.schema import Configuration, Load
from remuda.config.sharing import share
from remuda.core.messages.commands import UpdateConfiguration
from remuda.runtime.configuration.configurations import (
    ConfigurationChange,
    Configurations,
    ConfigurationWatcher,
    NewDocument,
    Registered,
)
from remuda.runtime.configuration.differences import log_change
from remuda.runtime.errand import Errand, Send, promise
from remuda.runtime.users.choice import Resolvers

_log = logging.getLogger("remuda.runtime")

# Those who had to wait for large work on a configuration have their turn before more of it comes:
# after it was compared, before the change, and before that is looked at again, to be logged.
_PAUSE_SECONDS: Final = 0.005

T = TypeVar("T")


class ConfigurationErrands:
    """What a running scheduler is asked about its configurations. Any thread.

    Args:
        configurations: those in force.
        hand_out: delivers the effects of a change, so that they are out before the answer is.
        send: brings an errand to the core thread.
        resolvers: know whether what a configuration needs for users' groups can be had.
    """

    def __init__(
        self,
        configurations: Configurations,
        hand_out: Callable[[], None],
        send: Send,
        resolvers: Resolvers,
    ) -> None:
        self._configurations = configurations
        self._hand_out = hand_out
        self._send = send
        self._resolvers = resolvers
        # Comparing thousands of queues takes a while. One thread, so that it is done in order.
        self._logging = ThreadPoolExecutor(1, "remuda-log")

    def close(self) -> None:
        """Nothing will change any more; what did is still logged."""
        self._logging.shutdown(wait=False)

    def update(
        self, command: UpdateConfiguration, *, stored: bool = False
    ) -> Future[ConfigurationChange]:
        """Replace the configuration of one RM; completes when all of it is in force (SI-88).

        ``stored``: whatever ``command.config`` says, the document of its policy group counts
        (RM-5). Fails with ProtocolError if the RM is not registered (SI-85).
        """
        return self._change(partial(self._configurations.update, command, stored=stored))

    def store(self, new: NewDocument) -> Future[ConfigurationChange]:
        """Replace a stored document for all RMs that use it, or for none (EXT-24).

        Fails with ProtocolError if it is not clear which policy group is meant.
        """
        return self._change(partial(self._configurations.store, new))

    def ready(self, configuration: Configuration, source: str = "<config>") -> Configuration:
        """Return a configuration as it can be put in force at the cost of what is different.

        What it needs is there, and it shares with what is in force what both say alike. Takes a
        while; not on an event loop. ``source`` names it in errors. Raises: ConfigError.
        """
        self._resolvers.require(configuration, source)
        shared = share(configuration, self._configurations.latest)
        # What is not needed any more is freed now; for thousands of queues that takes a while, too.
        del configuration
        time.sleep(_PAUSE_SECONDS)
        return shared

    def loading(self, load: Load) -> Load:
        """Return ``load`` with ``ready`` after it."""
        return lambda text: self.ready(load(text))

    def group(self, named: str) -> Future[str]:
        """Return the policy group that is meant; fails with ProtocolError if that is not clear."""
        return self._send(Errand(partial(self._configurations.group, named)))

    def registered(self) -> Future[tuple[Registered, ...]]:
        """The RMs registered now, by ID."""
        return self._send(Errand(self._configurations.registered))

    def watch(self, watcher: ConfigurationWatcher) -> None:
        """Tell ``watcher`` which configuration comes into force for which RM, on the core thread.

        It is told before the RM, so that what it sets up is ready for the RM's next request.
        """
        self._configurations.watch(watcher)

    def _change(self, work: Callable[[], ConfigurationChange]) -> Future[ConfigurationChange]:
        def change_and_hand_out() -> ConfigurationChange:
            change = work()
            self._hand_out()
            return change

        answer: Future[ConfigurationChange] = promise()
        done = self._send(Errand(change_and_hand_out, touches_core=True, large=True))
        done.add_done_callback(partial(self._tell, answer))
        return answer

    def _tell(self, answer: Future[ConfigurationChange], done: Future[ConfigurationChange]) -> None:
        """Complete the answer to a change, after logging it if it is in force. Core thread.

        The logging happens on another thread, as it takes a while.
        """
        if (error := done.exception()) is not None:
            answer.set_exception(error)
            return
        change = done.result()
        if change.refused or not change.origin:
            answer.set_result(change)
            return
        try:
            self._logging.submit(_log_later, change, answer)
        except RuntimeError:
            # No thread can be had, because the process is about to end or has too many.
            _log_and_answer(change, answer)


def _log_later(change: ConfigurationChange, answer: Future[ConfigurationChange]) -> None:
    time.sleep(_PAUSE_SECONDS)
    _log_and_answer(change, answer)


def _log_and_answer(change: ConfigurationChange, answer: Future[ConfigurationChange]) -> None:
    try:
        log_change(change.origin, change.before, change.after, len(change.rm_ids))
    except Exception as error:  # noqa: BLE001 - the change is in force all the same
        _log.error("a change of a configuration could not be logged: %r", error)
    finally:
        answer.set_result(change)
