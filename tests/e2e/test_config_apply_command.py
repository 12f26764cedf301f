"""``remuda config apply``: what it shows, what comes into force, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from remuda.client import Admin
from tests.e2e.serving import FREE_PORTS, Served, run_remuda

pytestmark = pytest.mark.remuda_rule("EXT-84")

OLD = """# the teams of the second floor
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
"""
NEW = OLD + "          - name: b\n"
WRONG = OLD + "          - name: a\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    queues = tmp_path / "queues.yaml"
    queues.write_text(OLD)
    with Served(*FREE_PORTS, "--config", str(queues)) as process:
        yield process


def in_force(served: Served) -> str:
    with Admin(served.grpc) as admin:
        return admin.get_configuration().config


def test_lines_are_shown_and_the_file_comes_into_force(served: Served, tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(NEW)
    tried = run_remuda("config", "apply", str(new), "--dry-run", "--grpc", served.grpc)
    assert (tried.returncode, tried.stderr) == (0, "")
    assert "\n+          - name: b\n" in tried.stdout
    assert tried.stdout.endswith("the scheduler would take it; nothing was changed\n")
    assert in_force(served) == OLD
    done = run_remuda("config", "apply", str(new), "--yes", "--grpc", served.grpc)
    assert (done.returncode, done.stderr) == (0, "")
    with Admin(served.grpc) as admin:
        document = admin.get_configuration()
    assert document.config == NEW
    assert done.stdout.endswith(f"in force, checksum {document.checksum}\n")
    again = run_remuda("config", "apply", str(new), "--grpc", served.grpc)
    said = f"no line of {new} differs from the configuration in force\n"
    assert (again.returncode, again.stdout, again.stderr) == (0, said, "")


def test_what_is_wrong_is_told_and_nothing_changes(served: Served, tmp_path: Path) -> None:
    new, wrong = tmp_path / "new.yaml", tmp_path / "wrong.yaml"
    new.write_text(NEW)
    wrong.write_text(WRONG)
    for arguments, code, said in (
        ((str(new),), 2, "nobody can be asked here; --yes says that you mean it"),
        ((str(wrong), "--yes"), 2, "configuration refused: "),
        ((str(wrong), "--dry-run"), 2, "configuration refused: "),
        ((str(tmp_path / "none"), "--yes"), 2, "No such file or directory"),
    ):
        done = run_remuda("config", "apply", *arguments, "--grpc", served.grpc)
        assert (arguments, done.returncode) == (arguments, code), done.stderr
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
        assert in_force(served) == OLD


def test_only_an_administrator_may(tmp_path: Path) -> None:
    access = tmp_path / "access.toml"
    hashed = sha256(b"secret").hexdigest()
    access.write_text(f'[[identity]]\nname = "eve"\ntoken-sha256 = ["{hashed}"]\nread = true\n')
    queues, token = tmp_path / "queues.yaml", tmp_path / "token"
    queues.write_text(NEW)
    token.write_text("secret")
    with Served(*FREE_PORTS, "--grpc-access", str(access)) as process:
        arguments = ("--yes", "--grpc", process.grpc, "--token-file", str(token))
        done = run_remuda("config", "apply", str(queues), *arguments)
        assert (done.returncode, done.stdout) == (4, "")
        assert "'eve' is no administrator" in done.stderr


def test_without_a_scheduler_one_line_says_so(tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(NEW)
    done = run_remuda("config", "apply", str(new), "--yes", "--grpc", "127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
