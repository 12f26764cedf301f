"""The audit log of a served process: each deed of the table is done, and found in the file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import stat
from pathlib import Path
from typing import Any, Final

import grpc
import httpx2
import pytest

import remuda
from remuda.client import Admin, Client, ClientError, Security
from remuda.connection.journal import JournalStream
from remuda.session.client import SessionClient
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from remuda.telemetry.audit.records import DEEDS, Record
from tests.e2e.grpc_service import Service
from tests.e2e.queue_files import THREE, TWO
from tests.e2e.serving import FREE_PORTS, Served, run_remuda
from tests.e2e.session_stream import SessionStream
from tests.waiting import wait

RM_TOKEN, READER_TOKEN, ADMIN_TOKEN = "correct horse", "green stapler", "battery staple"
GUEST_TOKEN = "of a guest"
GUESS, SECRET = "a guess that is no token", "the password of a tracker"
IN_RM, IN_ADMIN = Security(token=RM_TOKEN), Security(token=ADMIN_TOKEN)
VERSION = f"remuda {remuda.__version__}"

BAD = TWO.replace("name: a", "nome: a")


def identity(name: str, token: str, rights: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f"[[identity]]\nname = '{name}'\ntoken-sha256 = ['{digest}']\n{rights}\n"


ACCESS = (
    identity("cluster a", RM_TOKEN, "rm-ids = ['rm', 'session']")
    + identity("dashboards", READER_TOKEN, "read = true")
    + identity("operations", ADMIN_TOKEN, "admin = true\nrun = true")
)

# For each deed: fields of a line that the scenario below must have left. A list: a line each.
RM: Final = {"who": "cluster a", "rm": "rm"}
SESSION: Final = {"who": "cluster a", "rm": "session"}
OPERATIONS: Final = {"who": "operations"}
REFUSED: Final = {"outcome": "refused"}
EXPECTED: Final[dict[str, list[dict[str, str]]]] = {
    "start": [{"target": VERSION}],
    "stop": [{"target": VERSION}],
    "register": [
        {**RM, "target": "/si.v1.Scheduler/RegisterResourceManager"},
        {**SESSION, "target": "/remuda.v1.ResourceManagerSession/Connect"},
        {**RM, **REFUSED, "reason": "CFG-"},
    ],
    "replace": [
        {**RM, "replaced": "streams of 'cluster a' from 127.0.0.1:"},
        {**RM, **REFUSED, "replaced": "streams of 'cluster a' from", "reason": "CFG-"},
    ],
    "unregister": [
        {**SESSION, "target": "/remuda.v1.ResourceManagerSession/Connect", "replaced": "session"},
        {**OPERATIONS, "rm": "rm", "target": "/remuda.v1.Admin/StopResourceManager"},
        {**OPERATIONS, **REFUSED, "rm": "nobody", "reason": "not registered"},
    ],
    "attach": [{**RM}, {**SESSION, **REFUSED, "reason": "not registered through si.v1"}],
    "resume": [{**SESSION}, {**SESSION, **REFUSED, "reason": "no such session"}],
    "configure": [{**RM, "target": "checksum "}, {**RM, **REFUSED, "reason": "CFG-"}],
    "store-configuration": [
        {**OPERATIONS, "target": "policy group 'g', checksum "},
        {**OPERATIONS, **REFUSED, "target": "policy group 'h'", "reason": "CFG-"},
    ],
    "reload-configuration": [{"target": "queues.yaml"}, {**REFUSED, "reason": "CFG-"}],
    "reload-access": [{"target": "access.toml"}, {**REFUSED, "reason": "access.toml: "}],
    "revoke": [{"who": "guest", "reason": "is not known any more, or has other rights"}],
    "change-state": [
        {**OPERATIONS, "rm": "rm", "target": "queue 'root.a' of partition ''"},
        {**OPERATIONS, **REFUSED, "rm": "rm", "target": "queue 'root.none' of partition ''"},
    ],
    "set-log-level": [
        {**OPERATIONS, "target": "logger 'remuda.si': debug"},
        {**OPERATIONS, **REFUSED, "target": "logger 'other': debug"},
    ],
    "read-state-dump": [
        {**OPERATIONS, "target": "/remuda.v1.SchedulerExtension/GetStateDump"},
        {**OPERATIONS, "target": "/ws/v1/fullstatedump"},
    ],
    "read-debug": [
        {**OPERATIONS, "target": "/ws/v1/stack"},
        {**OPERATIONS, "target": "/debug/pprof/heap"},
        {**OPERATIONS, **REFUSED, "target": "/debug/pprof/profile", "reason": "HTTP status 400"},
    ],
    "follow-journal": [{**OPERATIONS, "target": "/remuda.v1.Journal/Follow"}],
    "submit-command": [
        {**OPERATIONS, "target": "sh-1", "queue": "root.a"},
        {**OPERATIONS, **REFUSED, "reason": "The command is wrong"},
    ],
    "cancel-command": [
        {**OPERATIONS, "target": "sh-1", "queue": "root.a"},
        {**OPERATIONS, **REFUSED, "target": "none-7", "reason": "Command not found"},
    ],
    "authenticate": [
        {**REFUSED, "target": "/remuda.v1.Admin/ListPartitions", "from": "127.0.0.1:"},
        {**REFUSED, "target": "/ws/v1/partitions", "from": "127.0.0.1:"},
    ],
    "lock-out": [{**REFUSED, "from": "127.0.0.1", "reason": "5 wrong tokens; refused for 1 s"}],
    "authorize": [
        {**REFUSED, "who": "cluster a", "target": "/remuda.v1.Admin/ListPartitions"},
        {**REFUSED, "who": "cluster a", "rm": "foreign", "reason": "may not act for this"},
        {**REFUSED, "who": "dashboards", "target": "/ws/v1/stack", "from": "127.0.0.1:"},
    ],
}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.read_text().splitlines()]


def count(path: Path, what: str) -> int:
    return [each["what"] for each in lines(path)].count(what)


def act_as_resource_managers(served: Served) -> None:
    with Client(served.grpc, "rm", security=IN_RM) as client:
        client.register(extra_config={"tracker": SECRET})
        client.update_configuration(THREE, extra_config={"tracker": SECRET})
        with pytest.raises(ClientError):
            client.update_configuration(BAD, extra_config={"tracker": SECRET})
        with Client(served.grpc, "rm", security=IN_RM) as second:
            second.register()
            with SessionClient(served.grpc, "rm", security=IN_RM) as attached:
                attached.attach()
            for _ in range(2):  # the first ends what there is, the second finds nothing
                with pytest.raises(ClientError):
                    second.register(BAD)
            second.register()
    with Client(served.grpc, "foreign", security=IN_RM) as client, pytest.raises(ClientError):
        client.register()


def act_in_a_session(served: Served) -> None:
    who = (("authorization", f"Bearer {RM_TOKEN}"),)
    with grpc.insecure_channel(served.grpc) as channel:
        first = SessionStream(channel, metadata=who)
        welcome = first.register("session")
        first.cut()
        second = SessionStream(channel, got=first.got, metadata=who)
        assert second.resume("session", welcome.session_id, first.got).HasField("welcome")
        second.cut()
        third = SessionStream(channel, metadata=who)
        assert third.resume("session", "another", 0).HasField("goodbye")
    with SessionClient(served.grpc, "session", security=IN_RM) as client:
        with pytest.raises(ClientError):
            client.attach()
        client.register()
        client.leave()


def act_as_operators(served: Served) -> None:
    with Admin(served.grpc, security=IN_ADMIN) as admin:
        admin.set_configuration(TWO, policy_group="g", extra_config={"tracker": SECRET})
        with pytest.raises(ClientError):
            admin.set_configuration(BAD, policy_group="h")
        with pytest.raises(ClientError):
            admin.set_configuration(BAD, policy_group="tried", dry_run=True)
        admin.stop("rm", "root.a")
        with pytest.raises(ClientError):
            admin.stop("rm", "root.none")
        admin.set_log_level("debug", "remuda.si")
        with pytest.raises(ClientError):
            admin.set_log_level("debug", "other")
        admin.state_dump()
        admin.stop_resource_manager("rm", "it misbehaves")
        with pytest.raises(ClientError):
            admin.stop_resource_manager("nobody")
    with JournalStream(served.grpc, IN_ADMIN, None, print) as stream:
        wait(lambda: stream.next(1.0) is not None)
    for security in (IN_RM, Security(token=GUESS)):
        with Admin(served.grpc, security=security) as admin, pytest.raises(ClientError):
            admin.partitions()


def read_over_http(client: httpx2.Client) -> None:
    assert client.get("/ws/v1/partitions", headers=bearer(GUESS)).status_code == 401
    assert client.get("/ws/v1/stack", headers=bearer(READER_TOKEN)).status_code == 403
    for path, status in {
        "/ws/v1/fullstatedump": 200,
        "/ws/v1/stack": 200,
        "/debug/pprof/heap": 200,
        "/debug/pprof/profile?seconds=none": 400,
        "/debug/pprof/none": 404,
        "/ws/v1/partitions": 200,
    }.items():
        assert client.get(path, headers=bearer(ADMIN_TOKEN)).status_code == status, path


def run_commands(client: httpx2.Client) -> None:
    """Submit and cancel commands whose arguments and environment have a secret."""

    def posted(path: str, body: object) -> int:
        answer = client.post(f"/ws/v1/local/{path}", json=body, headers=bearer(ADMIN_TOKEN))
        return answer.status_code

    def over() -> bool:
        shown = client.get("/ws/v1/local/command/sh-1", headers=bearer(ADMIN_TOKEN)).json()
        return bool(shown["stage"] == "over")

    command = {
        "arguments": ["sh", "-c", f"exec sleep 1000 # {SECRET}"],
        "environment": {"PASSWORD": SECRET},
        "resources": {"vcore": "10m"},
        "queue": "root.a",
    }
    assert posted("commands", command) == 200
    assert posted("commands", {**command, "resources": {"vcore": SECRET}}) == 400
    assert posted("commands", {**command, "environment": {f"{SECRET}=": ""}}) == 400
    assert posted("command/none-7/cancel", {}) == 404
    assert posted("command/sh-1/cancel", {}) == 200
    wait(over)


def guess(client: httpx2.Client) -> None:
    """Show wrong tokens until the address is locked out: two more came before."""
    for number in range(3):
        answer = client.get("/ws/v1/partitions", headers=bearer(f"{GUESS} {number}"))
        assert answer.status_code == 401


def reload(served: Served, config: Path, audit: Path) -> None:
    for number, text in enumerate((THREE, BAD), 1):
        config.write_text(text)
        served.process.send_signal(signal.SIGHUP)
        wait(lambda: count(audit, "reload-configuration") >= number)  # noqa: B023


def change_access(served: Served, access: Path, audit: Path) -> None:
    """Take an identity away while it has a call open; a file with a fault comes before."""
    wait(lambda: count(audit, "reload-access") >= 4)  # two files, read with the configuration
    who = (("authorization", f"Bearer {GUEST_TOKEN}"),)
    with grpc.insecure_channel(served.grpc) as channel:
        watch = MetricsStub(channel).WatchEvents(ext.WatchEventsRequest(history=1), metadata=who)
        next(watch)
        for number, text in enumerate(("[", ACCESS), 5):
            access.write_text(text)
            wait(lambda: count(audit, "reload-access") >= number)  # noqa: B023
        with pytest.raises(grpc.RpcError):
            list(watch)
    wait(lambda: count(audit, "revoke") == 1)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Have everything done that the table knows; return the log and the last metrics."""
    directory = tmp_path_factory.mktemp("audit")
    access, config, audit = (
        directory / name for name in ("access.toml", "queues.yaml", "audit.log")
    )
    readers = directory / "readers.toml"
    access.write_text(ACCESS + identity("guest", GUEST_TOKEN, "rm-ids = ['*']"))
    readers.write_text(ACCESS)
    config.write_text(TWO)
    options = ("--config", str(config), "--no-watch", "--audit-log", str(audit))
    journal = directory / "journal"
    journal.mkdir()
    more = ("--journal", str(journal), "--local-node", "--local-dir", str(directory / "local"))
    access_options = ("--grpc-access", str(access), "--rest-access", str(readers))
    with Served(*FREE_PORTS, *options, *access_options, *more) as served:
        act_as_resource_managers(served)
        act_in_a_session(served)
        act_as_operators(served)
        read_over_http(served.client)
        run_commands(served.client)
        reload(served, config, audit)
        change_access(served, access, audit)
        guess(served.client)
        metrics = served.client.get("/ws/v1/metrics", headers=bearer(READER_TOKEN)).text
        assert served.end(signal.SIGTERM)[0] == 0
    return audit, metrics


