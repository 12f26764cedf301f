"""The files that keep strangers out: every mistake is one line (EXT-23)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.edges.certificates import TlsFiles
from remuda.edges.grpc.security import read_security
from remuda.edges.identities import read_access_rules
from remuda.edges.rights import Identity

FILES = Path(__file__).parents[2] / "e2e" / "tls"
DIGEST = hashlib.sha256(b"t").hexdigest()


def read(tmp_path: Path, text: str, *, certificates: bool = True) -> tuple[Identity, ...]:
    path = tmp_path / "access.toml"
    path.write_text(text)
    return read_access_rules(path, certificates=certificates).identities


@pytest.mark.remuda_rule("EXT-23")
def test_an_identity_has_certificates_or_tokens_and_something_it_may_do(tmp_path: Path) -> None:
    text = f"""
        [[identity]]
        name = "a"
        certificates = ["a.example.org"]
        token-sha256 = ["{DIGEST.upper()}"]
        rm-ids = ["one", "two"]
        [[identity]]
        name = "b"
        certificates = ["b"]
        admin = true
    """
    token = hashlib.sha256(b"t").digest()
    assert read(tmp_path, text) == (
        Identity("a", ("a.example.org",), (token,), ("one", "two")),
        Identity("b", ("b",), (), (), admin=True),
    )


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.parametrize(
    "text, words",
    [
        ("", "Object missing required field `identity`"),
        ("identity = []", "nobody may call"),
        ("identity = [", "(at end of document)"),
        ("identity = " + "9" * 5_000, "Exceeds the limit"),
        ("[[identity]]\nnam = 'a'", "unknown field `nam`"),
        ("[[identity]]\nrm-ids = ['x']", "missing required field `name`"),
        ("[[identity]]\nname = 'a'\nadmin = 1", "Expected `bool`, got `int`"),
        ("[[identity]]\nname = 'a'\nadmin = true", "identity 'a' has neither certificates nor"),
        ("[[identity]]\nname = 'a'\ncertificates = ['x']", "identity 'a' may do nothing"),
        (
            "[[identity]]\nname = 'a'\ntoken-sha256 = ['secret']\nadmin = true",
            "a token-sha256 is not the 64 hexadecimal digits",
        ),
        (
            "".join(f"[[identity]]\nname='{n}'\ncertificates=['x']\nadmin=true\n" for n in "ab"),
            "identities 'a' and 'b' cannot be told apart",
        ),
    ],
)
def test_a_mistake_in_the_file_of_identities_is_one_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "access.toml"))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-23")
def test_identities_by_certificate_need_clients_that_show_one(tmp_path: Path) -> None:
    text = "[[identity]]\nname = 'a'\ncertificates = ['x']\nadmin = true"
    with pytest.raises(UsageError, match="--grpc-tls-client-ca"):
        read(tmp_path, text, certificates=False)


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.parametrize(
    "certificate, key, ca, words",
    [
        ("server.pem", "other.key", None, "are no certificate and its key in PEM"),
        ("README.md", "server.key", None, "are no certificate and its key in PEM"),
        ("none.pem", "server.key", None, "No such file"),
        ("server.pem", "server.key", "README.md", "has no certificates in PEM"),
    ],
)
def test_files_that_do_not_belong_together_are_refused_at_the_start(
    certificate: str, key: str, ca: str | None, words: str
) -> None:
    files = TlsFiles(FILES / certificate, FILES / key, None if ca is None else FILES / ca)
    with pytest.raises(UsageError, match=words) as caught:
        read_security(files, None)
    assert "\n" not in str(caught.value)
