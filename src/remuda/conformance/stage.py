"""The surroundings of one check: resource managers with unique names, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from remuda.conformance import requests
from remuda.conformance.endpoint import Endpoint
from remuda.conformance.failures import CheckFailedError, Failure, NotApplicableError
from remuda.conformance.rm import RM
from remuda.conformance.stream import Ended
from remuda.conformance.wording import words
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

A = TypeVar("A")


class Stage:
    """The surroundings of one run of one check.

    Args:
        endpoint: the scheduler.
        prefix: what the names of its resource managers start with; nobody else uses it.
        rules: of the check; the first is named where an expectation names none.
    """

    def __init__(self, endpoint: Endpoint, prefix: str, rules: Sequence[str]) -> None:
        self.endpoint = endpoint
        self.prefix = prefix
        self._rule = rules[0]
        self._rules = " ".join(rules)
        self._managers: list[RM] = []

    def unregistered(self) -> RM:
        """Return a resource manager with a new name that did not register yet."""
        rm = RM(self.endpoint, f"{self.prefix}-{len(self._managers) + 1}", self._rule)
        self._managers.append(rm)
        return rm

    def rm(
        self,
        nodes: dict[str, requests.Amounts] | None = None,
        apps: Sequence[str | si.AddApplicationRequest] = (),
        *,
        config: str = requests.QUEUES,
        extra: dict[str, str] | None = None,
    ) -> RM:
        """Return a registered resource manager with open streams, these nodes and applications.

        Raises: CheckFailedError if any of that is refused.
        """
        rm = self.unregistered()
        rm.register(config, extra=extra)
        rm.open()
        rm.start(nodes, apps)
        return rm

    def call(self, method: Callable[..., A], request: Any, rule: str) -> A:
        """Return the answer of an extension service, which has to succeed.

        Raises: CheckFailedError, NotApplicableError.
        """
        answer = self.endpoint.call(method, request)
        if isinstance(answer, Ended):
            raise self.failure(rule, "an answer", answer.text(), _sent(request))
        return answer

    def refusal(self, method: Callable[..., A], request: Any, rule: str) -> Ended:
        """Return the refusal of a call of an extension service; the call has to be refused.

        Raises: CheckFailedError, NotApplicableError.
        """
        answer = self.endpoint.call(method, request)
        if not isinstance(answer, Ended):
            raise self.failure(rule, "an error", "the call succeeded", _sent(request))
        return answer

    def get(self, path: str, rm: RM, rule: str) -> Any:
        """Return the body of a GET about a resource manager, which has to succeed.

        Raises: CheckFailedError, NotApplicableError.
        """
        mark = "&" if "?" in path else "?"
        address = f"{path}{mark}rm={rm.rm_id}"
        try:
            status, body = self.endpoint.get(address)
        except (OSError, ValueError) as error:
            raise self.failure(rule, "an answer in JSON", str(error), f"GET {address}") from None
        if status != 200:
            raise self.failure(rule, "status 200", f"status {status}", f"GET {address}")
        return body

    def require(self, truth: bool, rule: str, expected: str, came: object, sent: str = "") -> None:
        """Fail the check unless a condition holds. Raises: CheckFailedError."""
        if not truth:
            raise self.failure(rule, expected, str(came), sent)

    def failure(self, rule: str, expected: str, came: str, sent: str = "") -> CheckFailedError:
        """Return the error with the expected elements and those that came instead."""
        return CheckFailedError(Failure(rule, expected, (came,), (sent,) if sent else ()))

    def audit(self) -> None:
        """Fail the check if an unexpected element came during the whole check.

        Raises: CheckFailedError.
        """
        for rm in self._managers:
            rm.quiet(self._rules)

    def tidy_up(self) -> None:
        """Remove everything that the check added, as far as the other side allows it."""
        for rm in self._managers:
            rm.hang_up()
            if self.endpoint.capabilities is not None:
                try:
                    self.endpoint.call(
                        self.endpoint.extension.UnregisterResourceManager,
                        ext.UnregisterRequest(rm_id=rm.rm_id, reason="the check is over"),
                    )
                except NotApplicableError:
                    return


def _sent(request: Any) -> str:
    return f"{type(request).__name__} {words(request)}"
