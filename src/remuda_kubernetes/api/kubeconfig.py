"""Where the API server is and how to be let in: kubeconfig files, or the account of the pod.

lightkube reads the parts that it knows. Read here besides: several files in KUBECONFIG, paths
relative to their file, ``tls-server-name`` and ``proxy-url``. Contents of these files, which may be
secret, are in no message.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import yaml
from lightkube.config.client_adapter import user_auth
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from remuda.base.errors import UsageError
from remuda_kubernetes.api import certificates
from remuda_kubernetes.api.exec_credentials import ExecCredentials, ExecPlan

KUBECONFIG: Final = "KUBECONFIG"
_DEFAULT_FILE: Final = "~/.kube/config"
_FILE_LIMIT: Final = 8 << 20
_SECTIONS: Final = ("clusters", "contexts", "users")
# Fields that name files, by section.
_PATHS: Final = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}


@dataclass(frozen=True, slots=True)
class Access:
    """A server and what is needed to speak to it.

    ``namespace`` is that of the context or of the pod. ``source`` says in messages where this was
    configured. The credentials are not shown.
    """

    server: str
    source: str
    namespace: str = "default"
    tls: ssl.SSLContext | bool = field(default=True, repr=False)
    auth: httpx2.Auth | None = field(default=None, repr=False)
    tls_name: str = ""
    proxy: str | None = field(default=None, repr=False)


def from_kubeconfig(path: str | Path, context: str | None = None) -> Access:
    """Return the access that a file, or several joined like in PATH, describe for a context.

    Without a context it is the file's current one. Raises: UsageError.
    """
    whole = Path(path).expanduser()
    parts = [Path(each).expanduser() for each in str(path).split(os.pathsep) if each]
    found = [whole] if whole.is_file() else [each for each in parts if each.is_file()]
    if not found:
        raise UsageError(f"{path}: no such file: name a kubeconfig file, or set {KUBECONFIG}")
    source = os.pathsep.join(str(each) for each in found)
    merged = _merged([_content(each) for each in found])
    return _guarded(source, lambda: _access(source, merged, context))


def in_cluster(account: str | Path = SERVICE_ACCOUNT) -> Access:
    """Return the access of the pod that this process runs in. Raises: UsageError."""
    if "KUBERNETES_SERVICE_HOST" not in os.environ or "KUBERNETES_SERVICE_PORT" not in os.environ:
        raise UsageError(
            "this process does not run in a pod of a cluster (KUBERNETES_SERVICE_HOST and "
            f"KUBERNETES_SERVICE_PORT are not set): name a kubeconfig file, or set {KUBECONFIG}"
        )
    source = f"service account in {account}"

    def read() -> Access:
        config = KubeConfig.from_service_account(account).get()
        assert config is not None
        return _from_lightkube(source, config)

    return _guarded(source, read)


def default(context: str | None = None) -> Access:
    """Return the access of KUBECONFIG, of ~/.kube/config, or of the pod, the first there is.

    Raises: UsageError.
    """
    named = os.environ.get(KUBECONFIG, "")
    if named:
        return from_kubeconfig(named, context)
    if Path(_DEFAULT_FILE).expanduser().is_file():
        return from_kubeconfig(_DEFAULT_FILE, context)
    return in_cluster()


def _guarded(source: str, read: Callable[[], Access]) -> Access:
    """Read; every fault of the input becomes one line without its contents."""
    try:
        return read()
    except UsageError as error:
        text = str(error)
        raise UsageError(text if text.startswith(source) else f"{source}: {text}") from None
    except (ConfigError, msgspec.ValidationError) as error:
        raise UsageError(f"{source}: {error}") from None
    except OSError as error:
        raise UsageError(f"{source}: {error.filename}: {error.strerror}") from None
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{source}: not a kubeconfig: {type(error).__name__}") from None


def _content(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _FILE_LIMIT:
            raise UsageError(f"{file}: larger than {_FILE_LIMIT} bytes: this is no kubeconfig")
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise UsageError(f"{file}{line}: not a YAML text") from None
    if not isinstance(content, dict):
        raise UsageError(f"{file}: not a kubeconfig: clusters, contexts and users are missing")
    for section, (part, names) in _PATHS.items():
        for entry in _entries(content, section):
            _make_absolute(entry.get(part), names, file.parent)
    for entry in _entries(content, "users"):
        user = entry.get("user")
        plan = user.get("exec") if isinstance(user, dict) else None
        command = plan.get("command") if isinstance(plan, dict) else None
        if isinstance(command, str) and "/" in command:
            _make_absolute(plan, ("command",), file.parent)
    return content


def _entries(content: Mapping[str, Any], section: str) -> list[dict[str, Any]]:
    found = content.get(section)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _make_absolute(part: object, names: tuple[str, ...], folder: Path) -> None:
    if not isinstance(part, dict):
        return
    for name in names:
        if isinstance(part.get(name), str) and part[name]:
            part[name] = str(folder.absolute() / part[name])


def _merged(contents: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge as kubectl does: of two entries with one name the first counts."""
    merged: dict[str, Any] = {}
    for section in _SECTIONS:
        by_name: dict[object, dict[str, Any]] = {}
        for content in contents:
            for entry in _entries(content, section):
                by_name.setdefault(entry.get("name"), entry)
        merged[section] = list(by_name.values())
    current = [content.get("current-context") for content in contents]
    merged["current-context"] = next((each for each in current if each), None)
    return merged


