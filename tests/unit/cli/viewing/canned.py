"""A server with answers that the specification gives: the golden examples of chapter 95.

Lists have pages as REST-122 says; ``asked`` has what was asked for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

P = "/ws/v1/partition/default"

# REST-130
PARTITIONS = [
    {
        "clusterId": "rm-a",
        "name": "default",
        "capacity": {
            "capacity": {"memory": 250, "vcore": 25000},
            "usedCapacity": {"memory": 10, "vcore": 1000},
            "utilization": {"memory": 4, "vcore": 4},
        },
        "nodeSortingPolicy": {"type": "fair", "resourceWeights": {"memory": 1, "vcore": 1}},
        "totalNodes": 2,
        "applications": {"Accepted": 1, "Starting": 1, "total": 2},
        "totalContainers": 1,
        "state": "Active",
        "lastStateTransitionTime": 1767225600100000000,
    }
]

# REST-132, below a root.
QUEUE = {
    "queuename": "root.etl",
    "status": "Active",
    "partition": "default",
    "pendingResource": {"memory": 96, "vcore": 1001},
    "maxResource": {"memory": 100, "vcore": 10000},
    "guaranteedResource": {"memory": 10, "vcore": 1000},
    "allocatedResource": {"memory": 10, "vcore": 1000},
    "headroom": {"memory": 90, "vcore": 9000},
    "isLeaf": True,
    "isManaged": True,
    "parent": "root",
    "absUsedCapacity": {"memory": 10, "vcore": 10},
    "runningApps": 1,
    "currentPriority": 0,
}
ROOT = {
    "queuename": "root",
    "status": "Active",
    "partition": "default",
    "isLeaf": False,
    "isManaged": True,
    "children": [QUEUE],
    "currentPriority": -2147483648,
}

# REST-133
APPLICATION: dict[str, Any] = {
    "applicationID": "job-1",
    "usedResource": {"memory": 10, "vcore": 1000},
    "maxUsedResource": {"memory": 10, "vcore": 1000},
    "pendingResource": {"memory": 95, "vcore": 1000},
    "partition": "default",
    "queueName": "root.etl",
    "submissionTime": 1767225601000000000,
    "requests": [
        {
            "allocationKey": "t-2",
            "requestTime": 1767225605000000000,
            "resource": {"memory": 95, "vcore": 1000},
            "pendingCount": 1,
            "priority": "0",
            "applicationId": "job-1",
            "partition": "default",
            "allocationLog": [
                {
                    "message": "Not enough user quota",
                    "lastOccurrence": 1767225609000000000,
                    "count": 25,
                }
            ],
            "finding": {
                "gate": "user quota",
                "subject": "ann",
                "since": 1767225605000000000,
                "lastOccurrence": 1767225609000000000,
                "count": 25,
            },
        }
    ],
    "allocations": [
        {
            "allocationKey": "t-1",
            "allocationTags": {"k": "v"},
            "requestTime": 1767225602000000000,
            "allocationTime": 1767225602000230000,
            "allocationDelay": 230000,
            "uuid": "t-1-0",
            "allocationID": "t-1-0",
            "resource": {"memory": 10, "vcore": 1000},
            "priority": "0",
            "nodeId": "n1",
            "applicationId": "job-1",
            "partition": "default",
        }
    ],
    "applicationState": "Starting",
    "user": "ann",
    "groups": ["bi"],
    "stateLog": [
        {"time": 1767225602000000001, "applicationState": "Accepted"},
        {"time": 1767225602000230001, "applicationState": "Starting"},
    ],
    "hasReserved": True,
    "reservations": ["n1|t-2"],
}

# REST-137
NODE: dict[str, Any] = {
    "nodeID": "n1",
    "hostName": "h1",
    "rackName": "/r1",
    "attributes": {
        "si/hostname": "h1",
        "si/rackname": "/r1",
        "si/node-partition": "[rm-a]default",
    },
    "capacity": {"memory": 100, "vcore": 20000},
    "allocated": {"memory": 75, "vcore": 6},
    "available": {"memory": 25, "vcore": 19994},
    "utilized": {"memory": 75, "vcore": 0},
    "schedulable": True,
    "isReserved": True,
    "reservations": ["job-1|t-3"],
}

# REST-138
USER = {
    "userName": "ann",
    "groups": {"job-1": "bi"},
    "queues": {
        "queuePath": "root",
        "resourceUsage": {"memory": 10, "vcore": 1000},
        "runningApplications": ["job-1"],
        "children": [
            {
                "queuePath": "root.etl",
                "resourceUsage": {"memory": 10, "vcore": 1000},
                "runningApplications": ["job-1"],
                "maxResources": {"memory": 90},
                "maxApplications": 5,
            }
        ],
    },
}
GROUP = {"groupName": "bi", "applications": ["job-1"], "queues": USER["queues"]}

# REST-125, REST-126
PREEMPTION = {
    "number": 7,
    "kind": "queue",
    "time": 1767225605000000000,
    "applicationId": "job-1",
    "allocationKey": "t-2",
    "nodeId": "n1",
    "queueName": "root.etl",
    "resource": {"vcore": 1000},
    "victims": [
        {
            "applicationId": "job-9",
            "allocationKey": "v",
            "allocationID": "v-0",
            "queueName": "root.low",
            "nodeId": "n1",
            "resource": {"vcore": 1000},
            "priority": "0",
        }
    ],
    "freed": {"vcore": 1000},
    "outcome": "waiting",
}

# EVT-9, EVT-20 and EVT-131
EVENT = {
    "id": 3,
    "partition": "default",
    "rmID": "rm-a",
    "queue": "root.etl",
    "record": {
        "type": 2,
        "objectID": "job-1",
        "timestampNano": 1767225602000230000,
        "eventChangeType": 2,
        "eventChangeDetail": 200,
        "referenceID": "t-1-0",
        "resource": {"resources": {"memory": {"value": 10}, "vcore": {"value": 1000}}},
    },
}

GOLDEN: dict[str, Any] = {
    "/ws/v1/partitions": PARTITIONS,
    f"{P}/queues": ROOT,
    f"{P}/queue/root.etl": QUEUE,
    f"{P}/applications/active": [APPLICATION],
    f"{P}/applications/completed": [],
    f"{P}/applications/rejected": [],
    f"{P}/application/job-1": APPLICATION,
    f"{P}/nodes": [NODE],
    f"{P}/node/n1": NODE,
    f"{P}/usage/users": [USER],
    f"{P}/usage/user/ann": USER,
    f"{P}/usage/groups": [GROUP],
    f"{P}/usage/group/bi": GROUP,
    f"{P}/preemptions": {"preemptions": [PREEMPTION], "repeated": []},
    f"{P}/preemption/7": PREEMPTION,
}


class Canned:
    """The answers by path; what is not there is an error as REST-12 has it."""

    def __init__(self, answers: Mapping[str, Any] = GOLDEN) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str, dict[str, str]]] = []

    def answer(self, path: str, options: dict[str, str]) -> tuple[int, Any]:
        self.asked.append((path, options))
        if path == "/ws/v1/events/batch":
            return 200, _batch(options, self.answers.get(path, [EVENT]))
        if path not in self.answers:
            message = f"{path.split('/')[-2].capitalize()} not found"
            return 404, {"status_code": 404, "message": message, "description": message}
        found = self.answers[path]
        return 200, _page(found, options) if isinstance(found, list) else found


def _page(rows: list[Any], options: Mapping[str, str]) -> list[Any]:
    offset = int(options.get("offset", 0))
    page = rows[offset : offset + int(options["limit"])] if "limit" in options else rows[offset:]
    if "fields" not in options:
        return page
    wanted = options["fields"].split(",")
    return [{name: row[name] for name in wanted if name in row} for row in page]


def _batch(options: Mapping[str, str], events: list[Any]) -> dict[str, Any]:
    about = options.get("objectID")
    found = [each for each in events if about in (None, each["record"]["objectID"])]
    start = options.get("start", "0")
    if start == "latest":
        found = found[-int(options["count"]) :]
    elif start != "oldest":
        found = [each for each in found if each["id"] >= int(start)]
    return {"InstanceUUID": "u", "LowestID": 0, "HighestID": 9, "EventRecords": found or None}


@contextmanager
def served(canned: Canned) -> Iterator[str]:
    """Serve the answers; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            options = dict(parse_qsl(parts.query, keep_blank_values=True))
            status, found = canned.answer(unquote(parts.path), options)
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
