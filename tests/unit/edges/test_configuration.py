"""Configuration updates in process, with the real core and applications that go on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.config.schema import BUILT_IN_TEXT, built_in
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import (
    ApplicationsQuery,
    ConfigurationsQuery,
    ConfigurationView,
    PartitionsQuery,
    PartitionView,
    QueuesQuery,
    QueueView,
)
from remuda.core.messages.rows import rows
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

FIRST = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {max: {vcore: 2}}
          - name: p
            queues: [{name: c}]
"""


class Rm:
    """Notes what is placed and released, and which applications are taken."""

    def __init__(self) -> None:
        self.placed: list[str] = []
        self.released: list[str] = []
        self.accepted: list[str] = []
        self.rejected: list[str] = []
        self.states: list[str] = []

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.placed.extend(entry.allocationKey for entry in response.new)
        self.released.extend(entry.allocationKey for entry in response.released)

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.accepted.extend(entry.applicationID for entry in response.accepted)
        self.rejected.extend(entry.applicationID for entry in response.rejected)
        self.states.extend(f"{entry.applicationID} {entry.state}" for entry in response.updated)


class Cluster:
    """One RM with one node of 10 vcore in one scheduler."""

    def __init__(self, scheduler: InProcessScheduler, rm_id: str = "rm") -> None:
        self.scheduler = scheduler
        self.rm_id = rm_id
        self.rm = Rm()

    def register(self, config: str = FIRST, group: str = "", **extra: str) -> None:
        request = si.RegisterResourceManagerRequest(
            rmID=self.rm_id, config=config, policyGroup=group, extraConfig=extra
        )
        self.scheduler.register_resource_manager(request, self.rm)

    def node(self, name: str = "n", partition: str = "default") -> None:
        node = si.NodeInfo(
            nodeID=name,
            action=si.NodeInfo.CREATE,
            attributes={"si/node-partition": partition},
            schedulableResource=resource({"vcore": 10_000}),
        )
        self.scheduler.update_node(si.NodeRequest(rmID=self.rm_id, nodes=[node]))

    def application(self, name: str, queue: str, partition: str = "default") -> None:
        new = si.AddApplicationRequest(
            applicationID=name,
            queueName=queue,
            partitionName=partition,
            ugi=si.UserGroupInformation(user="ann", groups=["bi"]),
        )
        self.scheduler.update_application(si.ApplicationRequest(rmID=self.rm_id, new=[new]))

    def ask(self, application: str, *keys: str, partition: str = "default") -> None:
        asks = [
            si.AllocationAsk(
                applicationID=application,
                partitionName=partition,
                allocationKey=key,
                resourceAsk=resource({"vcore": 1_000}),
                maxAllocations=1,
            )
            for key in keys
        ]
        self.scheduler.update_allocation(si.AllocationRequest(rmID=self.rm_id, asks=asks))

    def update(self, config: str, group: str = "", **extra: str) -> bool:
        request = si.UpdateConfigurationRequest(
            rmID=self.rm_id, config=config, policyGroup=group, extraConfig=extra
        )
        changed = self.scheduler.update_configuration(request).changed
        self.scheduler.wait_idle()
        return changed

    @property
    def in_force(self) -> ConfigurationView:
        views = self.scheduler.core.query(ConfigurationsQuery()).result(60)
        known = rows(ConfigurationView, views)
        (own,) = [view for view in known if view.rm_id == self.rm_id]
        return own

    def partitions(self) -> list[tuple[str, str]]:
        views = self.scheduler.core.query(PartitionsQuery()).result(60)
        return [
            (view.name, view.state)
            for view in rows(PartitionView, views)
            if view.rm_id == self.rm_id
        ]

    def queues(self, partition: str = "default") -> dict[str, str]:
        """Path -> status."""
        root = self.scheduler.core.query(QueuesQuery(partition, self.rm_id)).result(60)
        assert isinstance(root, QueueView)
        waiting, found = [root], {}
        while waiting:
            queue = waiting.pop()
            found[queue.path] = queue.status
            waiting.extend(queue.children)
        return found

    def everything(self) -> list[object]:
        """All that can be seen, to compare a before with an after."""
        core = self.scheduler.core
        queries = (PartitionsQuery(), ConfigurationsQuery(), QueuesQuery("default", self.rm_id))
        seen: list[object] = [core.query(query).result(60) for query in queries]
        return [*seen, core.query(ApplicationsQuery("default", "", self.rm_id)).result(60)]


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler() as running:
        yield running
        running.core.check().result(60)


