"""Who may run commands on a served local node."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.local_node import SMALL, Node, asked
from tests.e2e.serving import Served
from tests.waiting import wait

COMMANDS = "/ws/v1/local/commands"
BODY = {"arguments": ["true"], "resources": {"vcore": "100m"}}
JSON = {"Content-Type": "application/json"}

ACCESS = """\
[[identity]]
name = "ada"
token-sha256 = ["{ada}"]
read = true
run = true

[[identity]]
name = "ben"
token-sha256 = ["{ben}"]
read = true
run = true

[[identity]]
name = "eve"
token-sha256 = ["{eve}"]
read = true

[[identity]]
name = "root"
token-sha256 = ["{root}"]
admin = true
run = true
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    return Node(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def served(node: Node) -> Iterator[Served]:
    with node.served() as served:
        yield served


def posted(served: Served, headers: dict[str, str], path: str = COMMANDS) -> int:
    """The status of a submission with these headers."""
    return served.client.post(path, content=json.dumps(BODY), headers=headers).status_code


def bearer(token: str) -> dict[str, str]:
    return {**JSON, "Authorization": f"Bearer {token}"}


@pytest.mark.remuda_rule("EXT-111")
def test_a_caller_shows_the_secret(node: Node, served: Served) -> None:
    assert posted(served, JSON) == 401
    assert posted(served, bearer("guess")) == 401
    assert posted(served, {**JSON, "Authorization": f"Basic {node.secret}"}) == 401
    assert posted(served, bearer(node.secret)) == 200
    path = "/ws/v1/local/command/true-1"
    assert served.client.get(path).status_code == 401
    assert served.client.get(f"{path}/output").status_code == 401
    assert posted(served, JSON, f"{path}/cancel") == 401
    assert asked(served, node, "true-1")["user"]


@pytest.mark.remuda_rule("EXT-111")
def test_web_pages_are_refused(node: Node, served: Served) -> None:
    known = bearer(node.secret)
    assert posted(served, {**known, "Origin": "http://evil.example"}) == 403
    assert posted(served, {**known, "Origin": f"http://{served.rest}"}) == 403
    assert posted(served, {**known, "Content-Type": "text/plain"}) == 415
    assert posted(served, {**known, "Host": "evil.example"}) == 421
    answer = served.client.options(COMMANDS, headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.remuda_rule("EXT-108", "EXT-111")
def test_only_the_owner_reads_the_directory(node: Node, served: Served) -> None:
    assert posted(served, bearer(node.secret)) == 200
    assert stat.S_IMODE(node.directory.stat().st_mode) == 0o700
    for name in ("token", "address", "lock"):
        assert stat.S_IMODE((node.directory / name).stat().st_mode) == 0o600
    for path in node.directory.rglob("wanted.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.remuda_rule("EXT-108")
def test_the_environment_is_removed_when_a_command_ends(node: Node, served: Served) -> None:
    done = node.remuda("run", *SMALL, "--name", "quiet", "--", "true", PASSWORD="hush-hush")
    assert done.returncode == 0
    kept = [path.read_bytes() for path in node.directory.rglob("*") if path.is_file()]
    assert [content for content in kept if b"hush-hush" in content] == []
    assert "hush-hush" not in served.log


@pytest.mark.remuda_rule("EXT-109")
@pytest.mark.parametrize(
    "body, said",
    [
        (b"{", "it is not JSON"),
        (b"[]", "Expected `object`"),
        (b'{"arguments": [], "resources": {"vcore": "1"}}', "arguments"),
        (b'{"arguments": [""], "resources": {"vcore": "1"}}', "the program has no name"),
        (b'{"arguments": ["a\\u0000"], "resources": {"vcore": "1"}}', "NUL"),
        (b'{"arguments": ["a"], "resources": {}}', "resources"),
        (b'{"arguments": ["a"], "resources": {"vcore": "1"}, "extra": 1}', "unknown field"),
        (b'{"arguments": ["a"], "resources": {"vcore": "1"}, "gang": 257}', "<= 256"),
        (b'{"arguments": ["a"], "resources": {"vcore": "1"}, "directory": "x"}', "begin with /"),
        (b'{"arguments": ["a"], "resources": {"fpga": "1"}}', "needs more fpga"),
        (
            b'{"arguments": ["a"], "resources": {"vcore": "1"}, "environment": {"A=": "1"}}',
            "a variable cannot be named",
        ),
    ],
)
def test_a_wrong_body_is_refused(node: Node, served: Served, body: bytes, said: str) -> None:
    answer = served.client.post(COMMANDS, content=body, headers=bearer(node.secret))
    assert answer.status_code == 400
    assert said in answer.json()["message"]


@pytest.mark.remuda_rule("EXT-109")
def test_a_large_body_is_refused(node: Node, served: Served) -> None:
    body = b" " * (512 * 1024 + 1)
    answer = served.client.post(COMMANDS, content=body, headers=bearer(node.secret))
    assert answer.status_code == 413


@pytest.mark.remuda_rule("EXT-111")
def test_without_the_option_there_are_no_such_routes(node: Node) -> None:
    with Served("--grpc-address", "127.0.0.1:0", "--rest-address", "127.0.0.1:0") as served:
        assert posted(served, bearer("x")) == 404
        for command in (("logs", "a-1"), ("wait", "a-1"), ("cancel", "a-1"), ("submit", "true")):
            done = node.remuda(*command, "--server", served.rest)
            said = f"remuda: the scheduler at http://{served.rest} has no local node"
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.startswith(said)


@pytest.mark.remuda_rule("EXT-111")
def test_other_machines_need_tokens(node: Node) -> None:
    done = node.remuda("serve", "--local-node", "--rest-address", "0.0.0.0:0")
    assert done.returncode == 2
    assert "would run commands for other machines" in done.stderr
    assert "--rest-access" in done.stderr


@pytest.mark.remuda_rule("EXT-111")
def test_each_identity_has_its_own_commands(tmp_path: Path) -> None:
    node = Node(tmp_path)
    names = ("ada", "ben", "eve", "root")
    digests = {name: hashlib.sha256(f"{name}-token".encode()).hexdigest() for name in names}
    (tmp_path / "access.toml").write_text(ACCESS.format(**digests))
    for name in names:
        (tmp_path / name).write_text(f"{name}-token\n")
        (tmp_path / name).chmod(0o600)

    def called(name: str, *arguments: str) -> tuple[int, str]:
        token = ("--token-file", str(tmp_path / name))
        done = node.remuda(arguments[0], *token, *arguments[1:])
        return done.returncode, done.stdout.strip()

    with node.served("--rest-access", str(tmp_path / "access.toml")) as served:
        assert not (node.directory / "token").exists()
        assert called("eve", "submit", *SMALL, "--", "true")[0] == 4
        assert called("ada", "submit", *SMALL, "--", "sleep", "1000") == (0, "sleep-1")
        assert called("ben", "logs", "sleep-1")[0] == 3
        assert called("ben", "cancel", "sleep-1")[0] == 3
        assert called("ben", "run", *SMALL, "--", "echo", "hello") == (0, "hello")
        path = "/ws/v1/partition/default/queue/root.users.ada/applications"
        wait(lambda: served.client.get(path, headers=bearer("ada-token")).json() != [])
        shown = served.client.get(path, headers=bearer("ada-token")).json()
        assert [(each["applicationID"], each["user"]) for each in shown] == [("sleep-1", "ada")]
        assert called("root", "cancel", "sleep-1") == (0, "sleep-1: ends")
        assert called("ada", "wait", "sleep-1")[0] == 143
