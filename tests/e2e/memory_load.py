"""A resource manager that asks for more and more, until the scheduler has no memory for it."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response
from remuda.si.wire import resource as amounts
from tests.waiting import wait

CONFIG: Final = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
"""
SETTINGS: Final = {"health.checkInterval": "1h", "event.trackingEnabled": "false"}

# What runs before the flood, in one application; the flood is another one.
RUNNING: Final = ("first", "second")
RUNS: Final = "runs"
WAITS: Final = "waits"

# An application that does not exist, so that its asks are refused in any case.
NO_APPLICATION: Final = "none"


class FloodingManager:
    """A registered manager; on entry both allocations run.

    ``sent``: the asks of the flood so far; ``refused``: how many of them were refused; ``reason``:
    why the last one was. ``placed``, ``ended``: the keys of all allocations, and of those that
    ended. ``broken``: how its connection broke.
    """

    def __init__(self, address: str, rm_id: str = "rm") -> None:
        self.placed: list[str] = []
        self.ended: list[str] = []
        self.broken: list[ClientError] = []
        self.sent = self.refused = 0
        self.reason = ""
        self._keys = 0
        self._handled = ""
        self.client = Client(
            address, rm_id, on_response=self._hear, on_disconnect=self.broken.append
        )

    def __enter__(self) -> Self:
        client = self.client.__enter__()
        client.register(CONFIG, extra_config=SETTINGS)
        client.add_nodes({"n1": {"vcore": 10}})
        for application in (RUNS, WAITS):
            client.add_application(application, queue="root.a", user="ann")
        for key in RUNNING:
            client.ask(RUNS, key, {"vcore": 1})
        wait(lambda: self.placed == [*RUNNING])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.client.__exit__(kind, error, traceback)

    def ask(self, count: int, note: int) -> None:
        """Send asks with so many characters in a tag, and wait until they were handled.

        The last one names no application; all others were handled when it is refused. Returns also
        when the connection broke.
        """
        keys = [f"k{self._keys + number}" for number in range(count)]
        end = f"k{self._keys + count}"
        self._keys += count + 1
        self.client.ask_many([*[_ask(WAITS, key, note) for key in keys], _ask(NO_APPLICATION, end)])
        self.sent += count
        wait(lambda: self._handled == end or bool(self.broken))

    def flood(self, note: int) -> None:
        """Ask until something is refused."""
        while not self.refused:
            assert not self.broken
            assert self.sent < 200_000
            self.ask(1_000 if note < 1_000 else 100, note)

    def accepted(self, application: str) -> bool:
        """Whether a new application is accepted."""
        try:
            self.client.add_application(application, queue="root.a", user="ann")
        except ClientError as error:
            if "release what is not needed" not in str(error):
                raise
            return False
        return True

    def _hear(self, response: Response) -> None:
        if not isinstance(response, si.AllocationResponse):
            return
        self.placed += [each.allocationKey for each in response.new]
        self.ended += [each.allocationKey for each in response.released]
        for each in response.rejected:
            if each.applicationID == NO_APPLICATION:
                self._handled = each.allocationKey
            else:
                self.refused += 1
                self.reason = each.reason


def _ask(application: str, key: str, note: int = 0) -> si.AllocationAsk:
    return si.AllocationAsk(
        allocationKey=key,
        applicationID=application,
        maxAllocations=1,
        resourceAsk=amounts({"vcore": 100}),
        tags={"note": f"{key:>{note}}"},
    )