@pytest.fixture
def cluster(scheduler: InProcessScheduler) -> Cluster:
    """Registered, with a node, and an application in root.a that wants 3 and may have 2."""
    found = Cluster(scheduler)
    found.register(**{"service.clusterId": "one"})
    found.node()
    found.application("app", "root.a")
    found.ask("app", "k1", "k2", "k3")
    scheduler.wait_idle()
    assert found.rm.placed == ["k1", "k2"]
    return found


@pytest.mark.remuda_rule("SI-85", "SI-88", "RLD-21", "CFG-4")
def test_an_update_is_in_force_when_it_returns_and_what_waited_is_placed(cluster: Cluster) -> None:
    text = FIRST.replace("vcore: 2", "vcore: 3")
    request = si.UpdateConfigurationRequest(rmID="rm", config=text, extraConfig={"a": "b"})
    change = cluster.scheduler.update_configuration(request)
    assert (change.before, change.after) == (load_configuration(FIRST), load_configuration(text))
    view = cluster.in_force
    assert (view.text, view.checksum) == (text, load_configuration(text).checksum)
    assert view.extra_config == {"a": "b"}
    cluster.scheduler.wait_idle()
    assert cluster.rm.placed == ["k1", "k2", "k3"]
    assert cluster.rm.released == []


@pytest.mark.remuda_rule("RLD-20", "RLD-28", "RLD-29", "QLC-2")
def test_queues_come_drain_and_come_back_under_a_running_application(cluster: Cluster) -> None:
    without_a = FIRST.replace("- name: a\n            resources: {max: {vcore: 2}}", "- name: b")
    assert cluster.update(without_a)
    assert cluster.queues()["root.a"] == "Draining"
    assert cluster.queues()["root.b"] == "Active"
    cluster.application("late", "root.a")
    cluster.application("new", "root.b")
    cluster.scheduler.wait_idle()
    assert (cluster.rm.accepted, cluster.rm.rejected) == (["app", "new"], ["late"])
    assert cluster.update(FIRST)
    assert cluster.queues()["root.a"] == "Active"
    cluster.application("later", "root.a")
    cluster.scheduler.wait_idle()
    assert cluster.rm.accepted == ["app", "new", "later"]


@pytest.mark.remuda_rule("CHK-5", "SI-85", "CFG-4", "RM-7")
def test_the_same_text_again_replaces_the_extra_map_only(cluster: Cluster) -> None:
    before = cluster.everything()
    assert not cluster.update(FIRST, **{"service.clusterId": "two"})
    after = cluster.everything()
    assert cluster.in_force.extra_config == {"service.clusterId": "two"}
    assert [seen for seen, was in zip(after, before, strict=True) if seen != was] == [after[1]]
    assert not cluster.update(FIRST)
    assert cluster.in_force.extra_config == {}


@pytest.mark.remuda_rule("CHK-1", "CHK-4", "CHK-5")
@pytest.mark.parametrize(
    "text, changed",
    [
        (FIRST + "\n", True),
        (FIRST + "# a remark\n", True),
        (FIRST.replace("{max: {vcore: 2}}", "{max:   {vcore: 2}}"), True),
        (f"{FIRST}checksum: {'0' * 64}\n", True),
        (f"{FIRST}checksum: {'0' * 64}", False),
    ],
)
def test_white_space_counts_and_a_recorded_checksum_does_not(
    cluster: Cluster, text: str, changed: bool
) -> None:
    assert cluster.update(text) is changed
    assert cluster.rm.placed == ["k1", "k2"]


@pytest.mark.remuda_rule("CHK-4", "CHK-5")
def test_a_property_that_looks_like_a_checksum_is_seen_to_change(cluster: Cluster) -> None:
    text = FIRST.replace("- name: a\n", "- name: a\n            properties: {my.checksum: v1}\n")
    assert cluster.update(text)
    assert cluster.update(text.replace("v1", "v2"))


