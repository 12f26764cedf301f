"""Groups from a real LDAP server: what is found, what goes wrong, who has to wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.users.ldap import PAUSE_SECONDS, LdapResolver
from remuda.runtime.users.ldap_settings import read_settings
from remuda.runtime.users.resolver import ResolutionError
from remuda.si.pb import si_pb2 as si
from tests.e2e.ldap_server import LdapServer, SlowProxy, missing
from tests.e2e.serving import FREE_PORTS, Served, run_remuda

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

CONFIG = """
partitions:
  - name: default
    usergroupresolver:
      type: ldap
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: " dev,Smith"
  - name: plain
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: "*"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapServer]:
    with LdapServer(tmp_path_factory.mktemp("slapd")) as running:
        yield running


@pytest.fixture
def proxy(server: LdapServer) -> Iterator[SlowProxy]:
    between = SlowProxy(server.port)
    yield between
    between.close()


class Clock:
    """Time as the test tells it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Make:
    """Makes resolvers for a server; they are closed after the test."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self.made: list[LdapResolver] = []

    def __call__(
        self, server: LdapServer, timeout_seconds: float = 5.0, **changes: str
    ) -> LdapResolver:
        settings = read_settings(server.settings(self._directory, **changes))
        resolver = LdapResolver(settings, timeout_seconds=timeout_seconds, now=self._clock)
        self.made.append(resolver)
        return resolver


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Iterator[Make]:
    maker = Make(tmp_path / "settings", clock)
    yield maker
    for resolver in maker.made:
        resolver.close()


@pytest.mark.remuda_rule("UGR-25", "UGR-28")
def test_groups_are_the_user_and_the_common_names_of_what_it_is_member_of(
    server: LdapServer, make: Make
) -> None:
    resolver = make(server)
    groups = resolver.groups_of("bob")
    assert groups[0] == "bob"
    assert sorted(groups[1:]) == ["Smith, John", "dev"]
    assert resolver.groups_of("nobody-knows-me") == ("nobody-knows-me",)


@pytest.mark.remuda_rule("UGR-28")
@pytest.mark.parametrize(
    "user,groups",
    [
        ("bob", ("bob", "title-group")),
        ("jo*n", ("jo*n", "star")),
        ("john", ("john", "plain")),
        ("par)en", ("par)en", "parenthesis")),
        ("*", ("*",)),
        ("bob)(uid=john", ("bob)(uid=john",)),
    ],
)
def test_another_attribute_can_name_groups_and_no_user_name_changes_the_filter(
    server: LdapServer, make: Make, user: str, groups: tuple[str, ...]
) -> None:
    assert make(server, GroupAttr="title").groups_of(user) == groups


