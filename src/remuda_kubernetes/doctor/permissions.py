"""What the accounts of an installation may not do, though they need it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remuda_kubernetes.doctor.findings import Finding, Severity
from remuda_kubernetes.doctor.sight import Asked, Need, Sight

_AREA: Final = "permissions"


def findings(sight: Sight) -> Iterator[Finding]:
    """Yield a finding for each kind of object about which rights are missing."""
    for each in sight.rights:
        whose = f"ServiceAccount {each.account}" if each.account else "you"
        if each.failure:
            yield Finding(
                Severity.WARNING,
                _AREA,
                whose,
                f"the rights for the {each.part} could not be asked about: {each.failure}",
                "let somebody run this who may create subjectaccessreviews",
            )
            continue
        yield from _missing(each, whose)


def _missing(asked: Asked, whose: str) -> Iterator[Finding]:
    kinds: dict[Need, list[str]] = {}
    for need in asked.missing:
        kind = Need(need.group, need.resource, "", need.namespace, need.name)
        kinds.setdefault(kind, []).append(need.verb)
    for kind, verbs in sorted(kinds.items()):
        resource = f"{kind.resource}.{kind.group}" if kind.group else kind.resource
        named = f" named {kind.name}" if kind.name else ""
        scope = f"in namespace {kind.namespace}" if kind.namespace else "in the whole cluster"
        yield Finding(
            Severity.ERROR if asked.account else Severity.WARNING,
            _AREA,
            whose,
            f"may not {', '.join(verbs)} {resource}{named} {scope}, which the {asked.part} needs",
            "apply the roles that `remuda kubernetes manifests` prints"
            if asked.account
            else "run Remuda with the account that `remuda kubernetes manifests` makes, or get the"
            " right",
        )
