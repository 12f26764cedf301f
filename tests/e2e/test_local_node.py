"""A served local node and real processes: what runs, what it writes, how it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.local_node import SMALL, Node, allocations, wait_for_file
from tests.waiting import wait

LIMITED = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: narrow
            resources: {max: {vcore: 150m}}
          - name: wide
"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.remuda_rule("EXT-102", "EXT-103", "EXT-105", "EXT-113")
def test_a_command_runs_here_and_its_code_is_that_of_run(node: Node) -> None:
    with node.served() as served:
        done = node.remuda("run", *SMALL, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
        nodes = served.client.get("/ws/v1/partition/default/nodes").json()
        capacity = nodes[0]["capacity"]
    assert [each["nodeID"] for each in nodes] == [os.uname().nodename]
    assert capacity["vcore"] == 1000 * len(os.sched_getaffinity(0))


@pytest.mark.remuda_rule("EXT-111")
def test_the_secret_is_told_to_the_recorded_address_only(node: Node, tmp_path: Path) -> None:
    echo = ("run", *SMALL, "--", "echo", "hi")
    with node.served() as served:
        assert node.remuda(*echo, REMUDA_SERVER=f"http://{served.rest}").stdout == "hi\n"
        other = served.rest.replace("127.0.0.1", "localhost")
        for extra in (
            {"REMUDA_SERVER": f"http://{other}"},
            {"REMUDA_SERVER": f"http://{served.rest}", "REMUDA_LOCAL_DIR": str(tmp_path / "none")},
        ):
            done = node.remuda(*echo, **extra)
            assert (done.returncode, done.stdout) == (125, "")
            assert "Unknown caller" in done.stderr
            assert "by --local-dir" in done.stderr


@pytest.mark.remuda_rule("EXT-105", "EXT-113")
@pytest.mark.parametrize(
    "program, code, said",
    [
        (("sh", "-c", "kill -KILL $$"), 137, ""),
        (("sh", "-c", "kill -TERM $$"), 143, ""),
        (("no-such-program",), 127, "there is no such program"),
        (("/etc/passwd",), 126, "cannot be run"),
    ],
)
def test_the_code_tells_signals_and_programs_that_do_not_run(
    node: Node, program: tuple[str, ...], code: int, said: str
) -> None:
    with node.served():
        done = node.remuda("run", *SMALL, "--", *program)
    assert done.returncode == code
    assert said in done.stderr


@pytest.mark.remuda_rule("EXT-105", "EXT-106")
def test_a_working_directory_that_is_gone_is_told(node: Node, tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(LIMITED)
    go = tmp_path / "go"
    (tmp_path / "gone").mkdir()
    queue = ("--queue", "root.narrow")
    with node.served("--config", str(tmp_path / "queues.yaml")):
        node.submit(*SMALL, *queue, "--", "sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
        node.folder = tmp_path / "gone"
        process = node.begun("submit", *SMALL, *queue, "--", "pwd")
        identity = process.communicate(timeout=60)[0].strip()
        (tmp_path / "gone").rmdir()
        go.touch()
        code, said = node.waited(identity)
    assert code == 125
    assert f"cannot work in {tmp_path}/gone" in said


@pytest.mark.remuda_rule("EXT-112")
def test_output_comes_in_the_order_in_which_it_was_written(node: Node) -> None:
    script = "for i in $(seq 300); do echo $i; done"
    with node.served():
        done = node.remuda("run", *SMALL, "--", "sh", "-c", script)
        again = node.remuda("logs", "sh-1")
    assert done.stdout.split() == [str(number) for number in range(1, 301)]
    assert (again.stdout, again.returncode) == (done.stdout, 0)


@pytest.mark.remuda_rule("EXT-106")
def test_a_process_gets_what_its_caller_has(node: Node) -> None:
    script = 'pwd; echo "$COLOUR $REMUDA_COMMAND $REMUDA_TASK_INDEX $REMUDA_GANG_SIZE"; cat'
    with node.served():
        done = node.remuda("run", *SMALL, "--name", "n", "--", "sh", "-c", script, COLOUR="blue")
    assert done.stdout == f"{Path.cwd()}\nblue n-1 0 1\n"


@pytest.mark.remuda_rule("EXT-106")
def test_a_whole_core_is_for_one_task(node: Node) -> None:
    show = "import os; print(len(os.sched_getaffinity(0)), os.nice(0) - 0)"
    with node.served():
        whole = node.remuda("run", "--cpus", "1", "--", "python3", "-c", show)
        part = node.remuda("run", *SMALL, "--", "python3", "-c", show)
    assert whole.stdout.split()[0] == "1"
    assert part.stdout.split()[0] == str(len(os.sched_getaffinity(0)))
    assert int(part.stdout.split()[1]) == min(os.nice(0) + 5, 19)


@pytest.mark.remuda_rule("EXT-102", "EXT-106")
def test_gpus_are_found_and_each_task_sees_its_own(node: Node, tmp_path: Path) -> None:
    driver = tmp_path / "bin" / "nvidia-smi"
    driver.parent.mkdir()
    driver.write_text("#!/bin/sh\nprintf 'GPU-a\\nGPU-b\\n'\n")
    driver.chmod(0o755)
    path = f"{driver.parent}:{os.environ['PATH']}"
    script = "echo gpus=$CUDA_VISIBLE_DEVICES"
    with node.served(PATH=path):
        both = node.remuda("run", *SMALL, "--gpus", "2", "--", "sh", "-c", script)
        gang = ("--gang", "2", "--gpus", "1")
        each = node.remuda("run", *SMALL, *gang, "--", "sh", "-c", script)
        none = node.remuda("run", *SMALL, "--", "sh", "-c", script)
        three = node.remuda("run", *SMALL, "--gpus", "3", "--", "true")
    assert both.stdout == "gpus=GPU-a,GPU-b\n"
    assert sorted(line[4:] for line in each.stdout.splitlines()) == ["gpus=GPU-a", "gpus=GPU-b"]
    assert none.stdout == "gpus=\n"
    assert three.returncode == 2
    assert "needs more nvidia.com/gpu than this machine has, which is 2" in three.stderr


@pytest.mark.remuda_rule("EXT-105")
def test_what_a_command_leaves_behind_ends_with_it(node: Node, tmp_path: Path) -> None:
    left = tmp_path / "left"
    script = (
        f"(setsid sh -c 'echo $$ > {left}; exec sleep 1000' &) ; until [ -s {left} ]; do :; done"
    )
    with node.served():
        done = node.remuda("run", *SMALL, "--", "sh", "-c", script)
    assert done.returncode == 0
    process = int(left.read_text())
    wait(lambda: not Path(f"/proc/{process}").exists())


@pytest.mark.remuda_rule("EXT-105")
def test_cancelling_ends_what_runs_and_what_waits(node: Node, tmp_path: Path) -> None:
    began = tmp_path / "began"
    script = f"trap 'echo told; exit 3' TERM; echo > {began}; while :; do sleep 0.05; done"
    (tmp_path / "queues.yaml").write_text(LIMITED)
    with node.served("--config", str(tmp_path / "queues.yaml")):
        queue = ("--queue", "root.narrow")
        first = node.submit(*SMALL, *queue, "--", "sh", "-c", script)
        second = node.submit(*SMALL, *queue, "--", "true")
        wait_for_file(began)
        done = node.remuda("cancel", second, first)
        assert done.stdout == f"{second}: over\n{first}: ends\n"
        assert node.waited(second) == (143, f"{second} ended with 143: it was cancelled")
        assert node.waited(first) == (3, f"{first} ended with 3: it was cancelled")
        assert node.remuda("logs", first).stdout == "told\n"
        assert node.remuda("cancel", first).stdout == f"{first}: over\n"


@pytest.mark.remuda_rule("EXT-113")
def test_interrupting_run_cancels_its_command(node: Node, tmp_path: Path) -> None:
    began = tmp_path / "began"
    script = f"trap 'echo told; exit 9' TERM; echo > {began}; while :; do sleep 0.05; done"
    with node.served():
        for told in (signal.SIGINT, signal.SIGTERM):
            began.unlink(missing_ok=True)
            process = node.begun("run", *SMALL, "--", "sh", "-c", script)
            wait_for_file(began)
            process.send_signal(told)
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out) == (9, "told\n")
            assert "it was cancelled" in err


@pytest.mark.remuda_rule("EXT-103")
def test_a_queue_without_room_makes_a_command_wait_and_explain_says_why(
    node: Node, tmp_path: Path
) -> None:
    (tmp_path / "queues.yaml").write_text(LIMITED)
    go = tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.05; done"
    with node.served("--config", str(tmp_path / "queues.yaml")) as served:
        queue = ("--queue", "root.narrow", "--name", "one")
        first = node.submit(*SMALL, *queue, "--", "sh", "-c", script)
        wait(lambda: len(allocations(served, first)) == 1)
        second = node.submit(*SMALL, *queue, "--", "true")
        waiting = node.begun("run", *SMALL, *queue, "--", "echo", "third")
        why = node.remuda("explain", second, "--server", served.rest)
        assert "root.narrow" in why.stdout
        assert allocations(served, second) == {}
        go.touch()
        assert [node.waited(each)[0] for each in (first, second)] == [0, 0]
        out, _ = waiting.communicate(timeout=60)
        assert (out, waiting.returncode) == ("third\n", 0)


@pytest.mark.remuda_rule("EXT-104")
def test_a_gang_starts_together(node: Node, tmp_path: Path) -> None:
    # Each member waits until all four have begun: one that came alone would wait for ever.
    script = (
        f"touch {tmp_path}/member.$REMUDA_TASK_INDEX;"
        f" until [ $(ls {tmp_path}/member.* | wc -l) = $REMUDA_GANG_SIZE ]; do sleep 0.05; done;"
        " echo here"
    )
    with node.served():
        done = node.remuda("run", *SMALL, "--gang", "4", "--", "sh", "-c", script)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [f"[{index}] here" for index in range(4)]


@pytest.mark.remuda_rule("EXT-105")
def test_a_member_that_fails_ends_its_gang(node: Node) -> None:
    script = '[ "$REMUDA_TASK_INDEX" = 1 ] && exit 5; exec sleep 1000'
    with node.served():
        done = node.remuda("run", *SMALL, "--gang", "3", "--", "sh", "-c", script)
    assert done.returncode == 5


@pytest.mark.remuda_rule("EXT-109")
@pytest.mark.parametrize(
    "options, said",
    [
        (("--cpus", "lots"), "vcore is 'lots': invalid quantity"),
        (("--cpus", "0"), "vcore has to be more than 0"),
        (("--memory", "1000Ti"), "needs more memory than this machine has"),
        (("--gang", "200", "--cpus", "100"), "needs more vcore than this machine has"),
        (("--name", "-x"), "name has up to 40 letters"),
        (("--name", "a/b"), "name has up to 40 letters"),
    ],
)
def test_a_command_that_cannot_run_is_refused_at_once(
    node: Node, options: tuple[str, ...], said: str
) -> None:
    with node.served():
        done = node.remuda("submit", *options, "--", "true")
        missing = node.remuda("wait", "nothing-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert missing.returncode == 3
    assert missing.stderr == "remuda: nothing-1: Command not found\n"


@pytest.mark.remuda_rule("EXT-103")
def test_a_queue_that_does_not_exist_ends_the_command(node: Node, tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(LIMITED)
    with node.served("--config", str(tmp_path / "queues.yaml")):
        done = node.remuda("run", *SMALL, "--queue", "root.none", "--", "true")
    assert done.returncode == 125
    assert "the scheduler refuses it" in done.stderr


def test_run_without_a_service_says_so(node: Node) -> None:
    done = node.remuda("run", "--server", "127.0.0.1:1", "--", "true")
    assert (done.returncode, done.stdout) == (125, "")
    assert "127.0.0.1:1" in done.stderr
