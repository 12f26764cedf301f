"""ConfigMaps as requests, judged with the scheduler's own reader of queue files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remuda_kubernetes.admission.decide import validate
from remuda_kubernetes.admission.queue_files import faults_of
from remuda_kubernetes.admission.reviews import Answer
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.values import convert
from tests.kubernetes.admission.asking import OWN, Object, policy, request


def config_map(name: str, **data: str) -> Object:
    """Return a ConfigMap of the controller's namespace."""
    return {"metadata": {"name": name, "namespace": OWN}, "data": data}


def judged(changed: Object, *, before: Sequence[Object] = (), **how: Any) -> Answer:
    """Return the answer to a change of a ConfigMap where others are there already."""
    known = {each["metadata"]["name"]: convert(ConfigMap, each) for each in before}
    how = {"namespace": OWN, "kind": "ConfigMap", **how}
    around = Surroundings(config_maps=known)
    return validate(request(changed, **how), policy(), around, faults_of)