@pytest.mark.remuda_rule("EXT-26")
@pytest.mark.parametrize("what", DEEDS)
def test_each_deed_of_the_table_is_in_the_log(audited: tuple[Path, str], what: str) -> None:
    found = [each for each in lines(audited[0]) if each["what"] == what]
    for fields in EXPECTED[what]:
        wanted = {"outcome": "done", **fields}

        def fits(line: dict[str, Any], wanted: dict[str, str] = wanted) -> bool:
            return all(text in line.get(name, "") for name, text in wanted.items())

        assert any(map(fits, found)), (wanted, found)
    if what not in ("start", "stop", "reload-configuration", "reload-access", "revoke"):
        assert all(each["from"].startswith("127.0.0.1") for each in found)


@pytest.mark.remuda_rule("EXT-26", "EXT-161")
def test_the_log_is_private_and_has_no_secret_and_nothing_else(audited: tuple[Path, str]) -> None:
    path, _ = audited
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for secret in (RM_TOKEN, READER_TOKEN, ADMIN_TOKEN, GUESS, SECRET):
        assert secret not in text
        assert hashlib.sha256(secret.encode()).hexdigest() not in text
    assert "tried" not in text  # a trial changes nothing
    assert "/debug/pprof/none" not in text
    found = lines(path)
    assert {each["what"] for each in found} == set(DEEDS)
    assert found[0]["what"] == "start"
    assert found[-1]["what"] == "stop"


