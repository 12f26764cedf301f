"""TLS, and who may call what over gRPC (EXT-23)."""

from __future__ import annotations

import hashlib
import logging
import shutil
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import grpc
import pytest

from remuda.client import Admin, Client, ClientError
from remuda.client import Security as ClientSecurity
from remuda.edges.certificates import TlsFiles
from remuda.edges.grpc.security import Security, read_security
from remuda.session.client import SessionClient
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import (
    AdminStub,
    MetricsStub,
    ResourceManagerSessionStub,
    SchedulerExtensionStub,
)
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from tests.e2e.grpc_service import SECONDS, Service
from tests.waiting import wait

Metadata: TypeAlias = tuple[tuple[str, str], ...]

FILES = Path(__file__).parent / "tls"
TOKEN, ADMIN_TOKEN = "correct horse", "battery staple"
FOR_CLIENT = ClientSecurity(FILES / "ca.pem", FILES / "client.pem", FILES / "client.key")
FOR_ADMIN = ClientSecurity(FILES / "ca.pem", FILES / "admin.pem", FILES / "admin.key")


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


BY_TOKEN = f"""\
[[identity]]
name = "cluster a"
token-sha256 = ["{digest(TOKEN)}"]
rm-ids = ["rm", "second"]

[[identity]]
name = "operations"
token-sha256 = ["{digest(ADMIN_TOKEN)}"]
admin = true
"""
BY_CERTIFICATE = """\
[[identity]]
name = "cluster a"
certificates = ["cluster-a.example.org"]
rm-ids = ["*"]

[[identity]]
name = "operations"
certificates = ["operations.example.org"]
admin = true
"""
# The common name of a certificate that has other names, too.
BY_COMMON_NAME = """\
[[identity]]
name = "operations"
certificates = ["operations"]
admin = true
"""


def tls(*, client_ca: bool = False) -> TlsFiles:
    ca = FILES / "ca.pem" if client_ca else None
    return TlsFiles(FILES / "server.pem", FILES / "server.key", ca)


