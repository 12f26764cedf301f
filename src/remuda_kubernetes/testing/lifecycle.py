"""The node lifecycle controller: taints that say what a node's conditions say.

Source: the documentation of Kubernetes, "Taint nodes by condition".
"""

from __future__ import annotations

from typing import ClassVar, Final

from remuda_kubernetes.testing.mirrors import key_of
from remuda_kubernetes.testing.reconciling import Controller
from remuda_kubernetes.testing.statuses import Json

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_OURS: Final = (_NOT_READY, _UNREACHABLE, _UNSCHEDULABLE)


class NodeLifecycle(Controller):
    """Keeps the taints of every node."""

    watched: ClassVar[tuple[str, ...]] = ("nodes",)

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at a node."""
        self.loop.add(key_of(item))

    async def reconcile(self, key: str) -> None:
        """Add and remove taints."""
        node = self.mirrors["nodes"].items.get(key)
        if node is None:
            return
        taints = (node.get("spec") or {}).get("taints") or []
        wanted = _wanted(node)
        kept = [each for each in taints if each["key"] not in _OURS or _effect(each) in wanted]
        known = {_effect(each) for each in kept}
        added = [{"key": k, "effect": e} for k, e in wanted if (k, e) not in known]
        if added or len(kept) != len(taints):
            metadata = {"resourceVersion": node["metadata"]["resourceVersion"]}
            body = {"metadata": metadata, "spec": {"taints": [*kept, *added] or None}}
            self.mirrors["nodes"].put(await self.api.patch(f"/api/v1/nodes/{key}", body))


def _effect(taint: Json) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _wanted(node: Json) -> list[tuple[str, str]]:
    """Return the taints that a node should have by its conditions."""
    wanted = []
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.append((_UNSCHEDULABLE, "NoSchedule"))
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = {each["type"]: each["status"] for each in conditions}.get("Ready")
    if ready == "Unknown":
        wanted += [(_UNREACHABLE, "NoSchedule"), (_UNREACHABLE, "NoExecute")]
    elif ready == "False":
        wanted += [(_NOT_READY, "NoSchedule"), (_NOT_READY, "NoExecute")]
    elif ready is None:
        wanted.append((_NOT_READY, "NoSchedule"))
    return wanted