@pytest.mark.remuda_rule("MET-50")
def test_the_metrics_count_what_the_log_has(audited: tuple[Path, str]) -> None:
    path, metrics = audited
    assert 'yunikorn_audit_records_total{outcome="refused",what="authenticate"} 5.0\n' in metrics
    for what in set(DEEDS) - {"stop"}:
        of_it = [each["outcome"] for each in lines(path) if each["what"] == what]
        for outcome in set(of_it):
            series = f'yunikorn_audit_records_total{{outcome="{outcome}",what="{what}"}}'
            assert f"{series} {of_it.count(outcome)}.0\n" in metrics
    assert "\nyunikorn_audit_lost_records_total 0.0" in metrics
    assert "\nyunikorn_audit_broken 0.0" in metrics


@pytest.mark.remuda_rule("EXT-26", "RM-18")
def test_a_resource_manager_that_stays_away_is_recorded_when_it_is_removed() -> None:
    records: list[Record] = []
    with Service(audit=records.append) as service:
        stream = SessionStream(service.channel)
        stream.register(extraConfig={"rm.pauseTimeout": "1ms"})
        stream.cut()
        wait(lambda: records[-1].what == "unregister")
    last = records[-1]
    assert (last.rm_id, last.who, last.origin, last.outcome) == ("rm", "", "", "done")
    assert last.reason.startswith("stayed away: ")
    assert last.replaced.startswith("session from 127.0.0.1:")
    assert [each.what for each in records] == ["register", "unregister"]


