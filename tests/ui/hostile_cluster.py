"""A small cluster whose names are pieces of markup, script and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from tests.e2e.serving import Served
from tests.waiting import wait

MARKUP: Final = "<img src=x onerror=window.stolen=1>"
SCRIPT: Final = "\"'><script>window.stolen=1</script>"
ADDRESS: Final = "javascript:window.stolen=1"
PATH: Final = "a/b?c=d#e%2F&f <g>"
TEMPLATE: Final = "${window.stolen=1}{{window.stolen=1}}"
NAMES: Final = (MARKUP, SCRIPT, ADDRESS, PATH, TEMPLATE)

# An application of which one ask is placed and another one waits for ever.
WAITS: Final = "waits-" + MARKUP

QUEUES: Final = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            properties:
              application.sort.policy: fair
              "<b>x</b>": "<img src=x onerror=window.stolen=1>"
            resources: {guaranteed: {vcore: 1}, max: {vcore: 6}}
            limits:
              - limit: "<b>limit</b>"
                users: [ada]
                maxresources: {vcore: 5}
          - name: parent
            queues: [{name: b}, {name: c}]
"""


@contextmanager
def fill(served: Served) -> Iterator[None]:
    """Register a resource manager and send its nodes, applications and asks; it stays connected."""
    with Client(served.grpc, "rm-" + MARKUP) as client:
        client.register(QUEUES, version=MARKUP, build_info={MARKUP: SCRIPT})
        capacity = {"vcore": 8_000, "memory": 1 << 34, MARKUP: 10, "x.test/" + SCRIPT: 5}
        nodes = dict.fromkeys(NAMES, capacity)
        attributes = {
            name: {
                "si/hostname": name,
                "si/rackname": name,
                "kind": name,
            }
            for name in NAMES
        }
        client.add_nodes(nodes, attributes=attributes)
        for number, name in enumerate(NAMES):
            client.add_application(name, queue="root.parent.b", user=f"u{number}", groups=[MARKUP])
            client.ask(name, "key-" + name, {"vcore": 1_000, MARKUP: 1}, count=2)
        with suppress(ClientError):
            client.add_application("refused-" + MARKUP, queue="root.none.b")
        client.add_application(WAITS, queue="root.a", user="ada", groups=[SCRIPT])
        held = si.AllocationAsk(
            applicationID=WAITS,
            allocationKey="held-" + SCRIPT,
            maxAllocations=1,
            taskGroupName="group-" + MARKUP,
        )
        held.resourceAsk.resources["vcore"].value = 2_000
        client.ask_many([held])
        client.ask(WAITS, "waits-" + SCRIPT, {"vcore": 4_000})
        _until_placed(served)
        yield


def _until_placed(served: Served) -> None:
    """Wait until everything that fits is placed."""

    def placed() -> bool:
        partitions = served.client.get("/ws/v1/partitions").json()
        return bool(partitions) and partitions[0]["totalContainers"] == 2 * len(NAMES) + 1

    wait(placed)
