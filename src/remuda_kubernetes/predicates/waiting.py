"""The classes of waiting pods: their names, who is in them, and what refused them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.predicates.classes import (
    FilterSettings,
    PodClass,
    acquire_numbers,
    class_name,
    compile_class,
    decisive_labels,
    release_numbers,
)
from remuda_kubernetes.predicates.filters import plan
from remuda_kubernetes.predicates.refusals import Refusal
from remuda_kubernetes.predicates.selection import Selector, node_choice
from remuda_kubernetes.predicates.topology import Topology
from remuda_kubernetes.predicates.wakes import Wakes, Woken
from remuda_kubernetes.predicates.workloads import Workloads

# So many classes without a waiting pod are kept, in case equal pods follow.
_IDLE_LIMIT: Final = 256


class Waiting:
    """Classes by name, and the pods that are in them."""

    def __init__(
        self, topology: Topology, workloads: Workloads, wakes: Wakes, settings: FilterSettings
    ) -> None:
        self._topology = topology
        self._workloads = workloads
        self._wakes = wakes
        self._settings = settings
        added = settings.added_affinity
        self._added = node_choice(added.required) if added is not None else None
        self._keys = topology.keys
        self._pods: dict[str, tuple[Pod, PodClass]] = {}
        self._classes: dict[str, PodClass] = {}
        self._idle: dict[str, None] = {}
        self._renamed: set[str] = set()

    # -------------------------------------------------------------------------------- names

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of a pod, which waits from now on. Raises: ObjectError."""
        known = self._pods.get(pod.uid)
        if known is not None and known[0] is pod:
            return known[1]
        found = self._find(pod)
        if known is None or known[1] is not found:
            self._join(pod, found)
        else:
            self._pods[pod.uid] = (pod, found)
        return found

    def _join(self, pod: Pod, pod_class: PodClass) -> None:
        """Put a pod into a class, and out of the one it was in."""
        # First in, then out: leaving may discard classes that are idle.
        pod_class.waiting += 1
        self._idle.pop(pod_class.name, None)
        self.drop(pod.uid)
        self._pods[pod.uid] = (pod, pod_class)

    def _find(self, pod: Pod) -> PodClass:
        labels = decisive_labels(pod, self._keys, self._settings)
        name = class_name(pod, pod_requests(pod), labels, self._settings)
        found = self._classes.get(name)
        if found is None:
            found = compile_class(name, pod, labels, self._settings, self._added)
            acquire_numbers(found, self._topology, self._settings, self._default_selector(pod))
            plan(found)
            self._classes[name] = found
            for term in found.terms:
                self._keys.add(term)
            self.part()
        return found

    def _default_selector(self, pod: Pod) -> Selector | None:
        """Return what default constraints count for a pod; None if they do not apply."""
        if pod.spec.topology_spread_constraints or not self._settings.default_constraints:
            return None
        return self._workloads.selector(pod)

    def drop(self, uid: str) -> None:
        """Note that a pod waits no longer."""
        known = self._pods.pop(uid, None)
        self._renamed.discard(uid)
        if known is None:
            return
        pod_class = known[1]
        pod_class.waiting -= 1
        if pod_class.waiting == 0:
            self._idle[pod_class.name] = None
            if len(self._idle) > _IDLE_LIMIT:
                self._discard(next(iter(self._idle)))

    def _discard(self, name: str) -> None:
        del self._idle[name]
        pod_class = self._classes.pop(name)
        release_numbers(pod_class, self._topology)
        for _, domains in pod_class.held:
            domains.refused.pop(name, None)
        for term in pod_class.terms:
            self._keys.discard(term)
        self._wakes.forget(pod_class.refused_by)

    def part(self) -> None:
        """Part pods that differ in labels which some anti-affinity term has come to look at."""
        keys = self._keys.new
        if not keys:
            return
        self._keys.new = set()
        for uid, (pod, old) in list(self._pods.items()):
            if keys.isdisjoint(pod.labels):
                continue
            found = self._find(pod)
            if found is not old:
                self._join(pod, found)
                self._renamed.add(uid)

    def take_renamed(self) -> dict[str, str]:
        """Return pods whose class has another name than class_of said, with the new name."""
        if not self._renamed:
            return {}
        taken = {uid: self._pods[uid][1].name for uid in self._renamed}
        self._renamed.clear()
        return taken

    # ------------------------------------------------------------------------------ refusals

    def refused(self, pod_class: PodClass, refusal: Refusal) -> None:
        """Remember which filter refused a class."""
        pod_class.refused_by = self._wakes.note(pod_class.refused_by, refusal.filter)

    def wake(self, filters: int, *, namespace: str | None = None) -> None:
        """Wake the classes that some filters (bits) refused."""
        if not any(each & filters for each in self._wakes.refusing):
            return
        for each in self._classes.values():
            if each.refused_by & filters and namespace in {None, each.namespace}:
                self._wakes.wake_class(each.name)

    def wake_claims(self, filters: int, concerned: Callable[[str], bool]) -> None:
        """Wake the classes that some filters refused and that use a claim that is concerned."""
        if not any(each & filters for each in self._wakes.refusing):
            return
        for each in self._classes.values():
            if each.refused_by & filters and any(concerned(use.key) for use in each.claims):
                self._wakes.wake_class(each.name)

    def wake_node(self, name: str, filters: int) -> None:
        """Wake a node if some filters refused any class."""
        if name:
            self._wakes.wake_node_for(name, filters)

    def take_woken(self) -> Woken:
        """Return what changes may have helped since the last call.

        The reasons of their refusals are forgotten, since the scheduler will ask about them again.
        """
        taken = self._wakes.take()
        if not taken.classes:
            return taken
        waiting = set()
        for name in taken.classes:
            pod_class = self._classes.get(name)
            if pod_class is not None:
                self._wakes.forget(pod_class.refused_by)
                pod_class.refused_by = 0
                if pod_class.waiting:
                    waiting.add(name)
        return Woken(frozenset(waiting), taken.nodes)

    def filters_that_refused(self, name: str) -> int:
        """Return the filters (bits) that refused a class since it was last woken."""
        pod_class = self._classes.get(name)
        return pod_class.refused_by if pod_class is not None else 0

    def workloads_changed(self, namespace: str) -> None:
        """Let default constraints count what the services and controllers choose now."""
        if not self._settings.default_constraints:
            return
        for each in self._classes.values():
            if each.namespace == namespace and not each.pod.spec.topology_spread_constraints:
                release_numbers(each, self._topology)
                selector = self._default_selector(each.pod)
                acquire_numbers(each, self._topology, self._settings, selector)
                plan(each)
                self._wakes.wake_class(each.name)
