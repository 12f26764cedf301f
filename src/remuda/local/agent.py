"""The resource manager of this machine, in the process of the service, on a thread of its own.

Everything comes to that thread by one queue: what people submit, what the scheduler says, and the
time at which it looks for tasks that have ended. So nothing here has a lock, disks and new
processes delay neither the scheduler nor the HTTP API, and the order of events is the order in
which they are dealt with.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, TypeAlias, TypeVar

from remuda.base.errors import ConfigError, ProtocolError
from remuda.edges.inproc import InProcessScheduler
from remuda.local import effects as effect
from remuda.local import requests
from remuda.local.bounds import Bounds
from remuda.local.commands import Commands
from remuda.local.devices import Devices
from remuda.local.directory import StateDirectory
from remuda.local.machine import Machine
from remuda.local.processes import Keepers, end_task, order_of
from remuda.local.records import FAILED, Command, Outcome, Task
from remuda.runtime.errors import LoopStoppedError
from remuda.si.pb import si_pb2 as si

T = TypeVar("T")

_Step: TypeAlias = Callable[[], object]

_log = logging.getLogger("remuda.local")

# Seconds between two looks for tasks that have ended, and without tasks between two awakenings.
_LOOK_SECONDS: Final = 0.05
_IDLE_SECONDS: Final = 1.0

# Seconds until registering is tried again, or writing to a disk that was full.
_AGAIN_SECONDS: Final = 1.0

# Commands that are written down in one look.
_WRITTEN_AT_ONCE: Final = 100


class LocalAgent:
    """Runs the commands of this machine; ``start``, and ``stop`` at the end.

    ``config``: queue file to register with, "" for that of the scheduler. ``bounds``: binds tasks.
    ``changes`` is another number after each event, so that a reader knows when to look again. What
    runs goes on after ``stop``. Rules: EXT-102, EXT-103, EXT-107.
    """

    def __init__(
        self,
        scheduler: InProcessScheduler,
        directory: StateDirectory,
        machine: Machine,
        config: str,
        bounds: Bounds,
    ) -> None:
        self._bounds = bounds
        self._scheduler = scheduler
        self._directory = directory
        self.machine = machine
        self._config = config
        self._steps: queue.SimpleQueue[_Step | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="remuda-local", daemon=True)
        self._keepers = Keepers()
        self._to_end: dict[tuple[str, int], None] = {}
        # Commands that have ended, which the disk did not take, and when it is tried again.
        self._unwritten: dict[str, Command] = {}
        self._write_at = 0.0
        # Nothing is told before the first registration.
        self._register_at: float | None = math.inf
        self.commands = Commands(Devices(machine.cores, machine.gpus))
        self.changes = 0
        self.stopping = False
        self.failure: Future[None] = Future()

    def start(self) -> None:
        """Read what is kept, register, and report what runs. Raises: ConfigError, ProtocolError."""
        for command in self._directory.load():
            self.commands.restore(command)
        running = self.commands.running()
        self._bounds.drop_others([(command.identity, task.index) for command, task in running])
        for command, task in running:
            if self._directory.is_to_end(command.identity, task.index):
                self._to_end[command.identity, task.index] = None
        for each in self.commands.take():
            # What ended meanwhile is written down; the scheduler knows nothing of it yet.
            self._act(each)
        self._register()
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Tasks go on, and are found again at the next start."""
        self.stopping = True
        self._steps.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Run a function on the agent's thread; its effects are carried out before the answer.

        It is not run if the answer was cancelled before, since nobody waits for it any more.
        """
        answer: Future[T] = Future()

        def step() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                found = function()
                self._carry_out()
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                answer.set_exception(error)
            else:
                answer.set_result(found)

        self._steps.put(step)
        return answer

    # ----------------------------------------------------- callbacks, on the core thread

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Pass on what was placed, is wanted back or was refused."""
        commands = self.commands
        for new in response.new:
            self._later(commands.placed, new.applicationID, new.allocationKey)
        for old in response.released:
            key = old.allocationKey or old.allocationID
            self._later(commands.ordered, old.applicationID, key, old.terminationType)
        for ask in response.rejected:
            self._later(commands.refused, ask.applicationID, ask.allocationKey, ask.reason)
        for run in response.rejectedAllocations:
            self._later(commands.refused, run.applicationID, run.allocationKey, run.reason)

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Pass on what became of applications."""
        for refused in response.rejected:
            self._later(self.commands.refused, refused.applicationID, "", refused.reason)
        for each in response.updated:
            self._later(self.commands.moved, each.applicationID, each.state, each.message)

    def update_node(self, response: si.NodeResponse) -> None:
        """Tell the log if the scheduler does not take the node."""
        for each in response.rejected:
            _log.error("the scheduler refuses node %s: %s", each.nodeID, each.reason)

    def _later(self, method: Callable[..., None], *arguments: object) -> None:
        self._steps.put(lambda: method(*arguments))

    # --------------------------------------------------------------- the agent's thread

    def _run(self) -> None:
        try:
            while self._step():
                pass
        except LoopStoppedError:
            pass  # the service ends for the same reason
        except BaseException as error:  # noqa: BLE001 - the service ends with it
            self.failure.set_exception(error)

    def _step(self) -> bool:
        """Deal with what comes next; False: this is the end."""
        busy = self._to_end or self.commands.running()
        try:
            step = self._steps.get(timeout=_LOOK_SECONDS if busy else _IDLE_SECONDS)
        except queue.Empty:
            pass
        else:
            if step is None:
                return False
            step()
        # Tasks are started before they are looked at: without a keeper they would count as ended.
        self._carry_out()
        self._look()
        self._carry_out()
        self.changes += 1
        return True

    def _look(self) -> None:
        """Find tasks that have ended, and end those that could not be ended before."""
        self._keepers.reap()
        for command, task in self.commands.running():
            outcome = self._directory.outcome_of(command, task)
            if outcome is not None:
                self._to_end.pop((command.identity, task.index), None)
                self._bounds.drop(command.identity, task.index)
                self.commands.ended(command.identity, task.index, outcome)
        for identity, index in list(self._to_end):
            if end_task(self._directory.task(identity, index)):
                del self._to_end[identity, index]
        if self._unwritten and time.monotonic() >= self._write_at:
            self._write_down(list(self._unwritten.values())[:_WRITTEN_AT_ONCE])
        if self._register_at is None:
            if not self._scheduler.takes_requests(requests.RM_ID):
                self._lost("the scheduler does not know it any more")
        elif time.monotonic() >= self._register_at:
            self._register_again()

    def _carry_out(self) -> None:
        for each in self.commands.take():
            self._act(each)

    def _act(self, each: effect.Effect) -> None:
        match each:
            case effect.StartTask(command, index):
                self._start(command, command.tasks[index])
            case effect.EndTask(command, index):
                self._to_end[command.identity, index] = None
                self._directory.order_end(command.identity, index)
            case effect.WriteDown(command):
                self._write_down([command])
            case effect.ForgetCommand(identity):
                self._unwritten.pop(identity, None)
                self._directory.forget(identity)
            case _:
                self._send(each)

    def _write_down(self, commands: Sequence[Command]) -> None:
        """Write down how commands ended; what the disk does not take is tried again later."""
        for each in commands:
            try:
                self._directory.write_outcome(each)
            except OSError as error:
                if each.identity not in self._unwritten:
                    what = f"how {each.identity} ended cannot be written down"
                    _log.warning("%s, it is tried again: %s", what, error.strerror)
                self._unwritten[each.identity] = each
                self._write_at = time.monotonic() + _AGAIN_SECONDS
            else:
                self._unwritten.pop(each.identity, None)

    def _start(self, command: Command, task: Task) -> None:
        own = self._directory.task(command.identity, task.index)
        try:
            bound = self._bounds.bind(command, task)
            order = order_of(command, task, gpus=bool(self.machine.gpus), bound=bound)
            self._directory.write_order(command, task, order)
            self._keepers.start(own, os.environ)
        except OSError as error:
            self._bounds.drop(command.identity, task.index)
            outcome = Outcome(FAILED, f"its keeper cannot be started: {error.strerror}")
            self.commands.ended(command.identity, task.index, outcome)

    # ------------------------------------------------------------------- the scheduler

    def _register(self) -> None:
        self._scheduler.register_resource_manager(requests.registration(self._config), self)
        self._register_at = None
        self.commands.request_all()
        told = False
        for each in self.commands.take():
            if not told and not isinstance(each, effect.AddApplication):
                self._scheduler.update_node(requests.node(self.machine, self._bounds.told))
                told = True
            self._act(each)
        if not told:
            self._scheduler.update_node(requests.node(self.machine, self._bounds.told))

    def _register_again(self) -> None:
        """Register once more: the scheduler has forgotten everything. Rules: EXT-107."""
        try:
            self._register()
        except (ConfigError, ProtocolError) as error:
            _log.warning("the local node cannot register, tries again: %s", error)
            self._register_at = time.monotonic() + _AGAIN_SECONDS

    def _send(self, each: effect.Effect) -> None:
        """Tell the scheduler. If it does not know us any more, all is told again later."""
        if self._register_at is not None:
            return
        try:
            self._tell(each)
        except ProtocolError as error:
            self._lost(str(error))

    def _lost(self, why: str) -> None:
        """Register again a little later: what took the place of this RM may be going."""
        _log.warning("the local node registers again: %s", why)
        self._register_at = time.monotonic() + _AGAIN_SECONDS

    def _tell(self, each: effect.Effect) -> None:
        scheduler = self._scheduler
        match each:
            case effect.AddApplication():
                scheduler.update_application(requests.application(each))
            case effect.RemoveApplication(application):
                scheduler.update_application(requests.removal(application))
            case effect.AskFor():
                scheduler.update_allocation(requests.ask(each))
            case effect.ReportTask():
                scheduler.update_allocation(requests.report(each, self.machine))
            case effect.ReleaseTask():
                scheduler.update_allocation(requests.release(each))
            case _:
                raise AssertionError(each)
