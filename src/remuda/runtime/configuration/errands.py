"""Changes of configurations, asked for by any thread and carried out on the core thread.

They are apart from the loop because administrators make these calls; scheduling does not.
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

# Pause between two pieces of large work on a configuration, so that waiting threads have their
# turn: after the comparison, before the change, and before the change is compared for the log.
_PAUSE_SECONDS: Final = 0.005

T = TypeVar("T")


class ConfigurationErrands:
    """The calls about configurations to a running scheduler. Any thread.

    Args: configurations: those in force. hand_out: delivers the effects of a change before its
        answer. send: brings an errand to the core thread. resolvers: know whether the resolvers a
        configuration names can be used.
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
        # Comparing thousands of queues takes a while. One thread keeps the order.
        self._logging = ThreadPoolExecutor(1, "remuda-log")

    def close(self) -> None:
        """Accept no more changes; those made are still logged."""
        self._logging.shutdown(wait=False)

    def update(
        self, command: UpdateConfiguration, *, stored: bool = False, process_wide: bool = True
    ) -> Future[ConfigurationChange]:
        """Replace the configuration of one RM; the future completes when all is in force.

        ``stored``: the document of its policy group is used instead of ``command.config`` (RM-5).
        ``process_wide`` off: its extra map changes only what is its own (KV-6). Fails with
        ProtocolError if the RM is not registered.
        Implements: SI-85, SI-88.
        """
        work = partial(
            self._configurations.update, command, stored=stored, process_wide=process_wide
        )
        return self._change(work, command.rm_id)

    def store(self, new: NewDocument) -> Future[ConfigurationChange]:
        """Replace a stored document for all RMs that use it, or for none (EXT-24).

        Fails with ProtocolError if no policy group is named and there are several.
        """
        return self._change(partial(self._configurations.store, new))

    def ready(self, configuration: Configuration, source: str = "<config>") -> Configuration:
        """Return a configuration that can be put in force at the cost of its differences.

        Its resolvers are loaded, and it shares equal parts with the configuration in force. This
        takes a while; do not call it on an event loop. ``source`` names it in errors. Raises:
        ConfigError.
        """
        self._resolvers.require(configuration, source)
        shared = share(configuration, self._configurations.latest)
        # Unneeded records are freed now; for thousands of queues that takes a while too.
        del configuration
        time.sleep(_PAUSE_SECONDS)
        return shared

    def loading(self, load: Load) -> Load:
        """Return ``load`` with ``ready`` after it."""
        return lambda text: self.ready(load(text))

    def group(self, named: str) -> Future[str]:
        """Return the named policy group or the only one.

        Fails with ProtocolError if there are several.
        """
        return self._send(Errand(partial(self._configurations.group, named)))

    def registered(self) -> Future[tuple[Registered, ...]]:
        """The RMs registered now, by ID."""
        return self._send(Errand(self._configurations.registered))

    def watch(self, watcher: ConfigurationWatcher) -> None:
        """Call ``watcher`` on the core thread for each configuration that comes into force.

        The watcher is called before the RM gets its answer, so its preparations are ready for the
        RM's next request.
        """
        self._configurations.watch(watcher)

    def _change(
        self, work: Callable[[], ConfigurationChange], rm_id: str = ""
    ) -> Future[ConfigurationChange]:
        def change_and_hand_out() -> ConfigurationChange:
            change = work()
            self._hand_out()
            return change

        answer: Future[ConfigurationChange] = promise()
        done = self._send(Errand(change_and_hand_out, rm_id, touches_core=True, large=True))
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
            # No thread could be started: the process is about to end, or has too many.
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