@pytest.fixture
def access(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "access.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def by_token(access: Callable[[str], Path]) -> Iterator[Service]:
    with Service(security=read_security(None, access(BY_TOKEN))) as running:
        yield running


def token(text: str) -> Metadata:
    return (("authorization", f"Bearer {text}"),)


def refused(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code(), str(caught.value.details())


@pytest.mark.remuda_rule("EXT-23")
def test_a_call_of_nobody_known_is_refused_whatever_it_is(by_token: Service) -> None:
    channel = by_token.channel
    scheduler, admin = SchedulerStub(channel), AdminStub(channel)
    extension, metrics = SchedulerExtensionStub(channel), MetricsStub(channel)
    register = si.RegisterResourceManagerRequest(rmID="rm")
    calls: list[Callable[[Metadata], object]] = [
        lambda who: scheduler.RegisterResourceManager(register, SECONDS, who),
        lambda who: list(scheduler.UpdateNode(iter([si.NodeRequest(rmID="rm")]), SECONDS, who)),
        lambda who: admin.ListPartitions(ext.ListPartitionsRequest(), SECONDS, who),
        lambda who: extension.GetCapabilities(ext.CapabilitiesRequest(), SECONDS, who),
        lambda who: list(extension.GetStateDump(ext.StateDumpRequest(), SECONDS, who)),
        lambda who: list(metrics.WatchEvents(ext.WatchEventsRequest(), SECONDS, who)),
    ]
    for metadata in ((), token("wrong"), (("authorization", TOKEN),)):
        for call in calls:
            code, detail = refused(partial(call, metadata))
            assert code is grpc.StatusCode.UNAUTHENTICATED
            assert TOKEN not in detail
    assert by_token.core.roster.all() == ()


@pytest.mark.remuda_rule("EXT-23")
def test_a_token_lets_its_resource_managers_in_and_no_other(by_token: Service) -> None:
    security = ClientSecurity(token=TOKEN)
    with Client(by_token.address, "rm", security=security) as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a")
        client.ask("app", "k", {"vcore": 1})
        assert [each.allocationKey for each in client.allocations(1)] == ["k"]
        assert not client.update_configuration()
    with (
        Client(by_token.address, "third", security=security) as client,
        pytest.raises(ClientError, match="PERMISSION_DENIED: 'cluster a' may not act for"),
    ):
        client.register()
    who = token(TOKEN)
    extension = SchedulerExtensionStub(by_token.channel)
    nodes = iter([si.NodeRequest(rmID="third")])
    update = si.UpdateConfigurationRequest(rmID="third")
    leave = ext.UnregisterRequest(rm_id="third")
    calls: list[Callable[[], object]] = [
        lambda: list(by_token.stub.UpdateNode(nodes, SECONDS, who)),
        lambda: extension.UpdateConfiguration(update, SECONDS, who),
        lambda: extension.UnregisterResourceManager(leave, SECONDS, who),
    ]
    for call in calls:
        assert refused(call)[0] is grpc.StatusCode.PERMISSION_DENIED
    assert extension.GetCapabilities(ext.CapabilitiesRequest(), SECONDS, who).core_uuid


@pytest.mark.remuda_rule("EXT-23")
def test_operators_need_their_role(by_token: Service) -> None:
    with Admin(by_token.address, security=ClientSecurity(token=TOKEN)) as admin:
        for call in (admin.resource_managers, admin.partitions, admin.state_dump):
            with pytest.raises(ClientError, match="PERMISSION_DENIED: 'cluster a' is no admin"):
                call()
    with Admin(by_token.address, security=ClientSecurity(token=ADMIN_TOKEN)) as admin:
        assert admin.resource_managers() == []
        assert admin.state_dump().startswith(b"{")
    with (
        Client(by_token.address, "rm", security=ClientSecurity(token=ADMIN_TOKEN)) as client,
        pytest.raises(ClientError, match="PERMISSION_DENIED: 'operations' may not act for"),
    ):
        client.register()


@pytest.mark.remuda_rule("EXT-23")
def test_a_session_client_says_who_it_is(by_token: Service) -> None:
    secure = ClientSecurity(token=TOKEN)
    with SessionClient(by_token.address, "rm", security=secure) as client:
        assert client.register().session_id
    with (
        SessionClient(by_token.address, "rm") as client,
        pytest.raises(ClientError, match="UNAUTHENTICATED"),
    ):
        client.register()


@pytest.mark.remuda_rule("EXT-23")
def test_with_tls_a_client_knows_whom_it_talks_to() -> None:
    with Service(security=read_security(tls(), None)) as service:
        trusting = ClientSecurity(FILES / "ca.pem")
        with Client(service.address, "rm", security=trusting) as client:
            client.register()
        with (
            Client(service.address, "rm", timeout=1.0) as client,
            pytest.raises(ClientError, match="no scheduler answers"),
        ):
            client.register()
        stranger = ClientSecurity(FILES / "other.pem")
        with (
            Client(service.address, "rm", timeout=1.0, security=stranger) as client,
            pytest.raises(ClientError, match="no scheduler answers"),
        ):
            client.register()


@pytest.mark.remuda_rule("EXT-23")
def test_with_an_authority_for_clients_their_certificates_say_who_they_are(
    access: Callable[[str], Path],
) -> None:
    with Service(security=read_security(tls(client_ca=True), access(BY_CERTIFICATE))) as service:
        with Client(service.address, "any", security=FOR_CLIENT) as client:
            client.register()
            client.add_nodes({"n": {"vcore": 1}})
        with Admin(service.address, security=FOR_ADMIN) as admin:
            assert [each.rm_id for each in admin.resource_managers()] == ["any"]
        with (
            Admin(service.address, security=FOR_CLIENT) as admin,
            pytest.raises(ClientError, match="'cluster a' is no administrator"),
        ):
            admin.partitions()
        anonymous = ClientSecurity(FILES / "ca.pem")
        with (
            Admin(service.address, timeout=1.0, security=anonymous) as admin,
            pytest.raises(ClientError, match="no scheduler answers"),
        ):
            admin.partitions()


@pytest.mark.remuda_rule("EXT-30", "EXT-25")
def test_an_operator_starts_and_stops_what_is_in_its_scope(
    access: Callable[[str], Path],
) -> None:
    role = f"""\
[[identity]]
name = "operator"
token-sha256 = ["{digest("on duty")}"]
role = "operator"
queues = ["root.a"]
"""
    with (
        Service(security=read_security(None, access(BY_TOKEN + role))) as service,
        Client(service.address, "rm", security=ClientSecurity(token=TOKEN)) as client,
        Admin(service.address, security=ClientSecurity(token="on duty")) as operator,
    ):
        client.register()
        assert [each.rm_id for each in operator.resource_managers()] == ["rm"]
        assert len(operator.partitions()) == 1
        assert operator.stop("rm", "root.a") == "Active"
        assert operator.start("rm", "root.a") == "Stopped"
        for queue in ("root", ""):
            with pytest.raises(ClientError, match="PERMISSION_DENIED: 'operator' may not start"):
                operator.stop("rm", queue)
        with pytest.raises(ClientError, match="PERMISSION_DENIED: 'operator' may not start"):
            operator.drain("rm", "n1")
        beyond: list[Callable[[], object]] = [
            lambda: operator.set_configuration("", dry_run=True),
            lambda: operator.stop_resource_manager("rm"),
            lambda: operator.set_log_level("info"),
            operator.state_dump,
        ]
        for call in beyond:
            with pytest.raises(ClientError, match="'operator' is no administrator"):
                call()
        with (
            Client(service.address, "rm", security=ClientSecurity(token="on duty")) as other,
            pytest.raises(ClientError, match="may not act for"),
        ):
            other.register()


@pytest.mark.remuda_rule("EXT-23")
def test_the_common_name_of_a_certificate_with_other_names_shows_nothing(
    access: Callable[[str], Path],
) -> None:
    with (
        Service(security=read_security(tls(client_ca=True), access(BY_COMMON_NAME))) as service,
        Admin(service.address, security=FOR_ADMIN) as admin,
        pytest.raises(ClientError, match="UNAUTHENTICATED"),
    ):
        admin.partitions()


@pytest.mark.remuda_rule("EXT-23")
def test_a_certificate_that_is_replaced_is_used_without_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = TlsFiles(tmp_path / "tls.pem", tmp_path / "tls.key")
    shutil.copy(FILES / "server.pem", files.certificate)
    shutil.copy(FILES / "server.key", files.key)
    with (
        Service(security=read_security(files, None)) as service,
        caplog.at_level(logging.INFO, "remuda.security"),
    ):

        def shown() -> bytes:
            host, _, port = service.address.rpartition(":")
            return ssl_certificate(host, int(port))

        first = shown()
        files.key.write_text("half of it")  # as a moment between two writes looks
        assert shown() == first
        assert "the certificate in use stays" in caplog.text
        shutil.copy(FILES / "other.key", files.key)
        shutil.copy(FILES / "other.pem", files.certificate)
        wait(lambda: shown() != first)
        # The thread that answers may show it before it has said so.
        wait(lambda: "was replaced" in caplog.text)


def ssl_certificate(host: str, port: int) -> bytes:
    """The certificate that a listener shows, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection((host, port), timeout=SECONDS)
    with plain, context.wrap_socket(plain) as secure:
        found = secure.getpeercert(binary_form=True)
    assert found is not None
    return found


@pytest.mark.remuda_rule("EXT-23")
def test_by_default_everybody_may_do_everything() -> None:
    assert read_security(None, None) == Security()
    with Service() as service, Admin(service.address) as admin:
        with Client(service.address, "any") as client:
            client.register()
        assert [each.rm_id for each in admin.resource_managers()] == ["any"]


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.parametrize(
    "hello",
    [
        ext.Hello(register=si.RegisterResourceManagerRequest(rmID="other")),
        ext.Hello(attach=ext.Attach(rm_id="other")),
        ext.Hello(resume=ext.Resume(rm_id="other", session_id="x")),
    ],
)
def test_a_session_is_for_ones_own_resource_managers(by_token: Service, hello: ext.Hello) -> None:
    hello.version.major = 1
    connect = ResourceManagerSessionStub(by_token.channel).Connect
    frames = iter([ext.RMFrame(hello=hello)])
    code, text = refused(lambda: list(connect(frames, SECONDS, token(TOKEN))))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert "other" in text
