"""Names on their way to a directory server and back."""

from __future__ import annotations

import pytest

from remuda.runtime.users.ldap import common_name, escape


@pytest.mark.remuda_rule("UGR-28", "D-R5")
@pytest.mark.parametrize(
    "user,escaped",
    [
        ("bob", "bob"),
        ("*", r"\2a"),
        ("a)(uid=*", r"a\29\28uid=\2a"),
        ("back\\slash", r"back\5cslash"),
        ("nul\0", r"nul\00"),
        ("jürgen", "jürgen"),
    ],
)
def test_a_user_name_cannot_change_the_filter(user: str, escaped: str) -> None:
    assert escape(user) == escaped


@pytest.mark.remuda_rule("UGR-25", "UGR-28", "D-R5")
@pytest.mark.parametrize(
    "dn,name",
    [
        ("CN=dev,OU=groups,DC=example,DC=com", "dev"),
        ("cn=dev,ou=groups,dc=example,dc=com", "dev"),
        ("Cn = dev , ou=groups", "dev"),
        (r"cn=Smith\, John,ou=groups", "Smith, John"),
        (r"cn=Smith\2C John,ou=groups", "Smith, John"),
        (r"cn=\C3\BCber,ou=groups", "über"),
        (r"cn=a\\,ou=groups", "a\\"),
        (r"cn=blank\ ,ou=groups", "blank "),
        (r"cn=1\+1,ou=groups", "1+1"),
        ("ou=x+cn=dev,dc=example", "dev"),
        ("cn=a=b,dc=example", "a=b"),
        ("ou=dev,cn=other,dc=example", ""),
        ("uid=dev,ou=people", ""),
        ("dev", ""),
        ("", ""),
        ("cn=", ""),
    ],
)
def test_the_group_is_the_common_name_of_the_first_component(dn: str, name: str) -> None:
    assert common_name(dn) == name
