"""The four workload formats and the two node lists: columns, units, bad rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.sim.traces.detect import detect, read_nodes, read_workload
from remuda.sim.workload import CLASS, USER, VC, Workload

Read = Callable[..., Workload]

GIB = 1 << 30
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
TIMED_PODS = (
    f"{PODS},gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p1,12000,1024,1,460,V100M16|V100M32,LS,Running,10,70,20\n"
    "p2,500,0,8,0,,BE,Failed,30,90,\n"
    "p3,0,0,0,0,,BE,Failed,30,90,\n"
    "p4,1000,2048,0,0,,Burstable,Running,40,,45\n"
)
PHILLY = "job,vc,submit_s,gpus,duration_s\n7,ab12,1.5,8,60\n8,cd34,2,0,60\n"
SWF = (
    "; Version: 2.2\n; MaxNodes: 64\n; MaxProcs: 128\n"
    "  1  0 -1 1451 128 -1 -1  64 -1 -1 -1 12 1 -1  3 -1 -1 -1\n"
    "  2 10 -1    0  32 -1 -1  -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1\n"
    "  3 20 -1   -1  16 -1 -1   0 -1 -1  5 12 1 -1  3 -1 -1 -1\n"
    "  4 30 -1    5  -1 -1 -1  -1 -1 -1 -1 12 1 -1  3 -1 -1 -1\n"
)
OWN = (
    "task,submit,duration,application,queue,user,class,priority,vcore,nvidia.com/gpu\n"
    "a,0,1.25,job,prod,ann,x,5,1000,2\n"
    "b,3,0,,dev,bob,y,,500,\n"
    "c,4,1,,dev,bob,y,-1,0,0\n"
)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_text(text: str, name: str = "auto") -> Workload:
        path = tmp_path / "w"
        path.write_text(text)
        return read_workload(path, name)

    return read_text


def refused(read: Read, text: str, name: str = "auto") -> str:
    with pytest.raises(UsageError) as refusal:
        read(text, name)
    message = str(refusal.value)
    assert "\n" not in message
    return message.rpartition("/")[2]


def test_alibaba_pods(read: Read) -> None:
    workload = read(TIMED_PODS)
    assert (workload.format, workload.skipped, workload.timed) == ("alibaba-gpu", 1, True)
    assert workload.labels == (CLASS,)
    first, second, third = workload.tasks
    assert first.resource == {"vcore": 12000, "memory": GIB, "gpu": 460}
    assert first.models == "V100M16|V100M32"
    assert first.labels == {CLASS: "LS"}
    assert (first.submit_ns, first.duration_ns) == (10 * 10**9, 50 * 10**9)
    assert second.resource == {"vcore": 500, "gpu": 8000}
    assert second.duration_ns == 60 * 10**9, "never scheduled: from its creation"
    assert third.resource == {"vcore": 1000, "memory": 2 * GIB}
    assert third.duration_ns is None
    assert [task.line for task in workload.tasks] == [2, 3, 5]
    assert first.application_id == first.task_id == "p1"
    assert {task.members for task in workload.tasks} == {1}, "a pod is on one node"


def test_alibaba_lists_without_times_and_classes(read: Read) -> None:
    workload = read(f"{PODS}\np1,1,1,2,1000\n")
    assert not workload.timed
    assert workload.labels == ()
    assert workload.tasks[0].resource["gpu"] == 2000


def test_philly_jobs(read: Read) -> None:
    workload = read(PHILLY)
    assert (workload.format, workload.skipped, workload.labels) == ("philly", 1, (VC,))
    (job,) = workload.tasks
    assert job.resource == {"gpu": 8000}
    assert job.labels == {VC: "ab12"}
    assert job.members == 8, "one for each GPU"
    assert (job.submit_ns, job.duration_ns) == (1_500_000_000, 60 * 10**9)


def test_swf_jobs(read: Read) -> None:
    workload = read(SWF)
    assert (workload.format, workload.skipped, workload.processors) == ("swf", 1, 128)
    assert workload.labels == (USER, CLASS)
    first, second, third = workload.tasks
    assert first.resource == {"processor": 64}, "field 8 before field 5"
    assert first.labels == {USER: "12", CLASS: "3"}
    assert first.duration_ns == 1451 * 10**9
    assert second.resource == {"processor": 32}, "field 5 where field 8 is unknown"
    assert second.labels == {USER: "", CLASS: ""}
    assert second.duration_ns == 0
    assert third.resource == {"processor": 16}
    assert [task.members for task in workload.tasks] == [64, 32, 16], "one for each processor"
    assert third.duration_ns is None, "-1 is no run time"


def test_own_format(read: Read) -> None:
    workload = read(OWN)
    assert (workload.format, workload.skipped) == ("remuda", 1)
    assert workload.labels == (USER, CLASS, VC)
    first, second = workload.tasks
    assert first.resource == {"vcore": 1000, "nvidia.com/gpu": 2}
    assert (first.application_id, first.priority) == ("job", 5)
    assert first.labels == {USER: "ann", CLASS: "x", VC: "prod"}
    assert first.duration_ns == 1_250_000_000
    assert (second.application_id, second.priority) == ("b", 0)
    assert second.resource == {"vcore": 500}
    assert (first.members, second.members) == (1, 1)


def test_tasks_of_the_own_format_may_have_members(read: Read) -> None:
    workload = read("task,submit,duration,members,gpu\na,0,1,4,8\nb,0,1,,8\n")
    assert [task.members for task in workload.tasks] == [4, 1]
    assert [task.resource for task in workload.tasks] == [{"gpu": 8}] * 2


def test_optional_columns_of_the_own_format_may_be_missing(read: Read) -> None:
    workload = read("task,submit,duration,vcore\na,0,1,2\n")
    assert workload.labels == ()
    assert workload.tasks[0].resource == {"vcore": 2}


@pytest.mark.parametrize(
    "text, name",
    [(TIMED_PODS, "alibaba-gpu"), (PHILLY, "philly"), (SWF, "swf"), (OWN, "remuda")],
)
def test_formats_are_told_apart_by_content(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert detect(path) == name


def test_swf_without_comments_is_known_by_its_18_fields(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(SWF.splitlines()[3] + "\n")
    assert detect(path) == "swf"


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n1,2\n", "hello\n"])
def test_an_unknown_format_is_refused_with_advice(read: Read, text: str) -> None:
    assert "not a known workload format; say --format" in refused(read, text)


def test_a_workload_without_tasks_is_refused(read: Read) -> None:
    assert "no row asks for anything (1 rows skipped)" in refused(
        read, "job,vc,submit_s,gpus,duration_s\n1,v,0,0,1\n"
    )


@pytest.mark.parametrize(
    "text, said",
    [
        (f"{PODS}\np,x,1,1,1\n", "w:2: column 'cpu_milli' 'x' is not a whole number"),
        (f"{PODS}\np,1,1,1,1001\n", "w:2: column 'gpu_milli' '1001' is more than the one GPU"),
        (f"{PODS}\np,1,1,-1,0\n", "w:2: column 'num_gpu' '-1' is not between 0 and"),
        (f"{PODS}\np,1,1,1,1\np,1,1,1,1\n", "w:3: column 'name' 'p' is there already, in line 2"),
        (f"{PODS}\n,1,1,1,1\n", "w:2: column 'name' is empty"),
        (TIMED_PODS.replace(",10,70,20", ",10,70,71"), "w:2: column 'deletion_time' is before"),
        (PHILLY.replace("1.5", "soon"), "w:2: column 'submit_s' 'soon' is not a number of sec"),
        (PHILLY.replace(",60\n8", ",-60\n8"), "w:2: column 'duration_s' '-60' is not between 0"),
        (SWF.replace("1451", "14x1"), "w:4: column 'run time (field 4)' '14x1' is not a number"),
        (SWF.replace("  2 10", "  1 10"), "w:5: column 'job (field 1)' '1' is there already"),
        (SWF + "1 2 3\n", "w:8: the line has 3 fields, not 18"),
        (OWN.replace(",5,", ",2147483648,"), "w:2: column 'priority' '2147483648' is not a sig"),
        (OWN.replace("500", "half"), "w:3: column 'vcore' 'half' is not a whole number"),
        (
            "task,submit,duration,members,gpu\na,0,1,0,8\n",
            "w:2: column 'members' '0' is not 1 or more",
        ),
        (
            "task,submit,duration,members,gpu\na,0,1,two,8\n",
            "w:2: column 'members' 'two' is not a whole number",
        ),
        ("task,submit,duration,user\na,0,1,u\n", "w:1: no column names a resource"),
        ("task,submit,duration,cpu,\na,0,1,1,1\n", "w:1: a column has no name"),
    ],
)
def test_a_bad_row_is_named_by_line_and_column(read: Read, text: str, said: str) -> None:
    assert refused(read, text).startswith(said)


def test_a_file_of_another_format_than_said_is_refused(read: Read) -> None:
    assert refused(read, PHILLY, "alibaba-gpu") == "w:1: column 'name' is missing"
    assert refused(read, PHILLY, "swf").startswith("w:1: the line has 1 fields")


def test_node_lists_of_both_formats(tmp_path: Path) -> None:
    alibaba = tmp_path / "a.csv"
    alibaba.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,32000,1024,0,\nn2,1,1,2,T4\n")
    own = tmp_path / "o.csv"
    own.write_text("node,vcore,gpu\nn1,5,0\n")
    workload = Workload("w", "remuda", ())
    first, second = read_nodes(str(alibaba), workload)
    assert first.capacity == {"vcore": 32000, "memory": GIB}, "what a node lacks is not a type"
    assert (second.capacity["gpu"], second.model) == (2000, "T4")
    assert read_nodes(str(own), workload)[0].capacity == {"vcore": 5}


def test_an_swf_log_brings_its_machine(read: Read) -> None:
    workload = read(SWF)
    (machine,) = read_nodes(None, workload)
    assert machine.capacity == {"processor": 128}


@pytest.mark.parametrize(
    "text, said",
    [(SWF.replace("MaxProcs", "Max"), "no MaxProcs in its header"), (PHILLY, "names no machine")],
)
def test_a_trace_without_machine_needs_nodes(read: Read, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_nodes(None, read(text))


@pytest.mark.parametrize(
    "text, said",
    [
        ("node,vcore\n", "the file has no node"),
        ("host,vcore\nh,1\n", ":1: not a node list"),
        ("node,vcore\nn,1\nn,1\n", ":3: column 'node' 'n' is there already"),
        ("node,vcore\nn,many\n", ":2: column 'vcore' 'many' is not a whole number"),
        ("node\nn\n", ":1: no column names a resource"),
    ],
)
def test_bad_node_lists_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as refusal:
        read_nodes(str(path), Workload("w", "remuda", ()))
    assert said in str(refusal.value)
