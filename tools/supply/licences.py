"""Check that the licences of all libraries that remuda may be run with permit its use.

`make check` runs ``python -m tools.supply.licences``. The libraries are those that the extras of
pyproject.toml install, but for `dev`, whose libraries nobody gets who installs remuda. A licence is
read from the metadata of the installed library.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[2]

# Licences, by their SPDX identifiers, that permit use in a project under Apache-2.0. MPL-2.0 asks
# something only of those who change files of the library.
ALLOWED: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT"),
        *("MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib"),
    }
)

# Metadata that name a licence otherwise than by its SPDX identifier.
_TEXTS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
_CLASSIFIERS: Final = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

# Libraries whose metadata say only "BSD" or hold the text of the licence; a person read the text.
_READ: Final = {
    "cycler": "BSD-3-Clause",
    "google-re2": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "partd": "BSD-3-Clause",
    "zict": "BSD-3-Clause",
}

# Libraries of the extras `dask`, `etcd`, `ldap`, `otel` and `parquet`, which `make setup` does not
# install; a person read their metadata.
NOT_INSTALLED: Final = {
    "bonsai": "MIT",
    "cloudpickle": "BSD-3-Clause",
    "dask": "BSD-3-Clause",
    "debtcollector": "Apache-2.0",
    "distributed": "BSD-3-Clause",
    "etcd3gw": "Apache-2.0",
    "fsspec": "BSD-3-Clause",
    "futurist": "Apache-2.0",
    "googleapis-common-protos": "Apache-2.0",
    "importlib-metadata": "Apache-2.0",
    "jinja2": "BSD-3-Clause",
    "lazy-importer": "Apache-2.0",
    "locket": "BSD-2-Clause",
    "msgpack": "Apache-2.0",
    "opentelemetry-exporter-http-transport": "Apache-2.0",
    "opentelemetry-exporter-otlp-common": "Apache-2.0",
    "opentelemetry-exporter-otlp-proto-common": "Apache-2.0",
    "opentelemetry-exporter-otlp-proto-http": "Apache-2.0",
    "opentelemetry-proto": "Apache-2.0",
    "partd": "BSD-3-Clause",
    "pbr": "Apache-2.0",
    "psutil": "BSD-3-Clause",
    "pyarrow": "Apache-2.0",
    "tblib": "BSD-2-Clause",
    "toolz": "BSD-3-Clause",
    "tornado": "Apache-2.0",
    "wrapt": "BSD-2-Clause",
    "zict": "BSD-3-Clause",
    "zipp": "MIT",
}


def licence_of(name: str) -> str:
    """Return the licence of a library as an SPDX expression; empty if it is not known."""
    try:
        found = Distribution.from_name(name).metadata
    except PackageNotFoundError:
        return NOT_INSTALLED.get(name, "")
    if name in _READ:
        return _READ[name]
    fields = [found.get_all(field) or [""] for field in ("License-Expression", "License")]
    line = "".join(fields[0] if any(fields[0]) else fields[1]).strip().partition("\n")[0].strip()
    if line in _TEXTS or _possible(line):
        return _TEXTS.get(line, line)
    named = [each.rpartition(" :: ")[2] for each in found.get_all("Classifier") or []]
    known = sorted({_CLASSIFIERS[each] for each in named if each in _CLASSIFIERS})
    return known[0] if len(known) == 1 else ""


def _possible(text: str) -> bool:
    """Whether a text is an identifier of SPDX, or an expression of several."""
    identifier = r"[A-Za-z0-9.]+(-[A-Za-z0-9.]+)+|MIT|ISC|0BSD|Zlib"
    return bool(re.fullmatch(rf"({identifier})( (AND|OR) ({identifier}))*", text))


def permitted(expression: str) -> bool:
    """Whether an SPDX expression permits use: one choice of it asks only for licences allowed.

    An expression with parentheses or exceptions is not permitted, because it is not understood.
    """
    choices = [choice.split(" AND ") for choice in expression.split(" OR ")]
    return any(all(each in ALLOWED for each in choice) for choice in choices)


def offered(project: Mapping[str, object]) -> list[str]:
    """Return what all extras of a project but `dev` ask for, and what the project itself does."""
    extras = project["optional-dependencies"]
    asked = project["dependencies"]
    assert isinstance(extras, dict)
    assert isinstance(asked, list)
    others = [text for extra, texts in extras.items() if extra != "dev" for text in texts]
    return [text for text in [*asked, *others] if not text.startswith("remuda[")]


def closure(requirements: Iterable[str]) -> set[str]:
    """Return the names of libraries that are asked for, and of all that these ask for in turn.

    Only what is needed on this machine and with this Python is followed.
    """
    waiting = [(Requirement(text), "") for text in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                waiting += [(Requirement(text), wanted) for text in requires(name)]
    return {name for name, _ in seen}


def requires(name: str) -> list[str]:
    """Return what an installed library asks for; nothing if it is not installed."""
    try:
        return Distribution.from_name(name).requires or []
    except PackageNotFoundError:
        return []


def findings(names: Iterable[str]) -> list[str]:
    """Return a line for each library whose licence does not permit its use, or is not known."""
    lines = []
    for name in sorted(names):
        licence = licence_of(name)
        if not licence:
            lines.append(f"{name}: neither its metadata nor tools/supply/licences.py say a licence")
        elif not permitted(licence):
            lines.append(f"{name}: {licence} is not among the licences that are allowed")
    return lines


def main() -> int:
    """Check the libraries that pyproject.toml offers; 0 if all may be used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = findings({*closure(offered(project)), *NOT_INSTALLED})
    for line in lines:
        print(f"licences: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
