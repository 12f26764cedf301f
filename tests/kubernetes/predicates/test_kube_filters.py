"""The filters about nodes and other pods; expected verdicts follow Kubernetes' documentation."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.pods import NodeAffinity, TopologySpreadConstraint
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.predicates.classes import FilterSettings
from remuda_kubernetes.predicates.refusals import (
    ERROR,
    NODE_RESOURCES,
    UNRESOLVABLE,
    UNSCHEDULABLE,
)
from tests.kubernetes.predicates.scenes import (
    REQUIRED,
    asks,
    away,
    cluster,
    fitting,
    near,
    node,
    on_nodes,
    pod,
    put,
    put_namespace,
    reason,
    spread,
    term,
)

SKEWED = "node(s) didn't match pod topology spread constraints"
NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_AWAY = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"

# ------------------------------------------------------------------------------- nodes alone


def test_taints_are_named() -> None:
    gpu = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    found = cluster(node("a", taints=[gpu]))
    assert reason(found, pod("p"), "a") == "node(s) had untolerated taint {dedicated: gpu}"
    tolerations = [{"key": "dedicated", "operator": "Exists"}]
    assert reason(found, pod("q", tolerations=tolerations), "a") == ""


@pytest.mark.parametrize(
    "toleration, tolerated",
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Equal", "value": "v"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Whatever", "value": "v"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], tolerated: bool) -> None:
    found = cluster(node("a", taints=[{"key": "k", "value": "v", "effect": "NoExecute"}]))
    assert (reason(found, pod("p", tolerations=[toleration]), "a") == "") is tolerated


def test_a_preference_keeps_nothing_away() -> None:
    found = cluster(node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
    assert reason(found, pod("p"), "a") == ""


def test_a_cordoned_node_is_unschedulable_unless_tolerated() -> None:
    found = cluster(node("a", unschedulable=True))
    assert reason(found, pod("p"), "a") == "node(s) were unschedulable"
    key = "node.kubernetes.io/unschedulable"
    assert reason(found, pod("q", tolerations=[{"key": key, "operator": "Exists"}]), "a") == ""


def test_a_named_node_is_the_only_one() -> None:
    found = cluster(node("a"), node("b"), node("c", unschedulable=True))
    asked = pod("p", nodeName="b")
    assert reason(found, asked, "a") == "node(s) didn't match the requested node name"
    assert reason(found, asked, "b") == ""
    assert reason(found, asked, "c") == "node(s) were unschedulable"


def expressions(*each: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(each)}


@pytest.mark.parametrize(
    "wanted, fits",
    [
        (expressions({"key": "gen", "operator": "Gt", "values": ["4"]}), True),
        (expressions({"key": "gen", "operator": "Gt", "values": ["5"]}), False),
        (expressions({"key": "gen", "operator": "Lt", "values": ["6"]}), True),
        (expressions({"key": "gen", "operator": "Lt", "values": ["-6"]}), False),
        # Both sides must be integers, and there must be exactly one value.
        (expressions({"key": "disk", "operator": "Gt", "values": ["4"]}), False),
        (expressions({"key": "gen", "operator": "Gt", "values": ["4.5"]}), False),
        (expressions({"key": "gen", "operator": "Gt", "values": ["1_0"]}), False),
        (expressions({"key": "gen", "operator": "Gt", "values": ["1", "2"]}), False),
        (expressions({"key": "none", "operator": "Lt", "values": ["6"]}), False),
        (expressions({"key": "disk", "operator": "In", "values": ["hdd", "ssd"]}), True),
        (expressions({"key": "disk", "operator": "In"}), False),
        (expressions({"key": "disk", "operator": "NotIn", "values": ["hdd"]}), True),
        (expressions({"key": "none", "operator": "NotIn", "values": ["hdd"]}), True),
        (expressions({"key": "disk", "operator": "Exists"}), True),
        (expressions({"key": "disk", "operator": "Exists", "values": ["ssd"]}), False),
        (expressions({"key": "disk", "operator": "DoesNotExist"}), False),
        (expressions({"key": "none", "operator": "DoesNotExist"}), True),
        (expressions({"key": "disk", "operator": "Near", "values": ["ssd"]}), False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]}, False),
        (
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]},
            False,
        ),
        ({"matchFields": [{"key": "spec.other", "operator": "In", "values": ["a"]}]}, False),
        ({}, False),
    ],
)
def test_terms_of_node_affinity(wanted: dict[str, Any], fits: bool) -> None:
    found = cluster(node("a", {"gen": "5", "disk": "ssd"}))
    assert reason(found, pod("p", affinity=on_nodes(wanted)), "a") == ("" if fits else NO_AFFINITY)


def test_one_term_must_hold_and_the_selector_too() -> None:
    found = cluster(node("a", {"disk": "ssd"}))
    never = expressions({"key": "disk", "operator": "In", "values": ["hdd"]})
    ever = expressions({"key": "disk", "operator": "Exists"})
    assert reason(found, pod("p", affinity=on_nodes(never, ever)), "a") == ""
    asked = pod("q", affinity=on_nodes(never, ever), nodeSelector={"disk": "hdd"})
    assert reason(found, asked, "a") == NO_AFFINITY
    assert reason(found, pod("r", affinity=on_nodes()), "a") == NO_AFFINITY


def test_an_administrator_can_add_node_affinity() -> None:
    wanted = {REQUIRED: {"nodeSelectorTerms": [expressions({"key": "ok", "operator": "Exists"})]}}
    settings = FilterSettings(added_affinity=convert(NodeAffinity, wanted))
    found = cluster(node("a"), node("b", {"ok": ""}), settings=settings)
    assert reason(found, pod("p"), "a") == "node(s) didn't match scheduler-enforced node affinity"
    assert reason(found, pod("p"), "b") == ""


# ----------------------------------------------------------------------------- room and ports


def port(number: int, **rest: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "ports": [{"hostPort": number, "containerPort": 1} | rest]}]


@pytest.mark.parametrize(
    "used, wanted, free",
    [
        (port(80), port(80), False),
        (port(80), port(81), True),
        (port(80), port(80, protocol="UDP"), True),
        (port(80), port(80, protocol="TCP"), False),
        (port(80, hostIP="10.0.0.1"), port(80, hostIP="10.0.0.2"), True),
        (port(80, hostIP="10.0.0.1"), port(80), False),
        (port(80, hostIP="0.0.0.0"), port(80, hostIP="10.0.0.2"), False),
    ],
)
def test_host_ports(used: list[Any], wanted: list[Any], free: bool) -> None:
    found = cluster(node("a"))
    found.set_pod(pod("old", containers=used), "a")
    text = "" if free else "node(s) didn't have free ports for the requested pod ports"
    assert reason(found, pod("p", containers=wanted), "a") == text
    found.remove_pod("old")
    assert reason(found, pod("p", containers=wanted), "a") == ""


def test_sidecars_and_the_hosts_network_use_ports_of_the_host() -> None:
    found = cluster(node("a"), node("b"))
    sidecar = [port(80)[0] | {"restartPolicy": "Always"}]
    found.set_pod(pod("old", initContainers=sidecar), "a")
    inside = [{"ports": [{"containerPort": 80}]}]
    found.set_pod(pod("other", containers=inside, hostNetwork=True), "b")
    assert fitting(found, pod("p", containers=port(80)), "a", "b") == []
    # A plain init container has ended before the others start.
    found.set_pod(pod("old", initContainers=port(80)), "a")
    assert fitting(found, pod("p", containers=port(80)), "a", "b") == ["a"]


def test_all_lacking_resources_are_named() -> None:
    found = cluster(node("a", allocatable={"cpu": "1", "memory": "1Gi", "pods": "1"}))
    found.set_pod(pod("old", containers=asks(cpu="500m")), "a")
    asked = pod("p", containers=asks(cpu="600m", memory="2Gi", **{"nvidia.com/gpu": "1"}))
    assert reason(found, asked, "a") == (
        "Too many pods, Insufficient cpu, Insufficient memory, Insufficient nvidia.com/gpu"
    )


def test_what_is_not_asked_for_does_not_matter_when_a_node_is_overfull() -> None:
    found = cluster(node("a"))
    found.set_pod(pod("old", containers=asks(cpu="6")), "a")
    assert reason(found, pod("p", containers=asks(memory="1Gi")), "a") == ""
    assert reason(found, pod("q", containers=asks(cpu="1m")), "a") == "Insufficient cpu"


def test_names_that_are_no_resources_of_nodes_are_ignored() -> None:
    found = cluster(node("a"))
    assert reason(found, pod("p", containers=asks(storage="1Gi")), "a") == ""
    asked = pod("q", containers=asks(**{"kubernetes.io/x": "1"}))
    assert reason(found, asked, "a") == "Insufficient kubernetes.io/x"
    huge = pod("r", containers=asks(**{"hugepages-2Mi": "2Mi"}))
    assert reason(found, huge, "a") == "Insufficient hugepages-2Mi"


@pytest.mark.parametrize(
    "spec, fits",
    [
        # A sidecar of 3 cores runs beside the container of 2.
        (
            {
                "containers": asks(cpu="2"),
                "initContainers": [asks(cpu="3")[0] | {"restartPolicy": "Always"}],
            },
            False,
        ),
        # An init container of 3 has ended before.
        ({"containers": asks(cpu="2"), "initContainers": asks(cpu="3")}, True),
        ({"containers": asks(cpu="2"), "overhead": {"cpu": "2001m"}}, False),
        ({"containers": asks(cpu="5"), "resources": {"requests": {"cpu": "4"}}}, True),
        ({"containers": asks(cpu="1"), "resources": {"requests": {"cpu": "5"}}}, False),
    ],
)
def test_requests_of_all_kinds(spec: dict[str, Any], fits: bool) -> None:
    assert reason(cluster(node("a")), pod("p", **spec), "a") == ("" if fits else "Insufficient cpu")


def test_a_node_that_reports_nothing_cannot_be_judged() -> None:
    found = cluster(node("a", allocatable={}))
    verdicts = found.judge(pod("p"), ["a"], allocate=True, want=1)
    refusal = verdicts.refusals[0][1]
    assert (refusal.filter, refusal.verdict) == (NODE_RESOURCES, ERROR)
    assert "reported no allocatable resources" in refusal.text


# ------------------------------------------------------------------------------ reservations


def test_a_reservation_needs_no_room_and_no_free_disk_yet() -> None:
    found = cluster(node("a"))
    disk = [{"name": "v", "gcePersistentDisk": {"pdName": "d"}}]
    found.set_pod(pod("user", volumes=disk), "a")
    asked = pod("p", containers=asks(cpu="1"), volumes=disk)
    assert reason(found, asked, "a") == "node(s) had no available disk"
    assert reason(found, asked, "a", allocate=False) == ""
    assert reason(found, pod("q", containers=asks(cpu="99")), "a", allocate=False) == ""


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeName": "b"},
        {"nodeSelector": {"disk": "ssd"}},
        {"containers": port(80)},
        {"topologySpreadConstraints": [spread("rack")]},
        {"affinity": near(term("zone", labelSelector={"matchLabels": {"app": "none"}}))},
        {"affinity": away(term("host"))},
    ],
)
def test_a_reservation_needs_all_else(spec: dict[str, Any]) -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a"}, containers=port(80)), "a")
    assert reason(found, pod("p", **spec), "a", allocate=False) != ""


# ------------------------------------------------------------------------------- other pods


def test_namespaces_of_a_term() -> None:
    found = cluster(node("a", {"zone": "1"}))
    put_namespace(found, "one", team="blue")
    put_namespace(found, "two", team="red")
    found.set_pod(pod("old", {"app": "a"}, namespace="two"), "a")
    cases: list[tuple[dict[str, Any], bool]] = [
        # Neither a list nor a selector: the namespace of the pod.
        ({}, False),
        ({"namespaces": None}, False),
        ({"namespaces": []}, False),
        ({"namespaces": ["two"]}, True),
        # An empty selector means every namespace.
        ({"namespaceSelector": {}}, True),
        ({"namespaces": [], "namespaceSelector": {"matchLabels": {"team": "red"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, False),
        ({"namespaces": ["two"], "namespaceSelector": {"matchLabels": {"team": "blue"}}}, True),
    ]
    for number, (more, hit) in enumerate(cases):
        asked = pod(f"p{number}", affinity=away(term(**more)))
        assert reason(found, asked, "a") == (NOT_AWAY if hit else ""), more
        friend = pod(f"q{number}", affinity=near(term(**more)))
        assert reason(found, friend, "a") == ("" if hit else NOT_NEAR), more


def test_labels_of_a_namespace_may_change() -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a"}, namespace="two"), "a")
    red: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    asked = pod("p", affinity=away(term(**red)))
    assert reason(found, asked, "a") == ""
    put_namespace(found, "two", team="red")
    assert reason(found, asked, "a") == NOT_AWAY
    put_namespace(found, "two")
    assert reason(found, asked, "a") == ""


def test_terms_of_running_pods_may_choose_namespaces_by_labels() -> None:
    found = cluster(node("a", {"zone": "1"}))
    red: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    found.set_pod(pod("old", affinity=away(term(**red))), "a")
    asked = pod("p", {"app": "a"}, namespace="two")
    assert reason(found, asked, "a") == ""
    put_namespace(found, "two", team="red")
    assert reason(found, asked, "a") == KEPT_AWAY


def test_match_label_keys_narrow_a_term_to_pods_like_this_one() -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a", "version": "1"}), "a")
    wanted = away(term(matchLabelKeys=["version"]))
    assert reason(found, pod("p", {"version": "1"}, affinity=wanted), "a") == NOT_AWAY
    assert reason(found, pod("q", {"version": "2"}, affinity=wanted), "a") == ""
    # A key that the pod does not have is left out.
    assert reason(found, pod("r", affinity=wanted), "a") == NOT_AWAY


def test_mismatch_label_keys_leave_out_pods_like_this_one() -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a", "tenant": "1"}), "a")
    wanted = away(term(mismatchLabelKeys=["tenant"]))
    assert reason(found, pod("p", {"tenant": "1"}, affinity=wanted), "a") == ""
    assert reason(found, pod("q", {"tenant": "2"}, affinity=wanted), "a") == NOT_AWAY
    assert reason(found, pod("r", affinity=wanted), "a") == NOT_AWAY


def test_a_term_without_a_selector_matches_no_pod() -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a"}), "a")
    assert reason(found, pod("p", affinity=away(term(labelSelector=None))), "a") == ""
    assert reason(found, pod("q", affinity=near(term(labelSelector=None))), "a") == NOT_NEAR
    assert reason(found, pod("r", affinity=away(term(labelSelector={}))), "a") == NOT_AWAY


def test_the_first_pod_of_its_kind_may_go_anywhere_with_the_topology() -> None:
    found = cluster(node("a", {"zone": "1"}), node("b", {"zone": "2"}), node("c"))
    wanted = near(term())
    first = pod("p", {"app": "a"}, affinity=wanted)
    assert fitting(found, first, "a", "b", "c") == ["a", "b"]
    # A pod that its own terms do not match has to wait for another.
    assert fitting(found, pod("q", {"app": "b"}, affinity=wanted), "a", "b") == []
    found.set_pod(first, "b")
    assert fitting(found, pod("r", {"app": "a"}, affinity=wanted), "a", "b") == ["b"]


def test_one_pod_has_to_match_all_affinity_terms() -> None:
    found = cluster(node("a", {"zone": "1"}))
    tier = {"matchLabels": {"tier": "x"}}
    asked = pod("p", affinity=near(term(), term("host", labelSelector=tier)))
    found.set_pod(pod("one", {"app": "a"}), "a")
    found.set_pod(pod("two", {"tier": "x"}), "a")
    assert reason(found, asked, "a") == NOT_NEAR
    found.set_pod(pod("both", {"app": "a", "tier": "x"}), "a")
    assert reason(found, asked, "a") == ""


def test_pods_that_are_being_deleted_count_for_affinity_but_not_for_spreading() -> None:
    found = cluster(node("a", {"zone": "1"}), node("b", {"zone": "2"}))
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    found.set_pod(pod("old", {"app": "a"}, metadata=ending), "a")
    assert reason(found, pod("p", affinity=away(term())), "a") == NOT_AWAY
    asked = pod("q", {"app": "a"}, topologySpreadConstraints=[spread()])
    assert fitting(found, asked, "a", "b") == ["a", "b"]


# --------------------------------------------------------------------------------- spreading


def zones(*numbers: int) -> Any:
    """A cluster with a node n1, n2... in each zone and so many pods app=a on it."""
    found = cluster(*(node(f"n{i}", {"zone": str(i)}) for i in range(1, len(numbers) + 1)))
    for i, number in enumerate(numbers, 1):
        for each in range(number):
            found.set_pod(pod(f"old-{i}-{each}", {"app": "a"}), f"n{i}")
    return found


@pytest.mark.parametrize(
    "numbers, constraint, fits",
    [
        ((2, 1), {}, ["n2"]),
        ((2, 1), {"maxSkew": 2}, ["n1", "n2"]),
        ((1, 1), {}, ["n1", "n2"]),
        ((1, 0), {"whenUnsatisfiable": "ScheduleAnyway"}, ["n1", "n2"]),
        # With fewer domains than wanted the lowest number counts as none.
        ((1, 1), {"minDomains": 2}, ["n1", "n2"]),
        ((1, 1), {"minDomains": 3}, []),
        ((1, 0), {"minDomains": 3}, ["n2"]),
        ((0, 0), {"minDomains": 3}, ["n1", "n2"]),
        # A selector that does not match the pod itself: placing it changes no number.
        ((1, 0), {"labelSelector": {"matchLabels": {"app": "b"}}}, ["n1", "n2"]),
        ((1, 0), {"labelSelector": None}, ["n1", "n2"]),
        ((1, 0), {"labelSelector": {}}, ["n2"]),
    ],
)
def test_spread_constraints(
    numbers: tuple[int, ...], constraint: dict[str, Any], fits: list[str]
) -> None:
    asked = pod("p", {"app": "a"}, topologySpreadConstraints=[spread(**constraint)])
    assert fitting(zones(*numbers), asked, "n1", "n2") == fits


def test_only_pods_of_the_own_namespace_are_spread() -> None:
    found = zones(2, 0)
    constraint = [spread()]
    asked = pod("p", {"app": "a"}, namespace="two", topologySpreadConstraints=constraint)
    assert fitting(found, asked, "n1", "n2") == ["n1", "n2"]


def test_match_label_keys_spread_each_version_by_itself() -> None:
    found = cluster(node("n1", {"zone": "1"}), node("n2", {"zone": "2"}))
    found.set_pod(pod("old", {"app": "a", "version": "1"}), "n1")
    constraint = [spread(matchLabelKeys=["version"])]
    for version, fits in (("1", ["n2"]), ("2", ["n1", "n2"])):
        labels = {"app": "a", "version": version}
        asked = pod(f"p{version}", labels, topologySpreadConstraints=constraint)
        assert fitting(found, asked, "n1", "n2") == fits


def test_nodes_that_the_pod_cannot_use_count_only_if_the_policy_says_so() -> None:
    # Zone 3 has no pod but is not for this pod: with Honor, which is the default, it is left out.
    found = zones(1, 1, 0)
    selector = {"zone": "1"}
    for policy, fits in ((None, ["n1"]), ("Honor", ["n1"]), ("Ignore", [])):
        constraint = spread() if policy is None else spread(nodeAffinityPolicy=policy)
        asked = pod(
            f"p{policy}",
            {"app": "a"},
            nodeSelector=selector,
            topologySpreadConstraints=[constraint],
        )
        assert fitting(found, asked, "n1", "n2", "n3") == fits


def test_tainted_nodes_count_unless_the_policy_says_otherwise() -> None:
    found = zones(1, 1)
    found.set_node(
        node("n3", {"zone": "3"}, taints=[{"key": "gpu", "value": "", "effect": "NoSchedule"}])
    )
    for policy, fits in ((None, []), ("Ignore", []), ("Honor", ["n1", "n2"])):
        constraint = spread() if policy is None else spread(nodeTaintsPolicy=policy)
        asked = pod(f"p{policy}", {"app": "a"}, topologySpreadConstraints=[constraint])
        assert fitting(found, asked, "n1", "n2", "n3") == fits


def test_nodes_without_all_topology_labels_do_not_count() -> None:
    found = zones(1, 1, 0)
    constraints = [spread(), spread("rack", maxSkew=9)]
    for name in ("n1", "n2"):
        found.set_node(node(name, {"zone": name[1:], "rack": "r"}))
    asked = pod("p", {"app": "a"}, topologySpreadConstraints=constraints)
    assert fitting(found, asked, "n1", "n2", "n3") == ["n1", "n2"]
    assert reason(found, asked, "n3") == f"{SKEWED} (missing required label)"


def test_default_constraints_follow_services_and_controllers() -> None:
    constraint = convert(TopologySpreadConstraint, spread(labelSelector=None))
    found = cluster(
        node("n1", {"zone": "1"}),
        node("n2", {"zone": "2"}),
        settings=FilterSettings(default_constraints=(constraint,)),
    )
    found.set_pod(pod("old", {"app": "a"}), "n1")
    asked = pod("p", {"app": "a"})
    assert fitting(found, asked, "n1", "n2") == ["n1", "n2"]
    put(found, kinds.SERVICE, "s", namespace="one", spec={"selector": {"app": "a"}})
    assert fitting(found, asked, "n1", "n2") == ["n2"]
    own = pod("q", {"app": "a"}, topologySpreadConstraints=[spread(maxSkew=5)])
    assert fitting(found, own, "n1", "n2") == ["n1", "n2"]
    found.remove_object(kinds.SERVICE, "one", "s")
    assert fitting(found, asked, "n1", "n2") == ["n1", "n2"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}
    put(
        found,
        kinds.REPLICA_SET,
        "r",
        namespace="one",
        spec={"selector": {"matchLabels": {"app": "a"}}},
    )
    owned = pod("r", {"app": "a"}, metadata={"ownerReferences": [owner]})
    assert fitting(found, owned, "n1", "n2") == ["n2"]


# ---------------------------------------------------------------------------------- questions


def test_nodes_are_judged_in_order_until_enough_fit() -> None:
    found = cluster(*(node(f"n{i}", unschedulable=i == 0) for i in range(5)))
    names = ["n0", "gone", "n1", "n2", "n3"]
    verdicts = found.judge(pod("p"), names, allocate=True, want=2)
    assert (verdicts.fits, verdicts.judged) == ([2, 3], 4)
    assert [(index, refusal.text) for index, refusal in verdicts.refusals] == [
        (0, "node(s) were unschedulable"),
        (1, "node gone is not known"),
    ]
    assert found.judge(pod("p"), [], allocate=True, want=1).judged == 0


def test_verdicts_say_whether_the_end_of_pods_may_help() -> None:
    found = cluster(node("a", {"zone": "1"}))
    found.set_pod(pod("old", {"app": "a"}, containers=asks(cpu="4")), "a")
    for asked, verdict in (
        (pod("p", containers=asks(cpu="1")), UNSCHEDULABLE),
        (pod("q", nodeSelector={"disk": "ssd"}), UNRESOLVABLE),
        (pod("r", affinity=away(term())), UNSCHEDULABLE),
        (
            pod("s", affinity=near(term(labelSelector={"matchLabels": {"app": "b"}}))),
            UNRESOLVABLE,
        ),
    ):
        verdicts = found.judge(asked, ["a"], allocate=True, want=1)
        assert verdicts.refusals[0][1].verdict == verdict


def test_victims_are_taken_in_order() -> None:
    found = cluster(node("a", {"zone": "1"}), node("b", {"zone": "1"}))
    for each in ("v0", "v1", "v2"):
        found.set_pod(pod(each, containers=asks(cpu="1")), "a")
    found.set_pod(pod("foreign", {"app": "a"}, containers=asks(cpu="1")), "b")
    victims = ["v0", "v1", "v2"]
    asked = pod("p", containers=asks(cpu="2"))
    # One core is free, so the end of one victim is enough.
    assert found.victims(asked, "a", victims, 0) == 0
    assert found.victims(asked, "a", victims, 2) == 2
    assert found.victims(pod("q", containers=asks(cpu="4")), "a", victims, 0) == 2
    assert found.victims(pod("r", containers=asks(cpu="5")), "a", victims, 0) == -1
    # What runs on other nodes, or is not known, is no victim here.
    assert found.victims(asked, "a", ["foreign", "unknown", "v2"], 0) == 2
    assert found.victims(asked, "gone", victims, 0) == -1
    assert found.victims(asked, "a", [], 0) == -1
    assert reason(found, asked, "a") == "Insufficient cpu"


def test_a_victim_may_make_room_in_a_domain() -> None:
    found = cluster(node("a", {"zone": "1"}), node("b", {"zone": "1"}))
    found.set_pod(pod("v0", containers=asks(cpu="1")), "a")
    found.set_pod(pod("v1", {"app": "a"}), "a")
    asked = pod("p", affinity=away(term()))
    assert found.victims(asked, "a", ["v0", "v1"], 0) == 1
    assert fitting(found, asked, "a", "b") == []


def test_bad_objects_change_nothing() -> None:
    found = cluster(node("a"))
    found.set_pod(pod("p", containers=asks(cpu="3")), "a")
    with pytest.raises(ObjectError, match="cpu"):
        found.set_pod(pod("p", containers=asks(cpu="much")), "a")
    with pytest.raises(ObjectError, match="memory"):
        found.set_node(node("a", allocatable={"memory": "much"}))
    with pytest.raises(ObjectError, match="cpu"):
        found.class_of(pod("q", containers=asks(cpu="much")))
    assert reason(found, pod("r", containers=asks(cpu="2")), "a") == "Insufficient cpu"
    assert reason(found, pod("s", containers=asks(cpu="1")), "a") == ""


def test_pods_come_before_their_node_and_stay_when_it_goes() -> None:
    found = cluster()
    found.set_pod(pod("early", {"app": "a"}, containers=asks(cpu="3")), "a")
    asked = pod("p", containers=asks(cpu="2"))
    found.set_node(node("a"))
    assert reason(found, asked, "a") == "Insufficient cpu"
    found.remove_node("a")
    assert reason(found, asked, "a") == "node a is not known"
    found.set_node(node("a"))
    assert reason(found, asked, "a") == "Insufficient cpu"
    found.remove_node("a")
    found.remove_pod("early")
    found.set_node(node("a"))
    assert reason(found, asked, "a") == ""


def test_a_pod_that_is_set_again_replaces_itself() -> None:
    found = cluster(node("a"), node("b"))
    found.set_pod(pod("old", containers=asks(cpu="4")), "a")
    found.set_pod(pod("old", containers=asks(cpu="1")), "a")
    assert fitting(found, pod("p", containers=asks(cpu="3")), "a", "b") == ["a", "b"]
    found.set_pod(pod("old", containers=asks(cpu="1")), "b")
    assert fitting(found, pod("q", containers=asks(cpu="4")), "a", "b") == ["a"]