@pytest.mark.remuda_rule("UGR-28")
def test_a_filter_that_finds_too_many_is_a_failure_of_that_user_only(
    server: LdapServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remuda.runtime.users.ldap.ENTRIES_LIMIT", 1)
    resolver = make(server, Filter="(|(uid=%s)(sn=John))")
    with pytest.raises(ResolutionError, match="more than 1 entries match"):
        resolver.groups_of("bob")
    assert resolver.groups_of("john") == ("john",)


@pytest.mark.remuda_rule("UGR-28")
def test_a_wrong_password_is_a_failure_that_does_not_show_it(
    server: LdapServer, make: Make
) -> None:
    with pytest.raises(ResolutionError) as failed:
        make(server, BindPassword="not-the-secret").groups_of("bob")
    text = str(failed.value)
    assert text.startswith(f"LDAP server 127.0.0.1:{server.port}: ")
    assert "credentials" in text.lower()
    assert "not-the-secret" not in text


@pytest.mark.remuda_rule("UGR-28")
def test_a_server_that_was_restarted_is_connected_to_again(
    tmp_path: Path, make: Make, clock: Clock
) -> None:
    directory = tmp_path / "slapd"
    directory.mkdir()
    with LdapServer(directory) as server:
        resolver = make(server)
        assert len(resolver.groups_of("bob")) == 3
        server.stop()
        server.start()
        assert len(resolver.groups_of("bob")) == 3
        server.stop()
        with pytest.raises(ResolutionError) as failed:
            resolver.groups_of("bob")
        server.start()
        clock.seconds = PAUSE_SECONDS - 0.1
        with pytest.raises(ResolutionError) as paused:
            resolver.groups_of("bob")
        assert str(paused.value) == str(failed.value)
        clock.seconds = PAUSE_SECONDS
        assert len(resolver.groups_of("bob")) == 3


@pytest.mark.remuda_rule("UGR-28")
def test_a_connection_is_used_again(server: LdapServer, proxy: SlowProxy, make: Make) -> None:
    resolver = make(server, Port=str(proxy.port))
    for _ in range(5):
        resolver.groups_of("bob")
    assert proxy.connections == 1


@pytest.mark.timed
@pytest.mark.remuda_rule("UGR-28")
@pytest.mark.parametrize("ssl", ["false", "true"])
def test_a_server_that_does_not_answer_costs_a_bounded_time_and_stops_no_other_thread(
    server: LdapServer, proxy: SlowProxy, make: Make, ssl: str
) -> None:
    resolver = make(server, 0.5, Port=str(proxy.port), SSL=ssl)
    proxy.hold()
    failed: list[str] = []

    def look_up() -> None:
        with pytest.raises(ResolutionError) as failure:
            resolver.groups_of("bob")
        failed.append(str(failure.value))

    lookup = threading.Thread(target=look_up)
    longest = 0.0
    latest = started = time.monotonic()
    lookup.start()
    while lookup.is_alive() and latest - started < 20:
        lookup.join(0.01)
        now = time.monotonic()
        longest, latest = max(longest, now - latest), now
    assert failed
    assert latest - started < 10
    assert longest < 0.4


class Rm:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self.rejected: dict[str, str] = {}
        self.placed: list[str] = []
        self._more = threading.Condition()

    def update_application(self, response: si.ApplicationResponse) -> None:
        with self._more:
            self.accepted += [entry.applicationID for entry in response.accepted]
            self.rejected |= {entry.applicationID: entry.reason for entry in response.rejected}
            self._more.notify_all()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        with self._more:
            self.placed += [entry.allocationKey for entry in response.new]
            self._more.notify_all()

    def wait_for(self, key: str) -> bool:
        with self._more:
            return self._more.wait_for(lambda: key in self.placed, timeout=60)


def registration(rm_id: str) -> si.RegisterResourceManagerRequest:
    return si.RegisterResourceManagerRequest(rmID=rm_id, config=CONFIG)


def application(rm_id: str, name: str, user: str, partition: str = "") -> si.ApplicationRequest:
    new = si.AddApplicationRequest(
        applicationID=name,
        queueName="root.a",
        partitionName=partition,
        ugi=si.UserGroupInformation(user=user),
    )
    return si.ApplicationRequest(rmID=rm_id, new=[new])


def ask(rm_id: str, name: str, key: str, partition: str = "") -> si.AllocationRequest:
    one = si.AllocationAsk(
        allocationKey=key,
        applicationID=name,
        partitionName=partition,
        resourceAsk=si.Resource(resources={"vcore": si.Quantity(value=1)}),
        maxAllocations=1,
    )
    return si.AllocationRequest(rmID=rm_id, asks=[one])


def node(rm_id: str, name: str, partition: str) -> si.NodeRequest:
    info = si.NodeInfo(
        nodeID=name,
        action=si.NodeInfo.CREATE,
        attributes={"si/node-partition": partition},
        schedulableResource=si.Resource(resources={"vcore": si.Quantity(value=100)}),
    )
    return si.NodeRequest(rmID=rm_id, nodes=[info])


@pytest.mark.remuda_rule("UGR-25", "UGR-6", "UGR-9", "SI-24")
def test_applications_get_the_groups_that_the_server_knows(
    server: LdapServer, tmp_path: Path
) -> None:
    rm = Rm()
    with InProcessScheduler(ldap_settings=server.settings(tmp_path / "s")) as scheduler:
        scheduler.register_resource_manager(registration("rm"), rm)
        request = application("rm", "of-bob", "bob")
        scheduler.update_application(request)
        scheduler.update_application(application("rm", "of-ann", "ann"))
        scheduler.update_application(application("rm", "plain-ann", "ann", "plain"))
        scheduler.wait_idle()
    assert rm.accepted == ["of-bob", "plain-ann"]
    assert list(rm.rejected) == ["of-ann"]
    assert not request.new[0].ugi.groups


@pytest.mark.remuda_rule("UGR-6", "UGR-30")
def test_applications_are_rejected_while_the_server_is_gone(
    server: LdapServer, tmp_path: Path
) -> None:
    rm = Rm()
    settings = server.settings(tmp_path / "s", BindPassword="wrong")
    with InProcessScheduler(ldap_settings=settings) as scheduler:
        scheduler.register_resource_manager(registration("rm"), rm)
        scheduler.update_application(application("rm", "first", "bob"))
        scheduler.wait_idle()
        scheduler.update_application(application("rm", "second", "bob"))
        scheduler.wait_idle()
    assert "LDAP server" in rm.rejected["first"]
    assert "user resolution failed, cached data returned: 2" in rm.rejected["second"]


@pytest.mark.remuda_rule("SI-24", "SI-2")
def test_a_slow_server_holds_up_neither_scheduling_nor_other_managers(
    server: LdapServer, proxy: SlowProxy, tmp_path: Path
) -> None:
    settings = server.settings(tmp_path / "s", Port=str(proxy.port))
    slow, quick = Rm(), Rm()
    with InProcessScheduler(ldap_settings=settings) as scheduler:
        for rm_id, rm in (("slow", slow), ("quick", quick)):
            scheduler.register_resource_manager(registration(rm_id), rm)
            scheduler.update_node(node(rm_id, f"{rm_id}-node", "plain"))
        proxy.hold()
        scheduler.update_application(application("slow", "plain-app", "bob", "plain"))
        scheduler.update_allocation(ask("slow", "plain-app", "before", "plain"))
        scheduler.update_application(application("slow", "of-bob", "bob"))
        scheduler.update_allocation(ask("slow", "plain-app", "behind", "plain"))
        assert proxy.asked.wait(10)
        scheduler.update_application(application("quick", "quick-app", "bob", "plain"))
        for number in range(20):
            scheduler.update_allocation(ask("quick", "quick-app", f"k{number}", "plain"))
        assert quick.wait_for("k19")
        assert slow.wait_for("before")
        assert (slow.accepted, slow.placed) == (["plain-app"], ["before"])
        proxy.flowing.set()
        assert slow.wait_for("behind")
        scheduler.wait_idle()
    assert slow.accepted == ["plain-app", "of-bob"]


@pytest.mark.remuda_rule("UGR-28")
def test_closing_ends_lookups_that_run(server: LdapServer, proxy: SlowProxy, make: Make) -> None:
    resolver = make(server, Port=str(proxy.port))
    proxy.hold()
    failed: list[str] = []

    def look_up() -> None:
        try:
            resolver.groups_of("bob")
        except ResolutionError as error:
            failed.append(str(error))

    waiting = threading.Thread(target=look_up)
    waiting.start()
    assert proxy.asked.wait(10)
    resolver.close()
    waiting.join(2)
    assert not waiting.is_alive()
    assert failed == [f"LDAP server 127.0.0.1:{proxy.port}: the lookup process ended with code -9"]
    with pytest.raises(ResolutionError, match="have ended"):
        resolver.groups_of("bob")


@pytest.mark.remuda_rule("UGR-26")
def test_a_manager_whose_configuration_asks_for_missing_settings_is_refused(
    tmp_path: Path,
) -> None:
    with (
        InProcessScheduler(ldap_settings=tmp_path / "none") as scheduler,
        pytest.raises(ConfigError, match="UGR-26") as refused,
    ):
        scheduler.register_resource_manager(registration("rm"), Rm())
    assert "\n" not in str(refused.value)


@pytest.mark.remuda_rule("UGR-26")
def test_the_service_does_not_start_with_settings_that_are_missing_or_wrong(
    server: LdapServer, tmp_path: Path
) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(CONFIG)
    wrong = server.settings(tmp_path / "s", Port="0")
    done = run_remuda("serve", "--config", str(config), "--ldap-settings", str(wrong), *FREE_PORTS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"remuda: LDAP settings in {wrong}: Port: '0' is not a port, 1 to 65535\n"
    )
    nowhere = {"REMUDA_LDAP_SETTINGS": str(tmp_path / "none")}
    done = run_remuda("serve", "--config", str(config), *FREE_PORTS, **nowhere)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.remuda_rule("UGR-26")
def test_the_service_starts_with_good_settings_and_ends_at_once(
    server: LdapServer, tmp_path: Path
) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(CONFIG)
    settings = server.settings(tmp_path / "s")
    arguments = ("--config", str(config), "--ldap-settings", str(settings), *FREE_PORTS)
    with Served(*arguments) as served:
        assert served.end(15)[0] == 0