@pytest.mark.remuda_rule("SI-85", "SI-86", "CFG-4", "CFG-5", "RLD-6", "RLD-7")
@pytest.mark.parametrize(
    "text, rule",
    [
        (FIRST.replace("    queues:\n      - name: root", "    quees: []\n      - x"), "CFG-5"),
        (
            FIRST.replace("    queues:", "    placementrules: [{name: no-rule}]\n    queues:", 1),
            "CFG-80",
        ),
        (FIRST.replace("[{name: c}]", "[{name: c, submitacl: a b c}]"), "CFG-50"),
        (
            FIRST + "  - name: gpu\n    queues: [{name: x, resources: {max: {vcore: -1}}}]\n",
            "CFG-70",
        ),
        (
            FIRST.replace(
                "          - name: a\n", "          - name: a\n            parent: true\n"
            ),
            "RLD-26",
        ),
    ],
    ids=["no YAML", "rule", "access list of the third queue", "second partition", "running"],
)
def test_a_refused_update_leaves_everything_as_it_was(
    cluster: Cluster, text: str, rule: str
) -> None:
    before = cluster.everything()
    with pytest.raises(ConfigError) as caught:
        cluster.update(text, **{"log.level": "debug"})
    assert caught.value.problems[0].rule == rule
    assert cluster.everything() == before
    assert cluster.in_force.extra_config == {"service.clusterId": "one"}
    assert logging.getLogger("remuda").level != logging.DEBUG
    assert not cluster.update(FIRST, **{"service.clusterId": "one"})
    assert cluster.everything() == before
    assert cluster.update(FIRST.replace("vcore: 2", "vcore: 3"))
    assert cluster.rm.placed == ["k1", "k2", "k3"]


@pytest.mark.remuda_rule("CFG-2", "CFG-12", "RM-5", "RLD-10")
@pytest.mark.parametrize(
    "text, partitions",
    [
        ("", ["default"]),
        (" ", []),
        ("# nothing\n", []),
        ("partitions: []", []),
        ("partitions:", []),
    ],
)
def test_the_empty_text_is_the_stored_document_and_a_blank_one_has_no_partitions(
    scheduler: InProcessScheduler, text: str, partitions: list[str]
) -> None:
    registered, updated = Cluster(scheduler, "registered"), Cluster(scheduler, "updated")
    registered.register(text)
    updated.register(FIRST)
    assert updated.update(text)
    for cluster in (registered, updated):
        assert [name for name, _ in cluster.partitions()] == partitions
        assert cluster.in_force.text == (text or BUILT_IN_TEXT)
    assert updated.update(FIRST)
    assert updated.partitions() == [("default", "Active")]


@pytest.mark.remuda_rule("RM-4", "RM-5", "CFG-2", "CFG-3")
def test_an_empty_text_means_the_document_of_the_group_the_rm_registered_with() -> None:
    documents = StoredDocuments(load_configuration(FIRST))
    core = SchedulerLoop(documents=documents)
    core.start()
    science = FIRST.replace("name: c", "name: science")
    new = NewDocument(load_configuration(science), "science")
    assert not core.configurations.store(new).result(60).refused
    with InProcessScheduler(core=core) as scheduler:
        cluster = Cluster(scheduler)
        cluster.register(BUILT_IN_TEXT, "science")
        assert cluster.update("", "arts")
        assert cluster.in_force.text == science
        assert cluster.in_force.policy_group == "science"
        other = Cluster(scheduler, "other")
        other.register("", "arts")
        assert other.in_force.text == FIRST
    core.stop()


@pytest.mark.remuda_rule("SI-87", "OBJ-9", "RLD-9", "PAR-1")
def test_partitions_come_and_go_with_all_they_have(cluster: Cluster) -> None:
    both = FIRST + "  - {name: gpu, queues: [{name: root, submitacl: '*', queues: [{name: g}]}]}\n"
    assert cluster.update(both)
    assert cluster.partitions() == [("default", "Active"), ("gpu", "Active")]
    cluster.node("m", "gpu")
    cluster.application("app", "root.g", "gpu")
    cluster.ask("app", "g1", partition="gpu")
    cluster.scheduler.wait_idle()
    assert cluster.rm.placed == ["k1", "k2", "g1"]
    states = len(cluster.rm.states)
    assert cluster.update(FIRST)
    assert ("default", "Active") in cluster.partitions()
    assert ("gpu", "Active") not in cluster.partitions()
    assert cluster.rm.released == ["g1"]
    assert "app Failed" in cluster.rm.states[states:] or "app Failing" in cluster.rm.states[states:]
    cluster.ask("app", "k4")
    cluster.scheduler.wait_idle()
    assert cluster.update(FIRST.replace("vcore: 2", "vcore: 4"))
    assert cluster.rm.placed == ["k1", "k2", "g1", "k3", "k4"]


