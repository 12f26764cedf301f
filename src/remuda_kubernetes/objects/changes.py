"""What a reflector tells of an object: it came, it changed, it went."""

from __future__ import annotations

from typing import NamedTuple

from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject


class Change(NamedTuple):
    """One change of one object.

    ``old`` is what was delivered last, None if the object is new. ``new`` is None if the object is
    gone, or no longer matches what the reflector asks for. An object that was deleted and made anew
    under its name comes as two changes, so that ``old`` and ``new`` have the same uid.
    """

    kind: Kind
    old: KubernetesObject | None
    new: KubernetesObject | None
