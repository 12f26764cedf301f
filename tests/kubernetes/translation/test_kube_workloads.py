"""Workloads of batch programs: what their pods belong to, and which gangs their objects make.

Labels and fields are those of the documentation of Kubernetes, JobSet, Kubeflow, KubeRay and the
operator of Spark.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation.metadata import derived_workload, derives_gang, task_of
from remuda_kubernetes.translation.workload_groups import groups_of
from remuda_kubernetes.translation.workloads import NAMES, Workload, rules_named, workload_of

Object = dict[str, Any]
KUBEFLOW = "training.kubeflow.org/"
JOB_SET = "jobset.sigs.k8s.io/"


def owner(api_version: str, kind: str, name: str, uid: str = "u-1", **more: Any) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        **more,
    }


def pod(
    owned: Object | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    cpu: str = "1",
) -> Pod:
    metadata = {
        "name": "p",
        "namespace": "team",
        "uid": "pod-1",
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [owned] if owned else None,
    }
    return convert(Pod, {"metadata": metadata, "spec": template(cpu)["spec"]})


def template(cpu: str = "1", **spec: Any) -> Object:
    requests = {"cpu": cpu, "memory": "1Gi"}
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec}}


JOB = owner("batch/v1", "Job", "train")


def found(given: Pod) -> Workload:
    workload = workload_of(given, NAMES)
    assert workload is not None
    return workload


def members(given: Pod, content: Object) -> dict[str, int]:
    groups, _ = groups_of(found(given), content, given)
    return {each.name: each.min_member for each in groups}


PODS = {
    "jobset": pod(
        owner("batch/v1", "Job", "set-workers-0"),
        {f"{JOB_SET}jobset-name": "set", f"{JOB_SET}replicatedjob-name": "workers"},
    ),
    "mpi": pod(
        owner("kubeflow.org/v2beta1", "MPIJob", "pi"),
        {
            f"{KUBEFLOW}operator-name": "mpi-operator",
            f"{KUBEFLOW}job-name": "pi",
            f"{KUBEFLOW}job-role": "worker",
        },
    ),
    "pytorch": pod(
        owner("kubeflow.org/v1", "PyTorchJob", "torch"), {f"{KUBEFLOW}replica-type": "master"}
    ),
    "tensorflow": pod(owner("kubeflow.org/v1", "TFJob", "flow"), {f"{KUBEFLOW}replica-type": "ps"}),
    "ray": pod(owner("ray.io/v1", "RayCluster", "rays"), {"ray.io/group": "headgroup"}),
    "spark": pod(
        owner("v1", "Pod", "pi-driver"),
        {"sparkoperator.k8s.io/app-name": "sparks", "spark-role": "executor"},
    ),
    "job": pod(JOB),
}


@pytest.mark.remuda_rule("EXT-138")
@pytest.mark.parametrize(
    "rule,path,group",
    [
        ("jobset", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/set", "workers"),
        ("mpi", "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/pi", "worker"),
        ("pytorch", "/apis/kubeflow.org/v1/namespaces/team/pytorchjobs/torch", "master"),
        ("tensorflow", "/apis/kubeflow.org/v1/namespaces/team/tfjobs/flow", "ps"),
        ("ray", "/apis/ray.io/v1/namespaces/team/rayclusters/rays", "headgroup"),
        (
            "spark",
            "/apis/sparkoperator.k8s.io/v1beta2/namespaces/team/sparkapplications/sparks",
            "executor",
        ),
        ("job", "/apis/batch/v1/namespaces/team/jobs/train", "members"),
    ],
)
def test_a_pod_is_recognized_by_its_owner_or_its_labels(rule: str, path: str, group: str) -> None:
    workload = found(PODS[rule])
    assert (workload.rule.name, workload.path, workload.group) == (rule, path, group)


@pytest.mark.remuda_rule("EXT-138")
def test_only_the_rules_that_are_named_count() -> None:
    assert workload_of(PODS["job"], ()) is None
    assert workload_of(PODS["ray"], ("job", "spark")) is None
    # Without the rule of JobSets, the pod of one is that of its Job.
    by_job = workload_of(PODS["jobset"], ("job",))
    assert by_job is not None
    assert by_job.name == "set-workers-0"


@pytest.mark.parametrize(
    "text,names",
    [
        ("", ()),
        (" , ", ()),
        ("all", NAMES),
        ("job, ray", ("ray", "job")),
        ("job,all", None),
        ("Job", None),
        ("flink", None),
    ],
)
def test_the_setting_is_a_list_of_rules(text: str, names: tuple[str, ...] | None) -> None:
    assert rules_named(text) == names


@pytest.mark.parametrize(
    "given",
    [
        None,
        owner("batch/v1", "Job", "../../../../api/v1/namespaces/x/secrets/y"),
        owner("batch/v1", "Job", "a/b"),
        owner("batch/v1", "Job", ".."),
        owner("batch/v1", "Job", ""),
        owner("batch/v1", "Job", "a" * 254),
        owner("batch/../v1", "Job", "a"),
        owner("batch", "Job", "a"),
        owner("apps/v1", "Job", "a"),
        owner("batch/v1", "CronJob", "a"),
        owner("batch/v1", "Job", "a", controller=False),
    ],
)
@pytest.mark.remuda_rule("EXT-138")
def test_other_owners_and_names_that_no_object_has_are_no_workload(given: Object | None) -> None:
    assert workload_of(pod(given), NAMES) is None


def test_the_launcher_and_the_workers_of_an_mpi_job_are_one_application() -> None:
    launcher = pod(
        owner("batch/v1", "Job", "pi-launcher", "u-2"),
        {
            f"{KUBEFLOW}operator-name": "mpi-operator",
            f"{KUBEFLOW}job-name": "pi",
            f"{KUBEFLOW}job-role": "launcher",
        },
    )
    assert found(launcher).application_id == found(PODS["mpi"]).application_id
    assert found(launcher).group == "launcher"


def test_an_application_id_is_a_label_and_tells_objects_apart() -> None:
    ids = {found(each).application_id for each in PODS.values()}
    ids |= {
        found(pod(owner("batch/v1", "Job", name, uid))).application_id
        for name, uid in (("train", "u-2"), ("x" * 253, "u-1"), ("x" * 252, "u-1"))
    }
    assert len(ids) == len(PODS) + 3
    assert all(len(each) <= 63 for each in ids)
    assert found(PODS["job"]).application_id.startswith("job.team.train-")


@pytest.mark.remuda_rule("EXT-140")
def test_what_a_pod_says_itself_counts_first() -> None:
    app_id = "yunikorn.apache.org/app-id"
    assert derived_workload(pod(JOB, {app_id: "mine"}), NAMES) is None
    derived = found(pod(JOB))
    # As the admission controller writes it.
    labelled = pod(JOB, {app_id: derived.application_id})
    assert derived_workload(labelled, NAMES) == derived
    for name in ("task-groups", "task-group-name"):
        assert not derives_gang(pod(JOB, None, {f"yunikorn.apache.org/{name}": "x"}))
    assert not derives_gang(pod(JOB, None, {"remuda/gang": "false"}))
    assert not derives_gang(pod(JOB, None, {"remuda/reservation-over": "true"}))
    assert derives_gang(pod(JOB))


@pytest.mark.remuda_rule("EXT-140")
def test_a_task_has_the_application_and_the_group_of_its_workload() -> None:
    task = task_of(pod(JOB), {}, workloads=NAMES)
    assert (task.application_id, task.task_group) == (found(pod(JOB)).application_id, "members")
    assert task_of(pod(JOB), {}).application_id == "yunikorn-team-autogen"
    declined = task_of(pod(JOB, None, {"remuda/gang": "false"}), {}, workloads=NAMES)
    assert (declined.application_id, declined.task_group) == (task.application_id, "")
    spark = pod(
        None,
        {
            "spark-app-selector": "spark-1",
            "sparkoperator.k8s.io/app-name": "a",
            "spark-role": "driver",
        },
    )
    named = task_of(spark, {}, workloads=NAMES)
    assert (named.application_id, named.task_group) == ("spark-1", "driver")


def job(**spec: Any) -> Object:
    return {"metadata": {}, "spec": {"template": template(), **spec}}


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize(
    "content,count",
    [
        (job(), 0),
        (job(parallelism=4), 4),
        (job(parallelism=4, completions=3, completionMode="Indexed"), 3),
        (job(parallelism=4, completions=9), 4),
        (job(parallelism=4, completions=1), 0),
        (job(parallelism=0), 0),
        ({**job(parallelism=4, completions=9), "status": {"succeeded": 7}}, 2),
        ({**job(parallelism=4, completions=9), "status": {"succeeded": 9}}, 0),
    ],
)
def test_a_job_is_a_gang_of_what_runs_at_once(content: Object, count: int) -> None:
    assert members(PODS["job"], content) == ({"members": count} if count else {})


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize("minimum,count", [("2", 2), ("9", 4), ("x", 4), ("-1", 4), ("", 4)])
def test_an_elastic_job_begins_with_its_minimum(minimum: str, count: int) -> None:
    annotations = {"kueue.x-k8s.io/job-min-parallelism": minimum}
    content = {**job(parallelism=4), "metadata": {"annotations": annotations}}
    assert members(PODS["job"], content) == {"members": count}


@pytest.mark.remuda_rule("EXT-139")
def test_a_job_set_has_a_group_for_each_kind_of_job() -> None:
    content = {
        "spec": {
            "replicatedJobs": [
                {"name": "driver", "template": job()},
                {
                    "name": "workers",
                    "replicas": 2,
                    "template": job(parallelism=3),
                    "dependsOn": [{"name": "driver", "status": "Ready"}],
                },
                {
                    "name": "report",
                    "template": job(),
                    "dependsOn": [{"name": "workers", "status": "Complete"}],
                },
            ]
        }
    }
    assert members(PODS["jobset"], content) == {"driver": 1, "workers": 6}


def replicas(**counts: int | None) -> Object:
    return {
        role: {"template": template(), **({} if count is None else {"replicas": count})}
        for role, count in counts.items()
    }


@pytest.mark.remuda_rule("EXT-139")
def test_roles_of_kubeflow_are_groups() -> None:
    torch = {"spec": {"pytorchReplicaSpecs": replicas(Master=None, Worker=3)}}
    assert members(PODS["pytorch"], torch) == {"master": 1, "worker": 3}
    elastic = {"spec": {**torch["spec"], "elasticPolicy": {"minReplicas": 2, "maxReplicas": 8}}}
    assert members(PODS["pytorch"], elastic) == {"master": 1, "worker": 2}
    flow = {"spec": {"tfReplicaSpecs": replicas(PS=2, Worker=4, Chief=0)}}
    assert members(PODS["tensorflow"], flow) == {"ps": 2, "worker": 4}
    mpi = {"spec": {"mpiReplicaSpecs": replicas(Launcher=1, Worker=2)}}
    assert members(PODS["mpi"], mpi) == {"launcher": 1, "worker": 2}


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize(
    "elastic,worker,count",
    [
        (False, {"replicas": 3, "minReplicas": 1, "maxReplicas": 5}, 3),
        (True, {"replicas": 3, "minReplicas": 1, "maxReplicas": 5}, 1),
        (False, {"replicas": 1, "minReplicas": 2}, 2),
        (False, {"replicas": 2, "numOfHosts": 4}, 8),
        (False, {"replicas": 2, "suspend": True}, 0),
        (True, {"replicas": 2}, 0),
    ],
)
def test_a_ray_cluster_has_a_head_and_workers(elastic: bool, worker: Object, count: int) -> None:
    content = {
        "spec": {
            "enableInTreeAutoscaling": elastic,
            "headGroupSpec": {"template": template()},
            "workerGroupSpecs": [{"groupName": "small", "template": template(), **worker}],
        }
    }
    expected = {"headgroup": 1, "small": count} if count else {}
    assert members(PODS["ray"], content) == expected


def spark(**spec: Any) -> Object:
    return {"spec": {"type": "Scala", "driver": {}, "executor": {"instances": 2}, **spec}}


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize(
    "content,cpu,mebibytes",
    [
        # 1 GiB and at least 384 MiB.
        (spark(), "1", 1024 + 384),
        (spark(executor={"instances": 2, "cores": 4, "memory": "8g"}), "4", 8192 + 819),
        (spark(type="Python", executor={"instances": 2, "memory": "8g"}), "1", 8192 + 3276),
        (spark(memoryOverheadFactor="0.5", executor={"instances": 2, "memory": "2g"}), "1", 3072),
        (spark(executor={"instances": 2, "coreRequest": "500m", "memory": "512m"}), "500m", 896),
        (spark(executor={"instances": 2, "memory": "512", "memoryOverhead": "1gb"}), "1", 1536),
    ],
)
def test_executors_need_what_spark_asks_for(content: Object, cpu: str, mebibytes: int) -> None:
    driver = pod(None, {"sparkoperator.k8s.io/app-name": "a", "spark-role": "driver"}, cpu="250m")
    groups, _ = groups_of(found(driver), content, driver)
    assert [(each.name, each.min_member) for each in groups] == [("driver", 1), ("executor", 2)]
    # The driver is there, so its own amounts count.
    assert groups[0].amounts() == {"vcore": 250, "memory": 2**30, "pods": 1}
    wanted = groups[1].amounts()
    assert wanted["memory"] == mebibytes * 2**20
    assert wanted["vcore"] == (500 if cpu == "500m" else 1000 * int(cpu))


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize(
    "elastic,expected",
    [
        ({"enabled": True, "minExecutors": 1, "maxExecutors": 9}, {"driver": 1, "executor": 1}),
        ({"enabled": True}, {}),
        ({"enabled": False, "minExecutors": 1}, {"driver": 1, "executor": 2}),
    ],
)
def test_dynamic_allocation_begins_with_its_minimum(
    elastic: Object, expected: dict[str, int]
) -> None:
    assert members(PODS["spark"], spark(dynamicAllocation=elastic)) == expected


@pytest.mark.parametrize("factor", ["1e999999999", "1/0", "-1", "", ".", 1])
def test_a_factor_that_is_none_is_an_error_at_once(factor: object) -> None:
    content = spark(memoryOverheadFactor=factor)
    if factor == "":
        # As if it were not there.
        assert members(PODS["spark"], content) == {"driver": 1, "executor": 2}
        return
    with pytest.raises(ObjectError, match="SparkApplication team/sparks cannot be read"):
        groups_of(found(PODS["spark"]), content, PODS["spark"])


def test_placeholders_follow_the_rules_about_nodes_of_the_template() -> None:
    rules = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
    }
    content = job(parallelism=2)
    content["spec"]["template"] = template("4", **rules)
    # The server has given the pod more than its template says.
    given = pod(JOB, cpu="5")
    (group,), text = groups_of(found(given), content, given)
    assert group.node_selector == {"disk": "ssd"}
    assert group.tolerations == ({"key": "gpu", "operator": "Exists"},)
    assert group.amounts()["vcore"] == 5000
    assert json.loads(text) == [
        {
            "name": "members",
            "minMember": 2,
            "minResource": {"cpu": "5000m", "memory": str(2**30)},
            **rules,
        }
    ]


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"spec": None},
        {"spec": {"parallelism": "4", "template": template()}},
        {"spec": {"parallelism": True, "template": template()}},
        {"spec": {"parallelism": -1, "template": template()}},
        {"spec": {"parallelism": 2, "completions": "x", "template": template()}},
        {"spec": {"parallelism": 2, "template": 4}},
        {"spec": {"parallelism": 2, "template": {"spec": {"nodeSelector": 4}}}},
        {"spec": {"parallelism": 10**9, "template": template()}},
        {"spec": {"parallelism": 2}, "metadata": {"annotations": 4}},
    ],
)
def test_an_object_that_makes_no_sense_is_an_error(content: Any) -> None:
    with pytest.raises(ObjectError):
        groups_of(found(PODS["job"]), content, PODS["job"])
