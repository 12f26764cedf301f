"""The OpenAPI document as the tests of a served process use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).parents[2] / "src/remuda/edges/rest/openapi.json"


def served_document() -> dict[str, Any]:
    """Return the document that the package has."""
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found
