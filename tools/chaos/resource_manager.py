"""A resource manager without machines: a process that may be killed at any instruction.

It runs small tasks that end at random. What it believes is in a file (belief.py); when it starts,
or loses the scheduler, it registers and sends everything anew (REC-2). Commands arrive on its
standard input, one a line, and it ends with that:

    go         make new work and end some
    hold       do nothing new, but answer what the scheduler sends
    probe KEY  submit an application with one tiny task
    finish     end everything, and hold
    status     print what it believes, as a line of JSON
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from remuda.client import Client, ClientError
from remuda.session.client import SessionClient
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Request, Response
from tools.chaos import wording
from tools.chaos.belief import Belief, Diary
from tools.chaos.workload import Workload

# For a call, and for each step of sending everything anew.
_SECONDS: Final = 5.0
_TICK_SECONDS: Final = 0.03
# The scheduler refuses new work while its memory is scarce, and says so (EXT-39).
_SCARCE: Final = "send it again later"
_LATER_SECONDS: Final = 0.5

# With the number of the connection it came over; commands are text.
_Item: TypeAlias = tuple[int, "str | Response | ClientError"]


class Status(msgspec.Struct):
    """What a resource manager says of itself. ``registered``: and everything is sent anew."""

    registered: bool
    holding: bool
    belief: Belief
    losses: list[str]


class Ear:
    """The callback of a session: passes everything on."""

    def __init__(self, put: Callable[[Response], object]) -> None:
        self.update_allocation = self.update_application = self.update_node = put


class Simulator:
    """The resource manager; everything happens on one thread.

    Args:
        options: what `main` was called with.
        diary: what it believes.
    """

    def __init__(self, options: argparse.Namespace, diary: Diary) -> None:
        self._options = options
        self._diary = diary
        self._belief = diary.belief
        self._workload = Workload(diary, self._send, f"{options.rm_id} {options.seed}")
        self.inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._line: Client | SessionClient | None = None
        self._generation = 0
        self._registered = False
        self._holding = True
        self._nodes: set[str] = set()
        self._accepted: set[str] = set()
        self._echoed: set[str] = set()
        self._losses: list[str] = []
        # What the scheduler had no memory for: applications and asks by name, and since when.
        self._postponed: dict[str, float] = {}
        if not self._belief.nodes:
            for name, cores in wording.NODES.items():
                diary.note("node", name, cores)

    def run(self) -> None:
        """Work for ever."""
        while True:
            try:
                self._register()
                self._send_anew()
                self._registered = True
                while True:
                    self._take(_TICK_SECONDS)
                    if not self._holding:
                        self._workload.tick(self._accepted)
            except ClientError as error:
                self._registered = False
                self._losses.append(str(error))

    # ------------------------------------------------------------------ registration

    def _register(self) -> None:
        """Begin a new connection; what the old one still brings does not count."""
        if self._line is not None:
            threading.Thread(target=self._line.close, daemon=True).start()
            self._line = None
        self._generation = number = self._generation + 1
        self._take_all()
        for identity in list(self._belief.ending):
            self._diary.note("forget", identity)

        def put(item: Response | ClientError) -> None:
            self.inbox.put((number, item))

        address, rm_id = self._options.address, self._options.rm_id
        if self._options.binding == "session":
            self._line = SessionClient(address, rm_id, Ear(put), on_lost=put, timeout=_SECONDS)
        else:
            self._line = Client(
                address, rm_id, on_response=put, on_disconnect=put, timeout=_SECONDS
            )
        self._line.register(wording.QUEUES, extra_config=wording.SETTINGS)

    def _send_anew(self) -> None:
        """Send applications, nodes, what runs and what waits. Rules: REC-2, REC-3."""
        belief = self._belief
        for seen in (self._nodes, self._accepted, self._echoed):
            seen.clear()
        self._postponed.clear()
        bulk = self._options.way == "bulk"
        if bulk:
            self._send(wording.node_request(belief.nodes, si.NodeInfo.CREATE_DRAIN))
            self._await(lambda: self._nodes >= set(belief.nodes))
        if belief.applications:
            self._send(wording.submissions(belief.applications))
            self._await(lambda: self._accepted >= set(belief.applications))
        if bulk:
            if belief.running:
                self._send(wording.running(belief))
                self._await(lambda: self._echoed >= set(belief.running))
        else:
            action = si.NodeInfo.CREATE
            self._send(wording.node_request(belief.nodes, action, belief.running))
            self._await(lambda: self._nodes >= set(belief.nodes))
        if belief.asks:
            self._send(wording.asks(belief.asks.values()))
        if bulk:
            self._send(wording.node_request(belief.nodes, si.NodeInfo.DRAIN_TO_SCHEDULABLE))

    def _await(self, done: Callable[[], bool]) -> None:
        """Take what comes until something is so. Raises: ClientError after some seconds."""
        deadline = time.monotonic() + _SECONDS
        while not done():
            if time.monotonic() > deadline:
                raise ClientError(f"no verdict within {_SECONDS} s")
            self._take(_TICK_SECONDS)

    def _send(self, request: Request) -> None:
        """Send a request. Raises: ClientError."""
        if self._line is None:
            raise ClientError("there is no connection")
        self._line.send(request)

    # ------------------------------------------------------------------ what comes

    def _take_all(self) -> None:
        while not self.inbox.empty():
            self._take(0.0)

    def _take(self, seconds: float) -> None:
        """Take what comes next, if anything does. Raises: ClientError if the scheduler is lost."""
        self._send_postponed()
        try:
            number, item = self.inbox.get(timeout=seconds) if seconds else self.inbox.get_nowait()
        except queue.Empty:
            return
        if isinstance(item, str):
            self._command(item)
        elif number != self._generation:
            return
        elif isinstance(item, ClientError):
            raise item
        elif isinstance(item, si.AllocationResponse):
            self._hear_of_allocations(item)
        elif isinstance(item, si.ApplicationResponse):
            self._hear_of_applications(item)
        else:
            self._nodes |= {each.nodeID for each in item.accepted}
            for refused in item.rejected:
                if refused.nodeID not in self._nodes:
                    self._violate(f"node {refused.nodeID} was refused: {refused.reason}")

    def _send_postponed(self) -> None:
        """Send again what was refused for want of memory, if it is still wanted."""
        due = time.monotonic() - _LATER_SECONDS
        belief = self._belief
        for name in [name for name, since in self._postponed.items() if since <= due]:
            del self._postponed[name]
            if name in belief.applications:
                self._send(wording.submissions({name: belief.applications[name]}))
            elif name in belief.asks:
                self._send(wording.asks([belief.asks[name]]))

    def _command(self, line: str) -> None:
        word, _, key = line.partition(" ")
        if word == "status":
            status = Status(self._registered, self._holding, self._public(), self._losses[-5:])
            sys.stdout.write(msgspec.json.encode(status).decode() + "\n")
            sys.stdout.flush()
        elif word == "probe":
            self._workload.submit(key, wording.PROBE_QUEUE)
        else:
            self._holding = word != "go"
            if word != "hold":
                self._workload.close_all(only_probes=word == "go")

    def _public(self) -> Belief:
        """Return what it believes without what is over."""
        return msgspec.structs.replace(self._belief, over={}, withdrawn={})

    def _hear_of_allocations(self, response: si.AllocationResponse) -> None:
        for new in response.new:
            self._start(new)
        for order in response.released:
            self._release(order)
        for refused in response.rejected:
            if _SCARCE in refused.reason:
                self._postponed[refused.allocationKey] = time.monotonic()
            elif refused.applicationID in self._belief.applications:
                self._violate(f"ask {refused.allocationKey} was refused: {refused.reason}")
        for bad in response.rejectedAllocations:
            self._violate(f"running task {bad.allocationKey} was refused: {bad.reason}")

    def _hear_of_applications(self, response: si.ApplicationResponse) -> None:
        belief = self._belief
        for accepted in response.accepted:
            name = accepted.applicationID
            self._accepted.add(name)
            if name in belief.applications:
                self._workload.ask_first(name)
        for refused in response.rejected:
            name = refused.applicationID
            if _SCARCE in refused.reason:
                self._postponed[name] = time.monotonic()
            elif name in belief.applications and name not in self._accepted:
                self._violate(f"application {name} was refused: {refused.reason}")
        for updated in response.updated:
            name = updated.applicationID
            if updated.state in {"Completed", "Failed", "Expired"} and name in belief.applications:
                self._diary.note("gone", name)

    def _start(self, new: si.Allocation) -> None:
        """Start a task, or hear that one that runs is known."""
        key, identity, belief = new.allocationKey, new.allocationID, self._belief
        if identity in belief.running:
            self._echoed.add(identity)
            task = belief.running[identity]
            if (task.key, task.node) != (key, new.nodeID):
                self._violate(f"{identity} runs on {task.node}, the scheduler says {new.nodeID}")
        elif key in belief.asks:
            self._diary.note("start", key, identity, new.nodeID)
        elif key in belief.withdrawn:
            self._send(wording.release(new.applicationID, identity))
        else:
            self._violate(f"task {key} was started twice, or by itself: {identity}")

    def _release(self, order: si.AllocationRelease) -> None:
        """Hear that a task has ended, or is to end."""
        identity, kind = order.allocationID, order.terminationType
        if identity in self._belief.running:
            if kind == si.STOPPED_BY_RM:
                self._violate(f"{identity} runs, and the scheduler released it")
            self._diary.note("end", identity)
        if identity in self._belief.ending:
            self._diary.note("forget", identity)
        if kind != si.STOPPED_BY_RM:
            self._send(wording.release(order.applicationID, identity, kind))

    def _violate(self, text: str) -> None:
        self._diary.note("violate", text)


def _listen(inbox: queue.SimpleQueue[_Item]) -> None:
    """Pass commands on; end the process when whoever gives them has ended."""
    for line in sys.stdin:
        inbox.put((0, line.strip()))
    os._exit(0)


def main() -> None:
    """Run until it is killed or its standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.chaos.resource_manager", description=__doc__
    )
    parser.add_argument("--address", required=True, help="of the scheduler, HOST:PORT")
    parser.add_argument("--rm-id", required=True)
    parser.add_argument("--diary", required=True, type=Path, help="file of what it believes")
    parser.add_argument("--binding", choices=["streams", "session"], required=True)
    parser.add_argument("--way", choices=["bulk", "node"], required=True)
    parser.add_argument("--seed", required=True)
    options = parser.parse_args()
    simulator = Simulator(options, Diary(options.diary))
    threading.Thread(target=_listen, args=(simulator.inbox,), daemon=True).start()
    simulator.run()


if __name__ == "__main__":
    main()
