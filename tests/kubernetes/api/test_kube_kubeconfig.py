"""Kubeconfig files, service accounts and programs that give tokens; and that faults are one line.

Certificates are made by openssl where a test needs real ones.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import ssl
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from remuda.base.errors import UsageError
from remuda_kubernetes.api import kubeconfig
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.errors import ApiError
from tests.kubernetes.api.scripted import Reply, Server, refusal, run

EXEC = "client.authentication.k8s.io/v1"


def config(server: str, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team"}}],
    }


def written(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def ask(access: kubeconfig.Access) -> None:
    async with Connection(access) as connection:
        await connection.request("GET", "/x")


def bearer(server: Server) -> list[str]:
    return [each.headers.get("authorization", "") for each in server.requests]


def test_server_namespace_and_token_are_those_of_the_current_context(tmp_path: Path) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", Reply())
            file = written(tmp_path / "config", config(server.url, {"token": "t0"}))
            access = kubeconfig.from_kubeconfig(file)
            assert (access.server, access.namespace) == (server.url, "team")
            await ask(access)
            assert bearer(server) == ["Bearer t0"]

    run(test())


def test_another_context_can_be_named(tmp_path: Path) -> None:
    content = config("http://one")
    content["clusters"].append({"name": "k2", "cluster": {"server": "http://two"}})
    content["contexts"].append({"name": "c2", "context": {"cluster": "k2"}})
    file = written(tmp_path / "config", content)
    access = kubeconfig.from_kubeconfig(file, "c2")
    assert (access.server, access.namespace) == ("http://two", "default")
    assert access.auth is None


def test_files_are_merged_and_the_first_counts(tmp_path: Path) -> None:
    first = written(tmp_path / "a", {**config("http://one"), "users": []})
    second = written(tmp_path / "b", config("http://two", {"token": "t"}))
    missing = tmp_path / "missing"
    access = kubeconfig.from_kubeconfig(os.pathsep.join(map(str, (first, missing, second))))
    assert access.server == "http://one"
    assert access.auth is not None


def test_a_file_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    file = written(tmp_path / "a:b", config("http://one"))
    assert kubeconfig.from_kubeconfig(file).server == "http://one"


def test_a_token_file_is_relative_to_its_config_and_read_again_after_a_401(tmp_path: Path) -> None:
    async def test() -> None:
        token = tmp_path / "token"
        token.write_text("old\n")
        file = written(tmp_path / "config", config("http://x", {"tokenFile": "token"}))

        async with Server() as server:
            content = config(server.url, {"tokenFile": "token"})
            written(file, content)
            server.on("GET", "/x", Reply(), refusal(401, "Unauthorized"), Reply())
            async with Connection(kubeconfig.from_kubeconfig(file)) as connection:
                await connection.request("GET", "/x")
                token.write_text("new\n")
                await connection.request("GET", "/x")
            assert bearer(server) == ["Bearer old", "Bearer old", "Bearer new"]

    run(test())


def exec_user(command: str, **more: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": EXEC, "command": command, **more}}


def credential(expires: str = "") -> str:
    status = '\\"token\\":\\"t$n\\"' + (
        f',\\"expirationTimestamp\\":\\"{expires}\\"' if expires else ""
    )
    return f'echo "{{\\"apiVersion\\":\\"{EXEC}\\",\\"status\\":{{{status}}}}}"'


def counting(tmp_path: Path) -> str:
    """Count the runs of a program in a file."""
    return f"n=$(($(cat {tmp_path}/n 2>/dev/null || echo 0) + 1)); echo $n > {tmp_path}/n"


@pytest.mark.parametrize(
    "expires, tokens",
    [
        ("", ["t1", "t1", "t2"]),
        ("2099-01-01T00:00:00Z", ["t1", "t1", "t2"]),
        ("2001-01-01T00:00:00Z", ["t1", "t2", "t3"]),
    ],
)
def test_a_program_gives_tokens_until_they_expire_or_are_refused(
    tmp_path: Path, expires: str, tokens: list[str]
) -> None:
    async def test() -> None:
        command = program(tmp_path / "give", f"{counting(tmp_path)}\n{credential(expires)}")
        async with Server() as server:
            user = exec_user("./" + Path(command).name)
            file = written(tmp_path / "config", config(server.url, user))
            server.on("GET", "/x", Reply(), refusal(401, "Unauthorized"), Reply())
            async with Connection(kubeconfig.from_kubeconfig(file)) as connection:
                await connection.request("GET", "/x")
                await connection.request("GET", "/x")
            assert bearer(server) == [f"Bearer {token}" for token in tokens]

    run(test())


def test_a_hundred_requests_start_the_program_once(tmp_path: Path) -> None:
    async def test() -> None:
        command = program(tmp_path / "give", f"{counting(tmp_path)}\n{credential()}")
        async with Server() as server:
            server.on("GET", "/x", Reply())
            file = written(tmp_path / "config", config(server.url, exec_user(command)))
            async with Connection(kubeconfig.from_kubeconfig(file)) as connection:
                await asyncio.gather(*(connection.request("GET", "/x") for _ in range(100)))
            assert set(bearer(server)) == {"Bearer t1"}
        assert (tmp_path / "n").read_text() == "1\n"

    run(test())


def test_the_program_is_told_version_cluster_and_variables(tmp_path: Path) -> None:
    async def test() -> None:
        text = f'echo "$KUBERNETES_EXEC_INFO $V $1" > {tmp_path}/told\nn=1\n{credential()}'
        command = program(tmp_path / "give", text)
        async with Server() as server:
            server.on("GET", "/x", Reply())
            user = exec_user(
                command,
                args=["arg"],
                env=[{"name": "V", "value": "w"}],
                provideClusterInfo=True,
            )
            file = written(tmp_path / "config", config(server.url, user))
            await ask(kubeconfig.from_kubeconfig(file))
            told = (tmp_path / "told").read_text()
            info, _, rest = told.rpartition("} ")
            assert yaml.safe_load(info + "}") == {
                "apiVersion": EXEC,
                "kind": "ExecCredential",
                "spec": {"interactive": False, "cluster": {"server": server.url}},
            }
            assert rest == "w arg\n"

    run(test())


@pytest.mark.parametrize(
    "text, words",
    [
        ("echo log in first >&2; exit 3", "ended with 3: log in first"),
        ("echo s3cr3t", "printed no ExecCredential"),
        ('echo \'{"status":{"clientCertificateData":"x"}}\'', "client certificates are not"),
        ('echo "{}"', "gave no token"),
    ],
)
def test_a_program_that_fails_is_told_without_its_output(
    tmp_path: Path, text: str, words: str
) -> None:
    async def test() -> None:
        user = exec_user(program(tmp_path / "give", text))
        file = written(tmp_path / "config", config("http://127.0.0.1:1", user))
        with pytest.raises(ApiError, match=words) as caught:
            await ask(kubeconfig.from_kubeconfig(file))
        assert "s3cr3t" not in str(caught.value)
        assert caught.value.unsent

    run(test())


def test_a_program_that_is_not_there_is_told_with_the_hint_of_the_config(tmp_path: Path) -> None:
    async def test() -> None:
        user = exec_user("no-such-program", installHint="install the thing")
        file = written(tmp_path / "config", config("http://127.0.0.1:1", user))
        with pytest.raises(ApiError, match="No such file or directory: install the thing"):
            await ask(kubeconfig.from_kubeconfig(file))

    run(test())


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "not a kubeconfig"),
        ("[1, 2]", "not a kubeconfig"),
        ("a: [", r"config:1: not a YAML text"),
        (yaml.safe_dump(config("https://joe:s3cr3t@x")), "a name and password in it"),
        ("clusters: 7", "there is no current context"),
        ("\udcff", "not a YAML text"),
        (yaml.safe_dump({**config("http://x"), "current-context": "zz"}), "there are c"),
        (
            yaml.safe_dump({**config("http://x"), "clusters": []}),
            "names cluster 'k': there is none",
        ),
        (yaml.safe_dump({**config("http://x"), "users": []}), "names user 'u': there is none"),
        (yaml.safe_dump(config("http://x", {"token": ["s3cr3t"]})), "Expected `str"),
        (
            yaml.safe_dump(config("https://x", None, **{"certificate-authority": "none.crt"})),
            "certificate-authority: .*none.crt: No such file",
        ),
        (
            yaml.safe_dump(config("https://x", {"client-certificate-data": "czNjcjN0"})),
            "client-key is missing",
        ),
        (
            yaml.safe_dump(
                config(
                    "https://x",
                    {"client-certificate-data": "czNjcjN0", "client-key-data": "czNjcjN0"},
                )
            ),
            "client-certificate and client-key: no certificate",
        ),
        (
            yaml.safe_dump(config("https://x", None, **{"certificate-authority-data": "é"})),
            "not base64",
        ),
        (
            yaml.safe_dump(config("https://x", None, **{"certificate-authority-data": "czNjcjN0"})),
            "certificate-authority: no certificate or key",
        ),
        (yaml.safe_dump(config("http://x", {"auth-provider": {"name": "gcp"}})), "not supported"),
        (yaml.safe_dump(config("http://x", {"exec": {"command": 7}})), "Expected `str"),
    ],
)
def test_faults_of_a_config_are_one_line_without_its_contents(
    tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=words) as caught:
        kubeconfig.from_kubeconfig(file)
    text = str(caught.value)
    assert str(tmp_path) in text
    assert "\n" not in text
    assert "s3cr3t" not in text


def test_a_config_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file: name a kubeconfig file"):
        kubeconfig.from_kubeconfig(tmp_path / "none")


def test_the_default_is_the_variable_then_the_home_then_the_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="does not run in a pod"):
        kubeconfig.default()
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube/config", config("http://home"))
    assert kubeconfig.default().server == "http://home"
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "named", config("http://named"))))
    assert kubeconfig.default().server == "http://named"
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(UsageError, match="no such file"):
        kubeconfig.default()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a server and a client that it signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: certificates cannot be made")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    authority = ("-x509", "-days", "30", "-keyout", "ca.key", "-out", "ca.crt")
    openssl("req", *key, *authority, "-subj", "/CN=ca")
    for name in ("server", "client"):
        request = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("req", *key, *request)
        (folder / "ext").write_text("subjectAltName=IP:127.0.0.1,DNS:kube.example\n")
        signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing,
                "-extfile", "ext")  # fmt: skip
    return folder


def server_tls(certificates: Path) -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.crt")
    tls.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    tls.verify_mode = ssl.CERT_REQUIRED
    return tls


@pytest.mark.parametrize("inline", [False, True])
def test_both_sides_are_known_by_certificates(
    tmp_path: Path, certificates: Path, *, inline: bool
) -> None:
    def given(name: str, file: str) -> dict[str, str]:
        if not inline:
            return {name: os.path.relpath(certificates / file, tmp_path)}
        return {f"{name}-data": base64.b64encode((certificates / file).read_bytes()).decode()}

    async def test() -> None:
        async with Server(server_tls(certificates)) as server:
            server.on("GET", "/x", Reply())
            user = {
                **given("client-certificate", "client.crt"),
                **given("client-key", "client.key"),
            }
            cluster = given("certificate-authority", "ca.crt")
            file = written(tmp_path / "config", config(server.url, user, **cluster))
            await ask(kubeconfig.from_kubeconfig(file))
            assert len(server.requests) == 1

    run(test())


def test_a_server_of_another_authority_is_refused_with_advice(
    tmp_path: Path, certificates: Path
) -> None:
    async def test() -> None:
        async with Server(server_tls(certificates)) as server:
            file = written(tmp_path / "config", config(server.url))
            with pytest.raises(ApiError, match="must be the one that signed"):
                await ask(kubeconfig.from_kubeconfig(file))

    run(test())


def test_the_name_in_the_certificate_can_be_another(tmp_path: Path, certificates: Path) -> None:
    async def test() -> None:
        async with Server(server_tls(certificates)) as server:
            server.on("GET", "/x", Reply())
            authority = {"certificate-authority": str(certificates / "ca.crt")}
            user = {
                "client-certificate": str(certificates / "client.crt"),
                "client-key": str(certificates / "client.key"),
            }
            file = tmp_path / "config"
            for name, works in (("kube.example", True), ("other.example", False)):
                cluster = {**authority, "tls-server-name": name}
                access = kubeconfig.from_kubeconfig(
                    written(file, config(server.url, user, **cluster))
                )
                if works:
                    await ask(access)
                else:
                    with pytest.raises(ApiError, match="certificate"):
                        await ask(access)

    run(test())


def test_the_account_of_a_pod(
    tmp_path: Path, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificates / "server.crt", certificates / "server.key")
        async with Server(tls) as server:
            server.on("GET", "/x", Reply(), refusal(401, "Unauthorized"), Reply())
            monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
            shutil.copy(certificates / "ca.crt", tmp_path / "ca.crt")
            with pytest.raises(UsageError, match="token"):
                kubeconfig.in_cluster(tmp_path)
            (tmp_path / "namespace").write_text("remuda")
            (tmp_path / "token").write_text("first")
            access = kubeconfig.in_cluster(tmp_path)
            assert access.namespace == "remuda"
            async with Connection(access) as connection:
                await connection.request("GET", "/x")
                (tmp_path / "token").write_text("rotated")
                await connection.request("GET", "/x")
            assert bearer(server) == ["Bearer first", "Bearer first", "Bearer rotated"]

    run(test())
