"""The roles of the file of identities (EXT-30)."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.base.scopes import Scope
from remuda.edges.identities import read_access_rules
from remuda.edges.rights import Identity

TOKEN = "00" * 32


def read(tmp_path: Path, rights: str) -> Identity:
    path = tmp_path / "access.toml"
    path.write_text(f"[[identity]]\nname = 'a'\ntoken-sha256 = ['{TOKEN}']\n{rights}\n")
    (found,) = read_access_rules(path, certificates=False).identities
    return found


@pytest.mark.remuda_rule("EXT-30")
def test_a_role_stands_for_the_rights_of_the_older_keys(tmp_path: Path) -> None:
    assert read(tmp_path, "role = 'reader'") == read(tmp_path, "read = true")
    assert read(tmp_path, "role = 'administrator'") == read(tmp_path, "admin = true")
    assert read(tmp_path, "role = 'rm'\nrm-ids = ['x']") == read(tmp_path, "rm-ids = ['x']")
    operator = read(tmp_path, "role = 'operator'\nqueues = ['root.A']\npartitions = ['p']")
    assert (operator.read, operator.admin) == (True, False)
    assert operator.operates == Scope(("p",), ("root.a",))


@pytest.mark.remuda_rule("EXT-30")
@pytest.mark.parametrize(
    "rights, words",
    [
        ("role = 'root'", "role 'root' is none of reader, operator, administrator, rm"),
        ("role = 'rm'", "no rm-ids"),
        ("role = 'administrator'\nqueues = ['root.a']", "are for the roles reader, operator, rm"),
        ("admin = true\npartitions = ['p']", "are for the roles reader, operator, rm"),
        ("role = 'reader'\nqueues = ['a']", "'a' does not begin with root"),
        ("role = 'operator'\nqueues = ['a']", "'a' does not begin with root"),
    ],
)
def test_a_mistake_in_a_role_is_one_line(tmp_path: Path, rights: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        read(tmp_path, rights)
    assert "\n" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-32")
def test_a_reader_may_have_a_scope(tmp_path: Path) -> None:
    reader = read(tmp_path, "role = 'reader'\nqueues = ['root.A']\npartitions = ['p']")
    assert (reader.read, reader.admin, reader.operates) == (True, False, None)
    assert reader.reads == Scope(("p",), ("root.a",))
    assert read(tmp_path, "role = 'operator'\nqueues = ['root.a']").reads is None


@pytest.mark.remuda_rule("EXT-33")
def test_one_that_acts_for_resource_managers_may_have_a_scope(tmp_path: Path) -> None:
    rm = read(tmp_path, "role = 'rm'\nrm-ids = ['x']\nqueues = ['root.A']\npartitions = ['p']")
    assert (rm.rm_ids, rm.read, rm.reads, rm.operates) == (("x",), False, None, None)
    assert rm.places == Scope(("p",), ("root.a",))


@pytest.mark.remuda_rule("EXT-32", "EXT-33")
@pytest.mark.parametrize(
    "rights",
    [
        "role = 'reader'\nread = true",
        "role = 'reader'\nadmin = true",
        "role = 'reader'\nrm-ids = ['x']",
        "role = 'rm'\nrm-ids = ['x']\nread = true",
        "role = 'rm'\nrm-ids = ['x']\nadmin = true",
    ],
)
def test_a_scope_beside_a_right_without_one_is_a_mistake(tmp_path: Path, rights: str) -> None:
    with pytest.raises(UsageError, match="make two identities of it") as caught:
        read(tmp_path, f"{rights}\nqueues = ['root.a']")
    assert "\n" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-30", "EXT-32", "EXT-33")
@pytest.mark.parametrize("role", ["reader", "operator", "rm"])
@pytest.mark.parametrize("name", ["partitions", "queues"])
def test_a_list_without_elements_is_not_taken_for_all(tmp_path: Path, role: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} has no elements; leave it out for all"):
        read(tmp_path, f"role = '{role}'\n{name} = []")


@pytest.mark.remuda_rule("EXT-30")
@pytest.mark.parametrize(
    "scope, partition, queue, inside",
    [
        (Scope(), "any", "root.a", True),
        (Scope(), "any", "", True),
        (Scope(queues=("root.a",)), "", "root.a", True),
        (Scope(queues=("root.a",)), "", "ROOT.A.b", True),
        (Scope(queues=("root.a",)), "", "root.ab", False),
        (Scope(queues=("root.a",)), "", "root", False),
        (Scope(queues=("root.a",)), "", "", False),
        (Scope(queues=("root",)), "", "root.x.y", True),
        (Scope(("default",)), "", "root.a", True),
        (Scope(("default",)), "[rm]default", "", True),
        (Scope(("default",)), "[other]default", "", False),
        (Scope(("p",)), "", "root.a", False),
        (Scope(("p",), ("root.a",)), "p", "root.a.b", True),
        (Scope(("p",), ("root.a",)), "q", "root.a.b", False),
    ],
)
def test_a_scope_is_partitions_and_queues_with_all_below_them(
    scope: Scope, partition: str, queue: str, inside: bool
) -> None:
    assert scope.includes("rm", partition, queue) is inside
