"""Texts of a hostile resource manager and of hostile HTTP clients forge neither log nor metrics."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM

import pytest

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from tests.e2e.serving import FREE_PORTS, Served
from tests.exposition import samples

# A line of a log and one of metrics that somebody may want to forge, and what changes a terminal.
LINE = "2026-01-01 00:00:00,000 ERROR remuda.forged: no such thing"
SAMPLE = 'yunikorn_forged_total{a="b"} 7'
TEXTS = (
    f"a\n{LINE}\n",
    f"a\r{LINE}\r\n",
    f'a"}} 1\n{SAMPLE}\n',
    "a\x1b[2J\x1b]0;owned\x07",
    "a\u2028b\u202e\u0000\x85c",
    'a\\"\\n{}',
    "%s%n%(name)s{0}{a.b}",
)

# A line of the log.
WHOLE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ [\w.]+: .*")


def requests(text: str) -> Iterator[si.NodeRequest | si.ApplicationRequest | si.AllocationRequest]:
    """A text in every field of a request that takes one."""
    amounts = si.Resource(resources={text: si.Quantity(value=1)})
    tags = {text: text, "namespace": text}
    node = si.NodeInfo(nodeID=text, action=si.NodeInfo.CREATE, schedulableResource=amounts)
    node.attributes[text] = text
    yield si.NodeRequest(nodes=[node])
    ugi = si.UserGroupInformation(user=text, groups=[text])
    for name, queue in ((text, "root.a"), ("app", text), ("app", "root.a")):
        new = si.AddApplicationRequest(applicationID=name, queueName=queue, ugi=ugi, tags=tags)
        yield si.ApplicationRequest(new=[new])
    ask = si.AllocationAsk(
        applicationID="app",
        allocationKey=text,
        resourceAsk=amounts,
        maxAllocations=1,
        tags=tags,
        taskGroupName=text,
        partitionName=text,
    )
    yield si.AllocationRequest(asks=[ask])
    ask.partitionName = ""
    yield si.AllocationRequest(asks=[ask])
    held = si.Allocation(applicationID=text, allocationKey=text, UUID=text, nodeID=text)
    yield si.AllocationRequest(allocations=[held])
    release = si.AllocationRelease(applicationID=text, UUID=text, message=text)
    releases = si.AllocationReleasesRequest(allocationsToRelease=[release])
    yield si.AllocationRequest(releases=releases)


def attack(served: Served) -> None:
    """All texts everywhere, from a resource manager and from clients of the HTTP API."""
    for number, text in enumerate(TEXTS):
        with Client(served.grpc, f"rm{number}") as client:
            more = {text: text, "log.level": text, f"log.{text}.level": text, "service.x": text}
            config = f"partitions: [{{name: default, queues: [{{name: {json.dumps(text)}}}]}}]"
            with pytest.raises(ClientError):
                client.register(config)
            client.register(version=text, build_info={text: text}, extra_config=more)
            client.add_nodes({f"n{number}": {"vcore": 1_000}})
            for request in requests(text):
                client.send(request)
            with pytest.raises(ClientError):
                client.update_configuration(config, extra_config=more)
            client.add_nodes({f"last{number}": {"vcore": 1_000}})
        with Client(served.grpc, text) as client, contextlib.suppress(ClientError, ValueError):
            client.register()
        quoted = urllib.parse.quote(text, safe="")
        for path in (f"/ws/v1/{quoted}", f"/ws/v1/partition/{quoted}/queues"):
            assert served.client.get(path, headers={"user-agent": "x"}).status_code in (400, 404)
        answer = served.client.post("/ws/v1/validate-conf", content=config.encode())
        assert answer.status_code == 200


@pytest.mark.remuda_rule("MET-3")
def test_no_text_of_others_makes_a_line_or_a_series_of_its_own(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    options = ("--metrics-users", "3", "--metrics-queue-names", "all", "--audit-log", str(audit))
    with Served(*FREE_PORTS, *options) as served:
        attack(served)
        series = samples(served.client.get("/ws/v1/metrics").text)
        code, _, _ = served.end(SIGTERM)
    assert code == 0
    assert "yunikorn_forged_total" not in {name for name, _ in series}
    assert 10 < len(series) < 1_000
    lines = served.log.removesuffix("\n").split("\n")
    assert (
        sum("remuda.forged" in line for line in lines) > 1
    )  # the texts are there, in lines of ours
    assert [line for line in lines if not (WHOLE.fullmatch(line) and line.isprintable())] == []
    records = audit.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert sum("remuda.forged" in line for line in records) > 1
    assert all(isinstance(json.loads(line), dict) and line.isprintable() for line in records)