@pytest.mark.remuda_rule("RM-9", "SI-85")
def test_an_updated_rm_may_register_again(cluster: Cluster) -> None:
    assert cluster.update(FIRST.replace("name: c", "name: d"))
    cluster.register()
    assert cluster.in_force.text == FIRST
    assert set(cluster.queues()) == {"root", "root.a", "root.p", "root.p.c"}
    views = cluster.scheduler.core.query(ApplicationsQuery("default")).result(60)
    assert not rows(ApplicationView, views)


@pytest.mark.remuda_rule("SI-85", "RM-2")
def test_an_update_is_for_a_registered_rm_of_this_object(scheduler: InProcessScheduler) -> None:
    request = si.UpdateConfigurationRequest(rmID="rm", config=FIRST)
    with pytest.raises(ProtocolError, match="'rm' is not registered"):
        scheduler.update_configuration(request)
    Cluster(scheduler).register()
    with (
        InProcessScheduler(core=scheduler.core) as other,
        pytest.raises(ProtocolError, match="'rm' is not registered"),
    ):
        other.update_configuration(request)


@pytest.mark.remuda_rule("SI-9", "SI-85")
def test_an_update_from_a_callback_is_refused(scheduler: InProcessScheduler) -> None:
    refusals: list[str] = []

    class Eager(Rm):
        def update_application(self, response: si.ApplicationResponse) -> None:
            try:
                scheduler.update_configuration(si.UpdateConfigurationRequest(rmID="rm"))
            except ProtocolError as error:
                refusals.append(str(error))

    cluster = Cluster(scheduler)
    cluster.rm = Eager()
    cluster.register()
    cluster.application("app", "root.a")
    scheduler.wait_idle()
    what = "waits for the scheduler and cannot be called from a callback (SI-9)"
    assert refusals == [f"update_configuration {what}"]


@pytest.mark.remuda_rule("RM-7", "KV-2")
def test_the_log_levels_of_the_last_map_count(cluster: Cluster) -> None:
    logger = logging.getLogger("remuda.rest")
    before = logger.level
    cluster.update(FIRST, **{"log.core.rest.level": "debug"})
    assert logger.level == logging.DEBUG
    cluster.update(FIRST)
    assert logger.level == before


@pytest.mark.remuda_rule("SI-85", "SI-86", "SI-2")
def test_updates_from_several_threads_while_work_comes_in_lose_nothing(cluster: Cluster) -> None:
    texts = [FIRST.replace("vcore: 2", f"vcore: {number}") for number in (2, 5, 8)]

    def change(text: str) -> None:
        for _ in range(15):
            request = si.UpdateConfigurationRequest(rmID="rm", config=text)
            cluster.scheduler.update_configuration(request)

    threads = [threading.Thread(target=change, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for number in range(30):
        cluster.application(f"more-{number}", "root.p.c")
        cluster.ask("app", f"late-{number}")
    for thread in threads:
        thread.join(30)
    cluster.scheduler.wait_idle()
    assert cluster.in_force.text in texts
    assert len(cluster.rm.accepted) == 31
    cluster.update(FIRST.replace("{max: {vcore: 2}}", "{}"))
    assert len(cluster.rm.placed) == len(set(cluster.rm.placed)) == 10


def test_a_recorded_run_with_updates_repeats_to_the_same_decisions(tmp_path: Path) -> None:
    with InProcessScheduler(record=tmp_path / "run.jsonl") as scheduler:
        cluster = Cluster(scheduler)
        cluster.register()
        cluster.node()
        cluster.application("app", "root.a")
        cluster.ask("app", "k1", "k2", "k3")
        cluster.update("", extra="b")
        cluster.update(FIRST.replace("vcore: 2", "vcore: 3"))
    result = replay(tmp_path / "run.jsonl")
    assert result.same, result.difference
    assert built_in().checksum.encode() in (tmp_path / "run.jsonl").read_bytes()