def _access(source: str, content: dict[str, Any], context: str | None) -> Access:
    chosen = context or content["current-context"]
    by_name = {
        section: {entry.get("name"): entry for entry in content[section]} for section in _SECTIONS
    }
    if not chosen:
        raise UsageError(f"{source}: there is no current context: set one, or name a context")
    if chosen not in by_name["contexts"]:
        known = ", ".join(sorted(str(name) for name in by_name["contexts"])) or "none"
        raise UsageError(f"{source}: there is no context {chosen!r}: there are {known}")
    parts = by_name["contexts"][chosen].get("context") or {}
    for section, word in (("clusters", "cluster"), ("users", "user")):
        name = parts.get(word)
        if (name or word == "cluster") and name not in by_name[section]:
            raise UsageError(f"{source}: context {chosen!r} names {word} {name!r}: there is none")
    cluster = by_name["clusters"][parts["cluster"]].get("cluster") or {}
    user = (by_name["users"].get(parts.get("user")) or {}).get("user") or {}
    config = KubeConfig.from_dict(content).get(chosen)
    assert config is not None
    return _from_lightkube(f"{source} (context {chosen})", config, cluster=cluster, user=user)


def _from_lightkube(
    source: str,
    config: SingleConfig,
    *,
    cluster: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
) -> Access:
    cluster = cluster or {}
    plan = (user or {}).get("exec")
    auth = (
        ExecCredentials(msgspec.convert(plan, ExecPlan), source, cluster)
        if plan and not _has_token(config)
        else user_auth(config.user)
    )
    server = config.cluster.server.rstrip("/")
    if not server.startswith(("http://", "https://")):
        server = f"https://{server}"
    if "@" in server:
        raise UsageError("server: an address with a name and password in it: make them a user's")
    secure = server.startswith("https://")
    return Access(
        server=server,
        source=source,
        namespace=config.namespace,
        tls=certificates.context(config.cluster, config.user or User()) if secure else True,
        auth=auth,
        tls_name=str(cluster.get("tls-server-name") or ""),
        proxy=str(cluster["proxy-url"]) if cluster.get("proxy-url") else None,
    )


def _has_token(config: SingleConfig) -> bool:
    """Whether the user has a token, which counts before a program that would give one."""
    return config.user is not None and bool(config.user.token or config.user.token_file)
