"""What pods ask nodes for; expected amounts follow the documentation of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.objects.values import ObjectError, convert

GI = 2**30


def container(
    cpu: str = "", memory: str = "", *, name: str = "", policy: str | None = None
) -> dict[str, Any]:
    wanted = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    made: dict[str, Any] = {"name": name, "resources": {"requests": wanted}}
    if policy is not None:
        made["restartPolicy"] = policy
    return made


def requests(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, int]:
    return pod_requests(convert(Pod, {"spec": spec, "status": status or {}}))


def test_containers_add_up() -> None:
    spec = {"containers": [container("500m", "1Gi"), container("1", "1Gi"), container()]}
    assert requests(spec) == {"cpu": 1500, "memory": 2 * GI}


def test_a_pod_without_requests_asks_for_nothing() -> None:
    assert requests({}) == {}
    assert requests({"containers": None}) == {}
    assert requests({"containers": [{"name": "a"}]}) == {}


def test_a_limit_without_a_request_is_the_request() -> None:
    limits = {"cpu": "2", "nvidia.com/gpu": "1"}
    spec = {"containers": [{"resources": {"requests": {"cpu": "100m"}, "limits": limits}}]}
    assert requests(spec) == {"cpu": 100, "nvidia.com/gpu": 1}


def test_a_request_for_pods_is_left_out() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "5m", "pods": "0"}}}]}
    assert requests(spec) == {"cpu": 5}


def test_the_largest_init_container_counts_if_it_is_more() -> None:
    # The documentation's rule: the higher of the largest init request and the sum of the others.
    spec = {
        "initContainers": [container("3", "1Gi"), container("1", "5Gi")],
        "containers": [container("1", "1Gi"), container("1", "1Gi")],
    }
    assert requests(spec) == {"cpu": 3000, "memory": 5 * GI}


@pytest.mark.parametrize(
    "init, main, cpu",
    [
        # A sidecar runs beside the containers.
        ([container("1", policy="Always")], ["2"], 3000),
        # A sidecar that starts before an init container runs beside that one, too.
        ([container("1", policy="Always"), container("5")], ["2"], 6000),
        # One that starts after it does not.
        ([container("5"), container("1", policy="Always")], ["2"], 5000),
        # Several of both kinds: the third of the plain ones runs beside two sidecars.
        (
            [
                container("10"),
                container("1", policy="Always"),
                container("3"),
                container("2", policy="Always"),
                container("8"),
            ],
            ["4"],
            11000,
        ),
        # "Never" and "OnFailure" do not make a sidecar.
        ([container("1", policy="OnFailure")], ["2"], 2000),
    ],
)
def test_init_containers_are_taken_in_order(
    init: list[dict[str, Any]], main: list[str], cpu: int
) -> None:
    spec = {"initContainers": init, "containers": [container(each) for each in main]}
    assert requests(spec) == {"cpu": cpu}


def test_overhead_is_added() -> None:
    spec = {
        "initContainers": [container("2")],
        "containers": [container("1", "1Gi")],
        "overhead": {"cpu": "250m", "memory": "120Mi"},
    }
    assert requests(spec) == {"cpu": 2250, "memory": GI + 120 * 2**20}


def test_pod_level_requests_take_the_place_of_the_sums() -> None:
    spec = {
        "containers": [container("1", "1Gi"), container("1", "1Gi")],
        "resources": {"requests": {"cpu": "1500m", "hugepages-2Mi": "4Mi", "example.com/a": "7"}},
        "overhead": {"cpu": "100m"},
    }
    # Only cpu, memory and huge pages can be asked for by the pod as a whole.
    assert requests(spec) == {"cpu": 1600, "memory": 2 * GI, "hugepages-2Mi": 4 * 2**20}


def test_a_pod_level_limit_is_a_request_unless_containers_request() -> None:
    spec = {
        "containers": [container("1")],
        "resources": {"limits": {"cpu": "4", "memory": "2Gi"}},
    }
    assert requests(spec) == {"cpu": 1000, "memory": 2 * GI}


def status(
    requests: dict[str, str] | None, allocated: dict[str, str] | None, **more: Any
) -> dict[str, Any]:
    one: dict[str, Any] = {"name": "main"}
    if requests is not None:
        one["resources"] = {"requests": requests}
    if allocated is not None:
        one["allocatedResources"] = allocated
    return {"containerStatuses": [one], **more}


@pytest.mark.parametrize(
    "spec_cpu, state, cpu",
    [
        ("2", status({"cpu": "1"}, {"cpu": "1"}), 2000),
        ("1", status({"cpu": "2"}, {"cpu": "2"}), 2000),
        ("1", status({"cpu": "1"}, {"cpu": "3"}), 3000),
        ("1", status(None, {"cpu": "3"}), 3000),
        ("4", status(None, None), 4000),
        ("4", status({"cpu": "1"}, {"cpu": "2"}, resize="Infeasible"), 2000),
        ("4", status({"cpu": "1"}, {"cpu": "2"}, resize="Deferred"), 4000),
        (
            "4",
            status(
                {"cpu": "1"},
                {"cpu": "1"},
                conditions=[{"type": "PodResizePending", "reason": "Infeasible"}],
            ),
            1000,
        ),
        (
            "4",
            status(
                {"cpu": "1"},
                {"cpu": "1"},
                conditions=[{"type": "PodResizePending", "reason": "Deferred"}],
            ),
            4000,
        ),
    ],
)
def test_the_larger_amount_counts_while_a_resize_lasts(
    spec_cpu: str, state: dict[str, Any], cpu: int
) -> None:
    assert requests({"containers": [container(spec_cpu, name="main")]}, state) == {"cpu": cpu}


def test_a_bad_quantity_names_the_container() -> None:
    with pytest.raises(ObjectError, match="container main: cpu: '5 cores' is no quantity"):
        requests({"containers": [container("5 cores", name="main")]})
