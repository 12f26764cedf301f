"""Whether a ConfigMap of the scheduler may be stored: all that is wrong with it, at once.

A change is refused for what it makes wrong. What was wrong before is only told, so that one fault
can be corrected after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import (
    CREATE,
    INVALID,
    UPDATE,
    Answer,
    RefusedError,
    Request,
    content_of,
)
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.values import ObjectError, read
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.configuration import Configuration, first_configuration
from remuda_kubernetes.translation.findings import Finding

# Returns what is wrong with a queue file.
Judge = Callable[[str], tuple[Finding, ...]]
OURS: Final = (names.DEFAULTS_MAP, names.CONFIGS_MAP)


def review_config_map(
    request: Request, policy: Policy, around: Surroundings, judge: Judge
) -> Answer:
    """Return the answer to a request about a ConfigMap. ``judge`` is asked about changed queues."""
    if request.space != policy.own_namespace or request.operation not in {CREATE, UPDATE}:
        return Answer()
    name = request.name or content_of(request.object).get("metadata", {}).get("name", "")
    if name not in OURS:
        return Answer()
    try:
        changed = read(ConfigMap, bytes(request.object))
    except ObjectError as error:
        raise RefusedError(f"the object cannot be read: {error}", INVALID) from None
    before = _configuration(around, None)
    after = _configuration(around, changed)
    queues = judge(after.settings.queues) if _differ(before, after) else ()
    new = [each for each in after.findings if each.error and each not in before.findings]
    new += [each for each in queues if each.error]
    told = [each for each in (*after.findings, *queues) if each not in new]
    warnings = tuple(str(each) for each in told)
    if not new:
        return Answer(warnings=warnings)
    faults = "".join(f"\n{number}. {each}" for number, each in enumerate(new, 1))
    return Answer(
        allowed=False,
        message=f"the scheduler would refuse this configuration:{faults}",
        code=INVALID,
        warnings=warnings,
    )


def _configuration(around: Surroundings, changed: ConfigMap | None) -> Configuration:
    """Return the configuration of the known ConfigMaps, or with a changed one in its place."""
    maps = dict(around.config_maps)
    if changed is not None:
        maps[changed.name] = changed
    return first_configuration(*(maps.get(name) for name in OURS))


def _differ(before: Configuration, after: Configuration) -> bool:
    return before.settings.queues != after.settings.queues
