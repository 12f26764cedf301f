"""Has the scheduler ask again where a change may help, and only there (SI-10, EXT-15)."""

from __future__ import annotations

from remuda_kubernetes.shim import asking, nodes
from remuda_kubernetes.shim.state import Phase, State


def wake(state: State) -> None:
    """Tell the scheduler which refused asks and which nodes to look at again."""
    renamed = state.cluster.take_renamed()
    woken = state.cluster.take_woken()
    if state.phase is not Phase.RUNNING:
        return
    for uid in renamed:
        task = state.tasks.get(uid)
        if task is not None:
            asking.renew(state, task)
    for name in sorted(woken.classes):
        asking.ask_class(state, name)
    if woken.nodes:
        nodes.look_again(state, sorted(woken.nodes))
