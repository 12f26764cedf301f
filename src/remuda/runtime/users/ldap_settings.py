"""The settings of the LDAP resolver: a directory with one file per setting.

That is how a cluster mounts a secret. Every fault is reported, all in one line; what is legal
but odd is logged. The password is never part of a text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.go_text import parse_bool

_log = logging.getLogger("remuda.users")

DIRECTORY: Final = Path("/run/secrets/ldap")

# More is no setting; the file may be anything.
_BYTES_LIMIT: Final = 65_536

_REQUIRED: Final = (
    "Host",
    "Port",
    "BaseDN",
    "Filter",
    "GroupAttr",
    "ReturnAttr",
    "BindUser",
    "BindPassword",
)
_OPTIONAL: Final = ("Insecure", "SSL")

_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_DN: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*=[^,]+(,\s*[A-Za-z][A-Za-z0-9-]*=[^,]+)*")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True, slots=True)
class LdapSettings:
    """How to find groups in a directory server.

    ``filter`` has ``%s`` where the user name goes. ``group_attribute`` holds the groups' names,
    ``return_attributes`` is what is asked of the server. ``insecure``: the server's certificate
    is not checked. Rules: UGR-26.
    """

    host: str
    port: int
    base: str
    filter: str
    group_attribute: str
    return_attributes: tuple[str, ...]
    bind_user: str
    bind_password: str = field(repr=False)
    insecure: bool = False
    ssl: bool = False


def read_settings(directory: Path) -> LdapSettings:
    """Read the settings from a directory.

    Raises: UsageError, one line with all that is missing or wrong.
    Implements: UGR-26, UGR-27.
    """
    values = _values(directory)
    faults = [f"{name} is missing" for name in _REQUIRED if name not in values]
    faults += [f"{name} is empty" for name in (*_REQUIRED, *_OPTIONAL) if values.get(name) == ""]
    for name, check in _CHECKS.items():
        value = values.get(name, "")
        fault = check(value) if value else ""
        if fault:
            faults.append(f"{name}: {fault}")
    if faults:
        raise UsageError(f"LDAP settings in {directory}: {'; '.join(faults)}")
    settings = _settings(values)
    for oddity in _oddities(settings):
        _log.warning("LDAP settings in %s: %s", directory, oddity)
    return settings


def _values(directory: Path) -> dict[str, str]:
    """Return the trimmed content of each setting's file."""
    values: dict[str, str] = {}
    try:
        for path in sorted(directory.iterdir()):
            if path.name.startswith("..") or path.is_dir():
                continue
            if path.name not in (*_REQUIRED, *_OPTIONAL):
                _log.warning(
                    "LDAP settings in %s: %.80r is no setting, ignored", directory, path.name
                )
                continue
            values[path.name] = _read(path)
    except OSError as error:
        raise UsageError(
            f"cannot read the LDAP settings: {error.filename or directory}: {error.strerror}"
        ) from None
    return values


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_BYTES_LIMIT + 1)
    if len(data) > _BYTES_LIMIT:
        raise UsageError(f"LDAP settings: {path} has more than {_BYTES_LIMIT} bytes")
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise UsageError(f"LDAP settings: {path} is not UTF-8 text") from None


def _settings(values: Mapping[str, str]) -> LdapSettings:
    attributes = [part.strip() for part in values["ReturnAttr"].split(",")]
    return LdapSettings(
        host=values["Host"],
        port=int(values["Port"]),
        base=values["BaseDN"],
        filter=values["Filter"],
        group_attribute=values["GroupAttr"],
        return_attributes=tuple([part for part in attributes if part]),
        bind_user=values["BindUser"],
        bind_password=values["BindPassword"],
        insecure=bool(parse_bool(values.get("Insecure", ""))),
        ssl=bool(parse_bool(values.get("SSL", ""))),
    )


def _port_fault(value: str) -> str:
    if value.isascii() and value.isdecimal() and len(value) < 6 and 1 <= int(value) <= 65_535:
        return ""
    return f"{value[:20]!r} is not a port, 1 to 65535"


def _filter_fault(value: str) -> str:
    if "%s" not in value:
        return "%s, which stands for the user name, is not in it"
    depth = 0
    for character in value:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    return "its parentheses do not match" if depth else ""


def _bool_fault(value: str) -> str:
    return "" if parse_bool(value) is not None else f"{value[:20]!r} is neither true nor false"


_CHECKS: Final[Mapping[str, Callable[[str], str]]] = {
    "Port": _port_fault,
    "Filter": _filter_fault,
    "Insecure": _bool_fault,
    "SSL": _bool_fault,
}


def _oddities(settings: LdapSettings) -> list[str]:
    """Return what is legal and mostly not meant. Rules: UGR-27."""
    attributes = (settings.group_attribute, *settings.return_attributes)
    odd = [name for name in attributes if not _ATTRIBUTE.fullmatch(name)]
    checks = (
        (not _HOST.fullmatch(settings.host), f"Host {settings.host!r} does not look like a host"),
        (not _DN.fullmatch(settings.base), f"BaseDN {settings.base!r} does not look like a DN"),
        (
            not _DN.fullmatch(settings.bind_user),
            f"BindUser {settings.bind_user!r} does not look like a DN",
        ),
        (bool(odd), f"attributes {', '.join(map(repr, odd))} do not look like attribute names"),
        (len(settings.bind_password) < 3, "BindPassword is shorter than 3 characters"),
        (settings.ssl and settings.port != 636, f"SSL with port {settings.port}, not 636"),
        (
            settings.ssl and settings.insecure,
            "SSL together with Insecure: the server may be anybody",
        ),
    )
    return [text for applies, text in checks if applies]
