"""The settings of the LDAP resolver, one file each."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, UsageError
from remuda.config.load import load_configuration
from remuda.runtime.users import choice
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.ldap_settings import LdapSettings, read_settings

GOOD = {
    "Host": "ldap.example.com",
    "Port": "389",
    "BaseDN": "dc=example,dc=com",
    "Filter": "(&(objectClass=person)(uid=%s))",
    "GroupAttr": "memberOf",
    "ReturnAttr": "memberOf, mail",
    "BindUser": "cn=reader,dc=example,dc=com",
    "BindPassword": "top-secret",
}

WITH_LDAP = """
partitions:
  - name: default
    queues:
      - name: root
  - name: lab
    usergroupresolver:
      type: ldap
    queues:
      - name: root
"""


def directory(path: Path, **changes: str | None) -> Path:
    """Write good settings with some changed, or left out for None."""
    for name, value in {**GOOD, **changes}.items():
        if value is not None:
            (path / name).write_text(value)
    return path


@pytest.mark.remuda_rule("UGR-26")
def test_each_setting_is_a_file_with_blanks_around_it(tmp_path: Path) -> None:
    directory(tmp_path, Host="  ldap.example.com\n", SSL="true\n", Port="636", Insecure="F")
    assert read_settings(tmp_path) == LdapSettings(
        host="ldap.example.com",
        port=636,
        base="dc=example,dc=com",
        filter="(&(objectClass=person)(uid=%s))",
        group_attribute="memberOf",
        return_attributes=("memberOf", "mail"),
        bind_user="cn=reader,dc=example,dc=com",
        bind_password="top-secret",
        insecure=False,
        ssl=True,
    )


@pytest.mark.remuda_rule("UGR-26")
def test_hidden_names_and_directories_are_skipped_and_unknown_names_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory(tmp_path, Colour="red")
    (tmp_path / "..data").write_text("x")
    (tmp_path / "SSL").mkdir()
    with caplog.at_level(logging.WARNING):
        assert read_settings(tmp_path).ssl is False
    (record,) = caplog.records
    assert "'Colour' is no setting, ignored" in record.getMessage()


@pytest.mark.remuda_rule("UGR-26")
@pytest.mark.parametrize("name", list(GOOD))
def test_a_required_setting_that_is_missing_is_an_error(tmp_path: Path, name: str) -> None:
    directory(tmp_path, **{name: None})
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path)
    assert str(refused.value) == f"LDAP settings in {tmp_path}: {name} is missing"


@pytest.mark.remuda_rule("UGR-27")
@pytest.mark.parametrize(
    "name,value,fault",
    [
        ("Host", " \n", "Host is empty"),
        ("SSL", "", "SSL is empty"),
        ("Port", "0", "Port: '0' is not a port, 1 to 65535"),
        ("Port", "65536", "Port: '65536' is not a port, 1 to 65535"),
        ("Port", "ldap", "Port: 'ldap' is not a port, 1 to 65535"),
        ("Filter", "(uid=bob)", "Filter: %s, which stands for the user name, is not in it"),
        ("Filter", "(&(uid=%s)", "Filter: its parentheses do not match"),
        ("Filter", "uid=%s)(", "Filter: its parentheses do not match"),
        ("Insecure", "maybe", "Insecure: 'maybe' is neither true nor false"),
    ],
)
def test_a_wrong_value_is_an_error(tmp_path: Path, name: str, value: str, fault: str) -> None:
    directory(tmp_path, **{name: value})
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path)
    assert str(refused.value) == f"LDAP settings in {tmp_path}: {fault}"


@pytest.mark.remuda_rule("UGR-27")
@pytest.mark.parametrize("port", ["1", "65535"])
def test_the_first_and_the_last_port_are_good(tmp_path: Path, port: str) -> None:
    assert read_settings(directory(tmp_path, Port=port)).port == int(port)


@pytest.mark.remuda_rule("UGR-26", "UGR-27")
def test_all_that_is_wrong_is_told_in_one_line(tmp_path: Path) -> None:
    directory(tmp_path, Host=None, Port="x", Filter="uid")
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path)
    text = str(refused.value)
    assert "\n" not in text
    assert all(part in text for part in ("Host is missing", "Port: 'x'", "Filter: %s"))


@pytest.mark.remuda_rule("UGR-27")
@pytest.mark.parametrize(
    "changes,warning",
    [
        ({"Host": "not a host"}, "Host 'not a host' does not look like a host"),
        ({"BaseDN": "example.com"}, "BaseDN 'example.com' does not look like a DN"),
        ({"BindUser": "reader"}, "BindUser 'reader' does not look like a DN"),
        ({"GroupAttr": "member of"}, "attributes 'member of' do not look like attribute names"),
        ({"BindPassword": "ab"}, "BindPassword is shorter than 3 characters"),
        ({"SSL": "true"}, "SSL with port 389, not 636"),
        (
            {"SSL": "true", "Port": "636", "Insecure": "true"},
            "SSL together with Insecure: the server may be anybody",
        ),
    ],
)
def test_what_is_odd_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, str], warning: str
) -> None:
    with caplog.at_level(logging.WARNING):
        read_settings(directory(tmp_path, **changes))
    (record,) = caplog.records
    assert record.getMessage() == f"LDAP settings in {tmp_path}: {warning}"


@pytest.mark.remuda_rule("UGR-26")
def test_the_password_is_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        settings = read_settings(directory(tmp_path, BindPassword="s3"))
    assert "s3" not in repr(settings)
    assert "'s3'" not in caplog.text
    directory(tmp_path, BindPassword="top-secret", Port="x")
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path)
    assert "top-secret" not in str(refused.value)


def test_files_that_are_no_settings_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the LDAP settings: .*No such file"):
        read_settings(tmp_path / "missing")
    directory(tmp_path)
    (tmp_path / "Host").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="Host is not UTF-8 text"):
        read_settings(tmp_path)
    (tmp_path / "Host").write_bytes(b"a" * 70_000)
    with pytest.raises(UsageError, match="Host has more than 65536 bytes"):
        read_settings(tmp_path)


@pytest.mark.remuda_rule("UGR-26", "UGR-20")
def test_a_configuration_that_asks_for_ldap_without_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "library_present", lambda: True)
    load = Resolvers(tmp_path).guarded(load_configuration)
    with pytest.raises(ConfigError) as refused:
        load(WITH_LDAP)
    (problem,) = refused.value.problems
    assert problem.rule == "UGR-26"
    assert problem.path == "partitions[1].usergroupresolver.type"
    assert problem.message.startswith(f"LDAP settings in {tmp_path}: Host is missing; Port is")
    directory(tmp_path)
    assert load(WITH_LDAP).partitions[1].user_group_resolver == "ldap"


@pytest.mark.remuda_rule("UGR-26")
def test_a_configuration_that_asks_for_ldap_without_the_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "library_present", lambda: False)
    with pytest.raises(ConfigError, match="the LDAP library is not installed") as refused:
        Resolvers(directory(tmp_path)).guarded(load_configuration)(WITH_LDAP)
    assert "\n" not in str(refused.value)
