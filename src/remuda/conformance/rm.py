"""A resource manager of a check: it registers, sends requests, and has common first steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from remuda.conformance import requests
from remuda.conformance.conversation import Conversation
from remuda.conformance.expectations import (
    accepted,
    identity_of,
    node_accepted,
    placed,
    updated,
)
from remuda.conformance.stream import Ended
from remuda.conformance.wording import cut, words
from remuda.si.pb import si_pb2 as si

# What only the node of a fence has.
_FENCE: Final = {"fence": 1}


class RM(Conversation):
    """One resource manager of a check."""

    def register(
        self,
        config: str = requests.QUEUES,
        *,
        extra: dict[str, str] | None = None,
        build: dict[str, str] | None = None,
        rule: str = "RM-2",
    ) -> None:
        """Register, which has to succeed; the streams stay as they are.

        Raises: CheckFailedError.
        """
        refused = self.try_register(config, extra=extra, build=build)
        if refused is not None:
            raise self.failure(rule, "the registration succeeds", [refused.text()])

    def try_register(
        self,
        config: str = requests.QUEUES,
        *,
        extra: dict[str, str] | None = None,
        build: dict[str, str] | None = None,
        group: str = "",
    ) -> Ended | None:
        """Register; return the refusal, None if there was none."""
        request = si.RegisterResourceManagerRequest(
            rmID=self.rm_id,
            version="1.5.1",
            policyGroup=group,
            config=config,
            extraConfig=extra or {},
            buildInfo=build or {},
        )
        shown = si.RegisterResourceManagerRequest(
            rmID=self.rm_id, policyGroup=group, extraConfig=extra or {}, buildInfo=build or {}
        )
        queues = "" if config == requests.QUEUES else f" with config {config!r}"
        self.note("RegisterResourceManager", cut(f"{words(shown)}{queues}"))
        return self.endpoint.register(request)

    def nodes(self, *nodes: si.NodeInfo) -> None:
        """Send a request with nodes."""
        self.send(si.NodeRequest(nodes=nodes))

    def applications(
        self, *new: si.AddApplicationRequest, remove: Iterable[si.RemoveApplicationRequest] = ()
    ) -> None:
        """Send a request with applications to add and to remove."""
        self.send(si.ApplicationRequest(new=new, remove=remove))

    def remove(self, *names: str) -> None:
        """Remove applications."""
        self.applications(remove=[si.RemoveApplicationRequest(applicationID=n) for n in names])

    def asks(self, *asks: si.AllocationAsk) -> None:
        """Send a request with asks."""
        self.send(si.AllocationRequest(asks=asks))

    def existing(self, *allocations: si.Allocation) -> None:
        """Send a request with allocations that exist already."""
        self.send(si.AllocationRequest(allocations=allocations))

    def release(self, *releases: si.AllocationRelease | si.AllocationAskRelease) -> None:
        """Send a request with releases of allocations and asks.

        Allocations have the identities that the scheduler gave them, if it gave any.
        """
        both = si.AllocationReleasesRequest(
            allocationsToRelease=[
                self._named(r) for r in releases if isinstance(r, si.AllocationRelease)
            ],
            allocationAsksToRelease=[r for r in releases if isinstance(r, si.AllocationAskRelease)],
        )
        self.send(si.AllocationRequest(releases=both))

    def start(
        self,
        nodes: dict[str, requests.Amounts] | None = None,
        apps: Sequence[str | si.AddApplicationRequest] = (),
    ) -> None:
        """Add nodes and applications; all have to be accepted.

        Raises: CheckFailedError.
        """
        if nodes:
            self.nodes(*(requests.node(name, size) for name, size in nodes.items()))
            self.expect(*map(node_accepted, nodes), rule="NODE-1", any_order=True)
        if apps:
            new = [requests.application(app) if isinstance(app, str) else app for app in apps]
            self.applications(*new)
            names = [app.applicationID for app in new]
            self.expect(*map(accepted, names), rule="SI-21", any_order=True)

    def fence(self, rule: str = "", queue: str = "root.a", state: str = "Starting") -> None:
        """Wait until the scheduler would have placed the ask, and check that it did not.

        A later application of the same queue asks for a type that only one further node has. The
        queue serves first come, first served, so every placeable ask comes before it. ``state``:
        the state in the message about an application that got its first allocation.

        Raises: CheckFailedError.
        """
        name = f"fence-{next(self.numbers)}"
        self.start({name: _FENCE}, [requests.application(name, queue)])
        self.asks(requests.ask(name, name, _FENCE))
        self.expect(
            updated(name, "Accepted"),
            updated(name, state),
            placed(name, name, _FENCE, name),
            rule=rule,
        )

    def place(
        self, app: str, key: str, size: requests.Amounts, node: str | None = None, count: int = 1
    ) -> list[str]:
        """Ask for the first allocations of an application, wait for them, return their identities.

        Raises: CheckFailedError.
        """
        self.asks(requests.ask(app, key, size, count))
        states = ("Accepted", "Starting", "Running")[: count + 1]
        found = self.expect(
            *(updated(app, state) for state in states),
            *(placed(app, key, size, node, number=number) for number in range(count)),
            rule="SI-32",
        )
        return [identity_of(heard.element) for heard in found[len(states) :]]

    def _named(self, release: si.AllocationRelease) -> si.AllocationRelease:
        """Return a release with the identities that the scheduler gave."""
        for field in ("UUID", "allocationID"):
            name = (release.applicationID, getattr(release, field))
            setattr(release, field, self.identities.get(name, name[1]))
        return release
