"""Reads REST answers as the pages of the stock web front-end do: by key, and nothing else.

The fields are those of document 98, section 2. A page takes what is missing for nothing, except
where it goes on to use it; a value of another type than the page expects is an error here, though
a browser would show something odd instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Json = Any
Fetch = Callable[[str], Json]

TEXT, NUMBER, FLAG, ROWS = "text", "number", "flag", "rows"
AMOUNTS, TEXTS, COUNTS, SHAPE = "amounts", "texts", "counts", "shape"

# What is read, and what has to be there: a field with a bang would break its page.
FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "WEB-6": {"clusterName!": TEXT, "rmBuildInformation!": ROWS},
    "WEB-6 build": {"buildDate": TEXT, "buildVersion": TEXT, "rmId": TEXT},
    "WEB-7": {
        "nodeSortingPolicy!": SHAPE,
        "name!": TEXT,
        "totalNodes!": NUMBER,
        "applications!": COUNTS,
        "totalContainers!": NUMBER,
    },
    "WEB-7 policy": {"type!": TEXT},
    "WEB-8 applications": {"timestamp!": NUMBER, "totalApplications!": TEXT},
    "WEB-8 containers": {"timestamp!": NUMBER, "totalContainers!": TEXT},
    "WEB-10": {
        "queuename!": TEXT,
        "status!": TEXT,
        "isLeaf": FLAG,
        "isManaged": FLAG,
        "partition!": TEXT,
        "maxResource": AMOUNTS,
        "guaranteedResource": AMOUNTS,
        "allocatedResource": AMOUNTS,
        "pendingResource": AMOUNTS,
        "absUsedCapacity": AMOUNTS,
        "properties": TEXTS,
        "template": SHAPE,
        "children": ROWS,
    },
    "WEB-11": {
        "applicationID!": TEXT,
        "usedResource": AMOUNTS,
        "pendingResource": AMOUNTS,
        "maxUsedResource": AMOUNTS,
        "submissionTime!": NUMBER,
        "finishedTime": NUMBER,
        "stateLog!": ROWS,
        "applicationState!": TEXT,
        "allocations": ROWS,
    },
    "WEB-11 state": {"time!": NUMBER},
    "WEB-12": {
        "allocationKey!": TEXT,
        "allocationTags": TEXTS,
        "allocationID!": TEXT,
        "resource": AMOUNTS,
        "priority!": TEXT,
        "nodeId!": TEXT,
        "applicationId!": TEXT,
        "partition!": TEXT,
    },
    "WEB-13": {
        "nodeID!": TEXT,
        "hostName": TEXT,
        "rackName": TEXT,
        "capacity": AMOUNTS,
        "allocated": AMOUNTS,
        "occupied": AMOUNTS,
        "available": AMOUNTS,
        "utilized": AMOUNTS,
        "attributes!": TEXTS,
        "allocations": ROWS,
        "foreignAllocations": ROWS,
    },
    "WEB-13 foreign": {
        "allocationKey!": TEXT,
        "allocationTags": TEXTS,
        "resource": AMOUNTS,
        "priority!": TEXT,
        "nodeId!": TEXT,
    },
    "WEB-14": {"partition!": TEXT, "utilizations!": ROWS},
    "WEB-14 type": {"type!": TEXT, "utilization!": ROWS},
    "WEB-14 bucket": {"bucketName!": TEXT, "numOfNodes": NUMBER, "nodeNames": ROWS},
    "WEB-15": {"Healthy!": FLAG, "HealthChecks!": ROWS},
    "WEB-15 check": {
        "Name!": TEXT,
        "Succeeded!": FLAG,
        "Description!": TEXT,
        "DiagnosisMessage!": TEXT,
    },
}

_NAMESPACE: Final = "kubernetes.io/meta/namespace"
_POD: Final = "kubernetes.io/meta/podName"


def _is(kind: str, value: Json) -> bool:
    if kind in (AMOUNTS, COUNTS):
        return isinstance(value, dict) and all(type(each) is int for each in value.values())
    if kind == TEXTS:
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    return isinstance(value, {ROWS: list, SHAPE: dict, TEXT: str}.get(kind, object)) and (
        kind not in (NUMBER, FLAG) or type(value) is {NUMBER: int, FLAG: bool}[kind]
    )


class Reader:
    """Reads pages from ``fetch``, which returns the JSON of a path below ``/ws/v1``.

    ``seen``: the fields that were there at least once, as (entry of FIELDS, name).
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self.seen: set[tuple[str, str]] = set()

    def _read(self, entry: str, shape: Json) -> dict[str, Json]:
        assert isinstance(shape, dict), (entry, shape)
        row: dict[str, Json] = {}
        for marked, kind in FIELDS[entry].items():
            name = marked.removesuffix("!")
            value = shape.get(name)
            assert value is not None or name == marked, f"{entry}: {name} is missing in {shape}"
            assert value is None or _is(kind, value), f"{entry}: {name} is {value!r}, no {kind}"
            if value is not None:
                self.seen.add((entry, name))
            row[name] = value
        return row

    def _rows(self, entry: str, shapes: Json) -> list[dict[str, Json]]:
        return [self._read(entry, each) for each in shapes or []]

    def dashboard(self) -> dict[str, Json]:
        """The first cluster and partition, and the two charts (WEB-6, WEB-7, WEB-8)."""
        cluster = self._rows("WEB-6", self._fetch("clusters"))[0]
        partition = self._rows("WEB-7", self._fetch("partitions"))[0]
        applications = self._rows("WEB-8 applications", self._fetch("history/apps"))
        containers = self._rows("WEB-8 containers", self._fetch("history/containers"))
        return {
            "name": cluster["clusterName"],
            "build": self._rows("WEB-6 build", cluster["rmBuildInformation"])[0],
            "policy": self._read("WEB-7 policy", partition["nodeSortingPolicy"])["type"],
            "nodes": partition["totalNodes"],
            "states": partition["applications"],
            "containers": partition["totalContainers"],
            "applications": [
                (each["timestamp"] / 10**6, int(each["totalApplications"])) for each in applications
            ],
            "container history": [
                (each["timestamp"] / 10**6, int(each["totalContainers"])) for each in containers
            ],
        }

    def partitions(self) -> list[str]:
        """What every selector offers (WEB-9)."""
        return [each["name"] for each in self._rows("WEB-7", self._fetch("partitions"))]

    def queues(self, partition: str) -> Iterator[dict[str, Json]]:
        """Every queue of a partition, from the root down (WEB-10)."""
        waiting = [self._fetch(f"partition/{partition}/queues")]
        while waiting:
            row = self._read("WEB-10", waiting.pop(0))
            waiting += row["children"] or []
            yield row

    def applications(self, partition: str, queue: str) -> list[dict[str, Json]]:
        """The table of applications of a leaf, with their allocations (WEB-11, WEB-12)."""
        found = self._fetch(f"partition/{partition}/queue/{queue}/applications")
        return [self._application(each) for each in self._rows("WEB-11", found)]

    def _application(self, row: dict[str, Json]) -> dict[str, Json]:
        times = [each["time"] for each in self._rows("WEB-11 state", row["stateLog"])]
        allocations = [self._allocation(each) for each in row["allocations"] or []]
        return {**row, "changed": max(times, default=None), "allocations": allocations}

    def _allocation(self, shape: Json) -> dict[str, Json]:
        row = self._read("WEB-12", shape)
        tags = row["allocationTags"] or {}
        name = f"{tags[_NAMESPACE]}/{tags[_POD]}" if tags.keys() >= {_NAMESPACE, _POD} else "<nil>"
        return {**row, "display": name, "queue": shape.get("queueName", "n/a")}

    def nodes(self, partition: str) -> list[dict[str, Json]]:
        """The table of nodes with what runs on them (WEB-13)."""
        found = self._rows("WEB-13", self._fetch(f"partition/{partition}/nodes"))
        for row in found:
            row["allocations"] = [self._allocation(each) for each in row["allocations"] or []]
            row["foreign"] = self._rows("WEB-13 foreign", row["foreignAllocations"])
        return found

    def utilisation(self) -> dict[tuple[str, str], list[tuple[str, int, list[str]]]]:
        """The bars of the chart, by partition and type (WEB-14)."""
        chart = {}
        for part in self._rows("WEB-14", self._fetch("scheduler/node-utilizations")):
            for each in self._rows("WEB-14 type", part["utilizations"]):
                buckets = self._rows("WEB-14 bucket", each["utilization"])
                chart[part["partition"], each["type"]] = [
                    (one["bucketName"], one["numOfNodes"] or 0, one["nodeNames"] or [])
                    for one in buckets
                ]
        return chart

    def status(self) -> tuple[bool, list[dict[str, Json]]]:
        """Whether all is well, and the checks (WEB-15)."""
        row = self._read("WEB-15", self._fetch("scheduler/healthcheck"))
        return row["Healthy"], self._rows("WEB-15 check", row["HealthChecks"])
