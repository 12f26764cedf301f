"""Identities with a scope and a served process: what they read, where they place (EXT-32, 33)."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx2
import pytest

from remuda.client import Client, ClientError, Security
from remuda.config.load import load_configuration
from remuda.edges.certificates import TlsFiles
from remuda.edges.grpc.security import read_security
from remuda.session.client import SessionClient
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from tests.e2e.grpc_service import Service
from tests.e2e.open_calls import SECONDS, Read, bearer, metadata
from tests.e2e.queue_files import TWO
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, run_remuda
from tests.e2e.session_stream import SessionStream
from tests.issuer import AUDIENCE, ISSUER, document, rsa_key, signed
from tests.waiting import wait

TLS = Path(__file__).parent / "tls"
TEAM, CLUSTER, PLACER = "correct horse", "battery staple", "hard to guess"
BEYOND = "queue root.b of partition default is beyond the scope of its RM \\(queues root.a\\)"
NO_CONFIGURATION = "has a scope, so its resource managers may not bring configurations"


def identity(name: str, token: str, *rights: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    lines = ("[[identity]]", f"name = '{name}'", f"token-sha256 = ['{digest}']", *rights, "")
    return "\n".join(lines)


READERS = identity("team", TEAM, "role = 'reader'", "queues = ['root.a']") + identity(
    "cluster", CLUSTER, "rm-ids = ['rm']"
)
PLACERS = identity("placer", PLACER, "role = 'rm'", "rm-ids = ['rm']", "queues = ['root.a']")
GRANTS = f"""
[[issuer]]
name = "login"
issuer = "{ISSUER}"
audience = "{AUDIENCE}"
keys-file = "keys.json"

[[issuer.grant]]
values = ["team-b"]
role = "reader"
queues = ["root.b"]

