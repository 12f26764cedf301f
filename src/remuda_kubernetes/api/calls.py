"""What the state machine asks of the server: bind, create, delete, evict, patch.

Every call returns an outcome; none raises for what the server answers. Calls about one object are
carried out in the order in which they were made. This module
makes the checks that an old server does not make.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from remuda_kubernetes.api import bodies
from remuda_kubernetes.api.attempts import (
    Attempt,
    Attempts,
    CallFigures,
    CallSettings,
    Try,
)
from remuda_kubernetes.api.connection import JSON, Answer, Requests
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.errors import CONFLICT, NOT_FOUND, ApiError
from remuda_kubernetes.api.leadership import Fence
from remuda_kubernetes.api.pace import Chance, Clock, SystemClock, system_chance
from remuda_kubernetes.objects.kinds import CLAIM, PERSISTENT_VOLUME, POD, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from remuda_kubernetes.objects.values import UNDECODABLE

_POD_ROOT: Final = "v1"
_ANSWER_LIMIT: Final = 16 << 20


class Calls:
    """The calls. ``fence`` is asked before each request whether we may still act."""

    def __init__(
        self,
        requests: Requests,
        served: Served,
        *,
        fence: Fence,
        settings: CallSettings | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        self._requests: Final = requests
        self._served: Final = served
        self._attempts: Final = Attempts(
            fence,
            settings or CallSettings(),
            clock=clock or SystemClock(),
            chance=chance or system_chance(),
        )

    @property
    def figures(self) -> CallFigures:
        """Return the counts of calls."""
        return self._attempts.figures

    # ---------------------------------------------------------------- pods

    async def bind(self, pod: Pod, node: str) -> Outcome:
        """Bind a pod to a node.

        CONFLICT: it has a node, is being deleted, or another pod has its name now.
        """
        body = bodies.binding(pod.namespace, pod.name, pod.uid, node)
        # A pod whose name was generated will not be followed by another with the same name.
        asks = not self._served.checks_uid and not pod.metadata.generate_name

        async def attempt(this: Try) -> Answer | Outcome:
            if asks and (other := await self._other(pod, this, "not bound")):
                return other
            try:
                answer = await self._send("POST", _path(pod, "binding"), body, this)
            except ApiError as error:
                if error.status == CONFLICT:
                    return await self._bound_before(pod, node, this, error)
                raise
            this.doubtful = True
            return (asks and await self._other(pod, this, "which was bound")) or answer

        return await self._attempts.carry_out("bind", _key(POD, pod), attempt)

    async def _other(self, pod: Pod, this: Try, what: str) -> Outcome | None:
        """Return that another pod has the name now, which servers before 1.27 do not see."""
        found = await self._get_pod(pod, this)
        if found.uid == pod.uid:
            return None
        text = f"pod {pod.key} was deleted and made anew, {what}: uid {found.uid}, not {pod.uid}"
        return Outcome(Result.CONFLICT, text, pod=found)

    async def _bound_before(self, pod: Pod, node: str, this: Try, error: ApiError) -> Outcome:
        """Return whether an attempt without an answer, of this call or before, bound the pod."""
        found = await self._get_pod(pod, this)
        if found.uid == pod.uid and found.spec.node_name == node:
            return Outcome(Result.DONE, pod=found)
        return Outcome(Result.CONFLICT, str(error), pod=found)

    async def create_pod(self, namespace: str, body: Mapping[str, Any]) -> Outcome:
        """Create a pod. ``body`` is the whole object; it has a name of its own.

        The outcome has the pod. CONFLICT: another pod has the name; the outcome has that one.
        """
        name = str(body["metadata"]["name"])
        content = msgspec.json.encode(body)

        async def attempt(this: Try) -> Answer | Outcome:
            try:
                answer = await self._send("POST", POD.path(_POD_ROOT, namespace), content, this)
            except ApiError as error:
                if error.status != CONFLICT:
                    raise
                found = await self._in_the_way(namespace, name, this)
                if this.doubtful and _is_made_of(found, body):
                    return Outcome(Result.DONE, pod=found)
                return Outcome(Result.CONFLICT, str(error), pod=found)
            return Outcome(Result.DONE, pod=_pod(answer))

        return await self._attempts.carry_out(
            "create", f"Pod/{namespace}/{name}", attempt, within=self._attempts.creations
        )

    async def _in_the_way(self, namespace: str, name: str, this: Try) -> Pod:
        """Return the pod that has the name; if it has just gone, the call may be tried again."""
        try:
            return _pod(await self._send("GET", POD.path(_POD_ROOT, namespace, name), None, this))
        except ApiError as error:
            if error.status == NOT_FOUND:
                raise ApiError(str(error), status=503) from None
            raise

    async def delete_pod(self, pod: Pod, *, grace_seconds: int | None = None) -> Outcome:
        """Ask for a pod's deletion; it ends after its time of grace.

        ``grace_seconds``: None leaves it to the pod. GONE: it is not there any more.
        """
        body = bodies.deletion(pod.uid, grace_seconds)

        async def attempt(this: Try) -> Answer | Outcome:
            try:
                return await self._send("DELETE", _path(pod), body, this)
            except ApiError as error:
                return await self._gone_or(pod, this, error)

        return await self._attempts.carry_out(
            "delete", _key(POD, pod), attempt, within=self._attempts.deletions
        )

    async def evict(self, pod: Pod) -> Outcome:
        """Evict a pod as far as disruption budgets allow; it ends after its time of grace.

        BLOCKED: a budget forbids it for now. GONE: it is not there any more. REFUSED also if the
        server has no evictions.

        The pod is looked at first: asked to evict a pod with another uid, servers try for ten
        seconds and more before they answer.
        """
        version = self._served.eviction
        if not version:
            return Outcome(Result.REFUSED, "the server has no evictions: delete the pod", 0)
        body = bodies.eviction(version, pod.namespace, pod.name, pod.uid)

        async def attempt(this: Try) -> Answer | Outcome:
            found = await self._get_pod(pod, this)
            if found.uid != pod.uid:
                return Outcome(Result.GONE, f"pod {pod.key} was deleted and made anew", pod=found)
            if found.deleted:
                return Outcome(Result.DONE, pod=found)
            try:
                return await self._send("POST", _path(pod, "eviction"), body, this)
            except ApiError as error:
                return await self._gone_or(pod, this, error)

        return await self._attempts.carry_out("evict", _key(POD, pod), attempt)

    async def _gone_or(self, pod: Pod, this: Try, error: ApiError) -> Outcome:
        """Return that another pod has the name now; raise the error if it is not so."""
        if error.status == CONFLICT:
            found = await self._get_pod(pod, this)
            if found.uid != pod.uid:
                return Outcome(Result.GONE, str(error), pod=found)
        raise error

    async def patch_pod_conditions(self, pod: Pod, conditions: tuple[PodCondition, ...]) -> Outcome:
        """Set conditions of a pod, others stay; in the background."""
        body = bodies.conditions(pod.uid, conditions)
        attempt = self._patch(_path(pod, "status"), body, bodies.STRATEGIC)
        return await self._attempts.carry_out(
            "patch status", _key(POD, pod), attempt, within=self._attempts.background
        )

    async def fail_pod(self, pod: Pod, reason: str, message: str) -> Outcome:
        """End a pod that has no node: its phase becomes Failed."""
        body = bodies.failed(pod.uid, reason, message)
        attempt = self._patch(_path(pod, "status"), body, bodies.STRATEGIC)
        return await self._attempts.carry_out("fail", _key(POD, pod), attempt)

    async def annotate_pod(self, pod: Pod, annotations: Mapping[str, str]) -> Outcome:
        """Add annotations to a pod; in the background."""
        attempt = self._patch(_path(pod), bodies.annotated(pod.uid, annotations), bodies.MERGE)
        return await self._attempts.carry_out(
            "annotate", _key(POD, pod), attempt, within=self._attempts.background
        )

    # ---------------------------------------------------------------- volumes

    async def give_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Outcome:
        """Bind a volume to a claim, if the volume is still as seen; else CONFLICT."""
        path = self._served.path(PERSISTENT_VOLUME, "", volume.name)
        attempt = self._patch(path, bodies.claim_ref(volume, claim), bodies.MERGE)
        return await self._attempts.carry_out(
            "bind volume", _key(PERSISTENT_VOLUME, volume), attempt
        )

    async def select_node(self, claim: PersistentVolumeClaim, node: str) -> Outcome:
        """Have a claim's volume made for a node, if the claim is still as seen; else CONFLICT."""
        path = self._served.path(CLAIM, claim.namespace, claim.name)
        attempt = self._patch(path, bodies.selected_node(claim, node), bodies.MERGE)
        return await self._attempts.carry_out("select node", _key(CLAIM, claim), attempt)

    async def read(self, path: str) -> Outcome:
        """Return any object in the outcome. GONE: there is none."""

        async def attempt(this: Try) -> Answer | Outcome:
            answer = await self._send("GET", path, None, this)
            return Outcome(Result.DONE, content=answer.body)

        return await self._attempts.carry_out("read", path, attempt)

    # ---------------------------------------------------------------- requests

    def _patch(self, path: str, body: bytes, content_type: str) -> Attempt:
        async def attempt(this: Try) -> Answer | Outcome:
            return await self._send("PATCH", path, body, this, content_type)

        return attempt

    async def _send(
        self, method: str, path: str, body: bytes | None, this: Try, content_type: str = JSON
    ) -> Answer:
        return await self._requests.request(
            method,
            path,
            body=body,
            content_type=content_type,
            timeout=this.seconds,
            limit=_ANSWER_LIMIT,
        )

    async def _get_pod(self, pod: Pod, this: Try) -> Pod:
        return _pod(await self._send("GET", _path(pod), None, this))


def _path(pod: Pod, part: str = "") -> str:
    path = POD.path(_POD_ROOT, pod.namespace, pod.name)
    return f"{path}/{part}" if part else path


def _key(kind: Kind, value: KubernetesObject) -> str:
    return f"{kind.name}/{value.namespace}/{value.name}"


def _pod(answer: Answer) -> Pod:
    try:
        return msgspec.json.decode(answer.body, type=Pod)
    except UNDECODABLE as error:
        raise ApiError(f"the server answered with what is no pod: {error}", status=500) from None


def _is_made_of(pod: Pod, body: Mapping[str, Any]) -> bool:
    """Whether a pod that is there is the one that an attempt without an answer asked for."""
    metadata = body["metadata"]
    owners = {each.get("uid") for each in metadata.get("ownerReferences") or ()}
    return (
        _includes(pod.labels, metadata.get("labels"))
        and _includes(pod.annotations, metadata.get("annotations"))
        and owners <= {each.uid for each in pod.metadata.owner_references or ()}
        and not pod.deleted
    )


def _includes(found: Mapping[str, str], wanted: Mapping[str, str] | None) -> bool:
    return (wanted or {}).items() <= found.items()
