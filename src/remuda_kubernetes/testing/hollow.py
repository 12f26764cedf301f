"""A cluster without machines: hollow kubelets and controllers beside an API server, in a thread.

with HollowCluster(server.address, nodes=[hollow_node("n1")]):
...  # pods that are bound run, ReplicaSets have pods, budgets are counted
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from remuda_kubernetes.testing.client import Api
from remuda_kubernetes.testing.controllers import ALL, Controllers
from remuda_kubernetes.testing.kubelet import Habits, HollowKubelet
from remuda_kubernetes.testing.statuses import Json

T = TypeVar("T")
_READY_SECONDS = 60.0


class HollowCluster:
    """Kubelets and controllers of an API server; it works while the context lasts.

    ``server``: an address, or the path of a kubeconfig. ``nodes`` are registered; without any the
    pods of all nodes run. ``controllers``: names of `controllers.ALL`.
    """

    def __init__(
        self,
        server: str | Path,
        *,
        token: str | None = None,
        nodes: Sequence[Json] = (),
        habits: Habits | None = None,
        controllers: Iterable[str] = tuple(ALL),
        kubelets: bool = True,
    ) -> None:
        self._server = server
        self._token = token
        self._nodes = nodes
        self._habits = habits or Habits()
        self._names = tuple(controllers)
        self._with_kubelets = kubelets
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._kubelet: HollowKubelet | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Start; returns when the loop runs, not when the nodes are there."""
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(ready)), name="hollow-cluster", daemon=True
        )
        self._thread.start()
        ready.result(_READY_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop. Raises what ended the kubelets or controllers before."""
        if self._loop is not None and self._stopping is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread is not None:
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def end(self, namespace: str, name: str, exit_code: int = 0) -> None:
        """End the containers of a running pod. Raises: ApiFailure."""
        assert self._kubelet is not None
        self._call(self._kubelet.end(namespace, name, exit_code))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_READY_SECONDS)

    async def _run(self, ready: concurrent.futures.Future[None]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self._api() as api:
                self._kubelet = HollowKubelet(api, self._nodes, self._habits)
                work: list[Coroutine[Any, Any, object]] = [self._stopping.wait()]
                if self._with_kubelets:
                    work.append(self._kubelet.run())
                if self._names:
                    work.append(Controllers(api, self._names).run())
                ready.set_result(None)
                await _first(work)
            await _close_left()
        except BaseException as error:  # noqa: BLE001 - raised where the context ends
            self._failure = error
            if not ready.done():
                ready.set_exception(error)

    def _api(self) -> Api:
        if isinstance(self._server, Path):
            return Api.from_kubeconfig(self._server)
        return Api(self._server, token=self._token)


async def _close_left() -> None:
    """Close the connections of requests that were cancelled while they were being opened.

    The HTTP library does not know them any more. asyncio has no public list of its transports.
    """
    left: dict[int, asyncio.Transport] = getattr(asyncio.get_running_loop(), "_transports", {})
    for transport in list(left.values()):
        transport.abort()
    await asyncio.sleep(0)


async def _first(work: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run until the first ends, and cancel the others. Raises what the first raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for task in done:
        task.result()