@pytest.mark.remuda_rule("EXT-26")
def test_without_identities_the_address_is_known() -> None:
    records: list[Record] = []
    with Service(audit=records.append) as service, Admin(service.address) as admin:
        with Client(service.address, "rm") as client:
            client.register()
        admin.stop_resource_manager("rm")
    assert [(each.what, each.who) for each in records] == [("register", ""), ("unregister", "")]
    assert all(each.origin.startswith("127.0.0.1:") for each in records)


@pytest.mark.remuda_rule("EXT-26", "KV-6")
@pytest.mark.parametrize(
    "name, words",
    [("none/audit", "there is no directory"), ("", "is not a regular file")],
)
def test_a_log_that_cannot_be_written_is_one_line_and_code_2(
    tmp_path: Path, name: str, words: str
) -> None:
    ended = run_remuda("serve", *FREE_PORTS, "--audit-log", str(tmp_path / name))
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert words in line


@pytest.mark.remuda_rule("EXT-26", "KV-6")
def test_two_processes_do_not_share_a_log(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.log")
    with Served(*FREE_PORTS, REMUDA_AUDIT_LOG=path) as served:
        ended = run_remuda("serve", *FREE_PORTS, "--audit-log", path)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "another process writes it" in ended.stderr
        with contextlib.suppress(ClientError), Admin(served.grpc) as admin:
            admin.partitions()
        assert served.end(signal.SIGTERM)[0] == 0
    assert [each["what"] for each in lines(Path(path))] == ["start", "stop"]