[[issuer.grant]]
values = ["placer"]
role = "rm"
rm-ids = ["rm"]
queues = ["root.a"]
"""
BY_CERTIFICATE = """
[[identity]]
name = "placer"
certificates = ["cluster-a.example.org"]
role = "rm"
rm-ids = ["rm"]
queues = ["root.a"]
"""


@pytest.fixture
def access(tmp_path: Path) -> Path:
    (tmp_path / "keys.json").write_bytes(document(one=rsa_key()))
    path = tmp_path / "access.toml"
    path.write_text(READERS + PLACERS + GRANTS)
    return path


@pytest.fixture
def served(tmp_path: Path, access: Path) -> Iterator[Served]:
    queues = tmp_path / "queues.yaml"
    queues.write_text(TWO)
    options = ("--grpc-access", str(access), "--rest-access", str(access))
    files = ("--config", str(queues), "--record", str(tmp_path / "run.jsonl"))
    with Served(*FREE_PORTS, *options, *files) as running:
        yield running


@pytest.mark.remuda_rule("EXT-32", "EXT-31", "EXT-27")
def test_a_reader_sees_what_is_in_its_scope_until_the_scope_changes(
    served: Served, access: Path
) -> None:
    with Client(served.grpc, "rm", security=Security(token=CLUSTER)) as cluster:
        cluster.register()
        cluster.add_nodes({"n": {"vcore": 10}})
        with httpx2.Client(base_url=f"http://{served.rest}", timeout=60) as client:
            stream = client.stream("GET", "/ws/v1/events/stream?format=v2", headers=bearer(TEAM))
            lines = stream.__enter__()
            seen = Read(lines.iter_lines())
            wait(seen.begun)
            cluster.add_application("theirs", queue="root.b", user="ann", groups=["x"])
            cluster.add_application("ours", queue="root.a", user="ann", groups=["x"])
            wait(lambda: any("ours" in str(line) for line in seen.items))
            queues = [json.loads(str(line))["queue"] for line in seen.items[1:] if line]
            assert set(queues) == {"root.a"}
            other = signed(rsa_key(), groups=["team-b"])
            for token, own, foreign in ((TEAM, "a", "b"), (other, "b", "a")):
                who = bearer(token)
                path = f"{PARTITION}/queue/root.{own}/applications"
                assert len(served.client.get(path, headers=who).json()) == 1
                for path in (f"{PARTITION}/queue/root.{foreign}/applications", "/ws/v1/metrics"):
                    answer = served.client.get(path, headers=who)
                    assert answer.status_code == 403
                    words = "The scope of the caller does not include "
                    assert answer.json()["message"].startswith(words)
            access.write_text(access.read_text().replace("root.a", "root.b"))
            wait(seen.over)
        path = f"{PARTITION}/queue/root.a/applications"
        assert served.client.get(path, headers=bearer(TEAM)).status_code == 403


@pytest.mark.remuda_rule("EXT-32")
def test_a_reader_with_a_scope_calls_nothing_over_grpc_that_shows_more(served: Served) -> None:
    services = [
        service
        for file in (si.DESCRIPTOR, ext.DESCRIPTOR)
        for service in file.services_by_name.values()
    ]
    outcomes: dict[str, object] = {}
    with grpc.insecure_channel(served.grpc) as channel:
        for method in itertools.chain.from_iterable(each.methods for each in services):
            path = f"/{method.containing_service.full_name}/{method.name}"
            call: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(path)
            read = Read(call(iter([b""]), timeout=SECONDS, metadata=metadata(TEAM)))
            wait(read.over)
            outcomes[path] = read.end
    refused = {path for path, end in outcomes.items() if end is grpc.StatusCode.PERMISSION_DENIED}
    served_ones = {
        path for path in outcomes if path.startswith(("/remuda.v1.", "/si.v1.Scheduler"))
    }
    # What the questions tell is compared with the scope (EXT-159); these name nothing in it.
    asked = {path for path in served_ones if path.startswith("/remuda.v1.Insight/")} - refused
    assert served_ones - refused == asked | {"/remuda.v1.SchedulerExtension/GetCapabilities"}
    wrong = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
    assert [path for path in asked if outcomes[path] not in wrong] == []
    assert {"/remuda.v1.Metrics/GetSamples", "/remuda.v1.Insight/ConfigImpact"} <= refused


def places_in_its_scope_only(address: str, security: Security) -> None:
    """An RM comes into a queue of its scope and into no other, and brings no configuration."""
    with Client(address, "rm", security=security) as client:
        with pytest.raises(ClientError, match=f"PERMISSION_DENIED: .* {NO_CONFIGURATION}"):
            client.register(TWO)
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("ours", queue="root.a", user="ann", groups=["x"])
        client.ask("ours", "k", {"vcore": 1})
        assert len(client.allocations(1)) == 1
        for tags in ({}, {"application.create.force": "true"}):
            with pytest.raises(ClientError, match=BEYOND):
                client.add_application("x", queue="root.b", user="ann", groups=["x"], tags=tags)
        with pytest.raises(ClientError, match=NO_CONFIGURATION):
            client.update_configuration(TWO)
        assert client.update_configuration() is False


@pytest.mark.remuda_rule("EXT-33", "EXT-31")
def test_an_rm_places_in_its_scope_and_the_run_can_be_repeated(
    served: Served, tmp_path: Path
) -> None:
    for token in (PLACER, signed(rsa_key(), groups=["placer"])):
        places_in_its_scope_only(served.grpc, Security(token=token))
    assert served.end(15)[0] == 0
    done = run_remuda("replay", str(tmp_path / "run.jsonl"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "all effects the same" in done.stdout


@pytest.mark.remuda_rule("EXT-33")
def test_a_certificate_may_have_a_scope(tmp_path: Path) -> None:
    path = tmp_path / "access.toml"
    path.write_text(BY_CERTIFICATE)
    files = TlsFiles(TLS / "server.pem", TLS / "server.key", TLS / "ca.pem")
    stored = load_configuration(TWO)
    security = read_security(files, path)
    with Service(security=security, load=load_configuration, stored=stored) as service:
        me = Security(TLS / "ca.pem", TLS / "client.pem", TLS / "client.key")
        places_in_its_scope_only(service.address, me)
        assert [each.rm_id for each in service.core.roster.all()] == ["rm"]


def applications(*pairs: tuple[str, str]) -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["x"])
    new = [
        si.AddApplicationRequest(applicationID=name, queueName=queue, ugi=ugi)
        for name, queue in pairs
    ]
    return si.ApplicationRequest(rmID="rm", new=new)


class Verdicts:
    """A callback that keeps the verdicts on applications."""

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self.rejected: dict[str, str] = {}

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.accepted += [each.applicationID for each in response.accepted]
        self.rejected.update({each.applicationID: each.reason for each in response.rejected})

    def update_allocation(self, response: si.AllocationResponse) -> None:
        pass

    def update_node(self, response: si.NodeResponse) -> None:
        pass


@pytest.mark.remuda_rule("EXT-33")
def test_a_session_places_in_the_scope_of_its_caller(served: Served) -> None:
    heard = Verdicts()
    security = Security(token=PLACER)
    with SessionClient(served.grpc, "rm", heard, security=security) as session:
        with pytest.raises(ClientError, match=f"PERMISSION_DENIED: .* {NO_CONFIGURATION}"):
            session.register(TWO)
        session.register()
        # The first fits a short frame, the others need a long one.
        session.update_application(applications(("a0", "root.a"), ("b0", "root.b")))
        numbers = range(1, 1_000)
        pairs = [(f"{queue}{i}", f"root.{queue}") for i in numbers for queue in ("a", "b")]
        session.update_application(applications(*pairs))
        wait(lambda: len(heard.accepted) + len(heard.rejected) == 2_000)
        assert heard.accepted == [f"a{i}" for i in range(1_000)]
        assert all(re.search(BEYOND, reason) for reason in heard.rejected.values())
        with pytest.raises(ClientError, match=NO_CONFIGURATION):
            session.update_configuration(TWO)
        session.update_configuration("")


@pytest.mark.remuda_rule("EXT-33")
def test_a_stream_has_the_scope_of_its_caller_whoever_registered(served: Served) -> None:
    with grpc.insecure_channel(served.grpc) as channel:
        stub = SchedulerStub(channel)
        register = si.RegisterResourceManagerRequest(rmID="rm")
        stub.RegisterResourceManager(register, SECONDS, metadata=metadata(CLUSTER))
        for token, size, rejected in ((PLACER, 1, 1), (PLACER, 1_000, 1_000), (CLUSTER, 1, 0)):
            names = [(f"{token} {size} {i}", "root.b") for i in range(size)]
            requests = iter([applications(*names)])
            answers = list(stub.UpdateApplication(requests, SECONDS, metadata(token)))
            reasons = [each.reason for answer in answers for each in answer.rejected]
            assert len(reasons) == rejected
            assert all(re.search(BEYOND, reason) for reason in reasons)


@pytest.mark.remuda_rule("EXT-33")
def test_a_session_that_another_caller_resumes_has_the_scope_of_that_one(tmp_path: Path) -> None:
    path = tmp_path / "access.toml"
    path.write_text(PLACERS + identity("cluster", CLUSTER, "rm-ids = ['rm']"))
    stored = load_configuration(TWO)
    with Service(
        security=read_security(None, path), load=load_configuration, stored=stored
    ) as service:
        stream = SessionStream(service.channel, metadata=metadata(CLUSTER))
        session = stream.register().session_id
        for number, (token, accepted) in enumerate(((CLUSTER, 1), (PLACER, 0), (CLUSTER, 1))):
            if number:
                sent, got = stream.sent, stream.got
                stream.cut()
                who = metadata(token)
                stream = SessionStream(service.channel, sent=sent, got=got, metadata=who)
                assert stream.resume("rm", session, got).HasField("welcome")
            stream.app(f"app{number}", "root.b")
            answer = stream.until("application").application
            assert (len(answer.accepted), len(answer.rejected)) == (accepted, 1 - accepted)
        stream.cut()
