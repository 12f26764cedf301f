"""Write the bill of materials of a wheel: what is in it, and which libraries it was tested with.

The format is CycloneDX 1.6. `make wheel` leaves a bill beside each wheel. It is a function of the
wheel and of the locks: it has neither a time of its own nor a random number, so that the same
sources and tools give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from tools.supply.licences import ROOT, licence_of, requires

SERVE: Final = ROOT / "requirements-serve.lock"
ALL: Final = ROOT / "requirements.lock"
SUFFIX: Final = ".cdx.json"

# The C code of mypyc's runtime is compiled into a compiled wheel.
COMPILER: Final = "mypy"


class Locked(NamedTuple):
    """A library of a lock. ``hashes``: SHA-256 of each file that was published of the version."""

    name: str
    version: str
    hashes: tuple[str, ...]


class LicenceError(Exception):
    """The licence of a library is not known, so that no bill can name it."""


def locked(lock: Path) -> list[Locked]:
    """Return the libraries of a lock, in its order."""
    entries = re.split(r"^(?=[a-z0-9-]+==)", lock.read_text(), flags=re.MULTILINE)[1:]
    found = []
    for entry in entries:
        name, _, version = entry.split(maxsplit=1)[0].partition("==")
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
        found.append(Locked(name, version, hashes))
    return found


def write_bill(wheel: Path) -> Path:
    """Write the bill of a wheel beside it; returns its path. Raises: LicenceError."""
    target = wheel.with_name(wheel.name + SUFFIX)
    target.write_text(json.dumps(bill(wheel), indent=2, ensure_ascii=False) + "\n")
    return target


def bill(wheel: Path) -> dict[str, Any]:
    """Return the bill of a wheel.

    The libraries are those of requirements-serve.lock; a compiled wheel has mypy, too, whose
    runtime is a part of it. Raises: LicenceError.
    """
    libraries = locked(SERVE)
    metadata = _metadata(wheel)
    product = _product(wheel, metadata)
    asked = metadata.get_all("Requires-Dist", [])
    if _compiled(wheel):
        libraries += [each for each in locked(ALL) if each.name == COMPILER]
        asked += [COMPILER]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {**_dated(), "lifecycles": [{"phase": "build"}], "component": product},
        "components": [_component(each) for each in libraries],
        "dependencies": [
            _depends(product["bom-ref"], asked, libraries),
            *[_depends(_address(each), requires(each.name), libraries) for each in libraries],
        ],
    }
    # One number for one content, as the format asks for, but not by chance.
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(document))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def _compiled(wheel: Path) -> bool:
    _, _, _, tags = parse_wheel_filename(wheel.name)
    return all(tag.abi != "none" for tag in tags)


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


def _product(wheel: Path, metadata: Message) -> dict[str, Any]:
    name, version = metadata["Name"], metadata["Version"]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    address = f"pkg:pypi/{name}@{version}"
    return {
        "type": "application",
        "bom-ref": address,
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": [{"expression": metadata["License-Expression"]}],
        "purl": f"{address}?file_name={wheel.name}",
    }


def _dated() -> dict[str, str]:
    """Return the time that the build is to have, if it is said (SOURCE_DATE_EPOCH)."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        return {}
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    return {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _address(library: Locked) -> str:
    return f"pkg:pypi/{library.name}@{library.version}"


def _component(library: Locked) -> dict[str, Any]:
    licence = licence_of(library.name)
    if not licence:
        raise LicenceError(f"the licence of {library.name} is not known")
    return {
        "type": "library",
        "bom-ref": _address(library),
        "name": library.name,
        "version": library.version,
        "hashes": [{"alg": "SHA-256", "content": each} for each in library.hashes],
        "licenses": [{"expression": licence}],
        "purl": _address(library),
    }


def _depends(address: str, asked: Iterable[str], libraries: Iterable[Locked]) -> dict[str, Any]:
    """Return which of some libraries are asked for, on any machine, with any Python."""
    wanted = [Requirement(text) for text in asked]
    names = {
        canonicalize_name(each.name) for each in wanted if "extra" not in str(each.marker or "")
    }
    found = [_address(each) for each in libraries if each.name in names]
    return {"ref": address, "dependsOn": found}
