"""Generate the OpenAPI document that the service shows from docs/spec/openapi.yaml.

--check tells whether it is up to date. It is committed, so that the package has it without a YAML
reader having to take its time. Added to the document are the answers that every path has in common.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from remuda.edges.rest.transport.access import is_for_admins, is_open

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "docs/spec/openapi.yaml"
DOCUMENT = ROOT / "src/remuda/edges/rest/openapi.json"

_ERROR: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
_SHARED: Final[dict[str, Any]] = {
    "Unauthorized": {
        "description": "A token is needed, if the service was started with identities.",
        "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
        "content": _ERROR,
    },
    "Forbidden": {"description": "The role of an administrator is needed.", "content": _ERROR},
}


def document() -> dict[str, Any]:
    """Return the document as it is served."""
    found: dict[str, Any] = yaml.safe_load(SOURCE.read_text())
    # Where it is served from is where the API is.
    found["servers"] = [{"url": "/"}]
    components = found["components"]
    components["responses"].update(_SHARED)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{}, {"token": []}]
    for path, methods in found["paths"].items():
        for operation in methods.values():
            if is_open(path):
                operation["security"] = []
                continue
            answers = operation["responses"]
            answers["401"] = {"$ref": "#/components/responses/Unauthorized"}
            if is_for_admins(path):
                answers["403"] = {"$ref": "#/components/responses/Forbidden"}
    return found


def main() -> int:
    """Write the document, or with --check compare it; 1 if it differs."""
    fresh = json.dumps(document(), indent=1) + "\n"
    if DOCUMENT.exists() and DOCUMENT.read_text() == fresh:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{DOCUMENT.relative_to(ROOT)} is not up to date: run make openapi")
        return 1
    DOCUMENT.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
