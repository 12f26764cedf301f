"""A served process against its OpenAPI document, with requests that a program thought of."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from typing import Any, cast

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.openapi import served_document
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.waiting import wait

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 6
ANY_NAME = {"type": "string", "minLength": 1}

# Of these an answer takes as long as it was asked to, or has no end.
SLOW = frozenset(
    {"/ws/v1/events/stream"}
    | {f"/debug/pprof/{name}" for name in ("allocs", "block", "mutex", "profile", "trace")}
)

schema = schemathesis.openapi.from_dict(served_document())
found: list[Any] = [each.ok() for each in cast("Any", schema.get_all_operations())]
operations: dict[str, Any] = {each.path: each for each in found if each.path not in SLOW}


def can_be_wrong(operation: Any) -> bool:
    """Whether a request can be at odds with the document; any text is a name."""
    names = [each for each in operation.path_parameters if each.definition["schema"] != ANY_NAME]
    return bool(names or len(operation.query) or len(operation.body))


class Known:
    """A served demo; names of what is in it, for requests that get further than 404."""

    def __init__(self, served: Served) -> None:
        self.address = f"http://{served.rest}"
        self.client = served.client
        self._turn = itertools.count()
        self.names: dict[str, list[str]] = {"partition": ["default"], "number": ["1"]}
        deadline = time.monotonic() + 20
        while not (nodes := [each for each in self._get("nodes") if each.get("allocations")]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        running = [each["allocations"][0]["applicationId"] for each in nodes]
        self.names["key"] = [each["allocations"][0]["allocationKey"] for each in nodes]
        self.names["node"] = [each["nodeID"] for each in nodes]
        self.names["application"] = sorted(set(running))
        self.names["queue"] = ["root", "ROOT", "root.production", "root.production.web"]
        self.names["user"] = [each["userName"] for each in self._get("usage/users")]
        self.names["group"] = [each["groupName"] for each in self._get("usage/groups")]

    def _get(self, path: str) -> Any:
        answer: httpx2.Response = self.client.get(f"{PARTITION}/{path}")
        found = answer.json()
        return found if isinstance(found, list) else []

    def put_into(self, case: schemathesis.Case[Any]) -> None:
        """Replace names in a path by ones that exist, of three requests in two."""
        turn = next(self._turn)
        if turn % 3:
            for key in case.path_parameters:
                names = self.names.get(key)
                if names:
                    case.path_parameters[key] = names[turn % len(names)]
            case.query.pop("rm", None)


class KnownCommand:
    """A served local node with a command that has ended. What is asked for harms nobody."""

    def __init__(self, served: Served, secret: str) -> None:
        self.address = f"http://{served.rest}"
        self.client = served.client
        self._secret = f"Bearer {secret}"
        self._turn = itertools.count()
        body = {"arguments": ["echo", "hello"], "resources": {"vcore": "10m"}}
        headers = {"Authorization": self._secret}
        answer = self.client.post("/ws/v1/local/commands", json=body, headers=headers)
        assert answer.status_code == 200
        path = "/ws/v1/local/command/echo-1"
        wait(lambda: self.client.get(path, headers=headers).json()["stage"] == "over")

    def put_into(self, case: schemathesis.Case[Any]) -> None:
        """Show the secret, of three requests in two, and name the command; run nothing else."""
        turn = next(self._turn)
        if turn % 3:
            case.headers["Authorization"] = self._secret
        if turn % 2 and "command" in case.path_parameters:
            case.path_parameters["command"] = "echo-1"
        if str(case.query.get("wait")).isdigit():
            case.query["wait"] = 0  # and not half a minute
        body = case.body
        arguments = body.get("arguments") if isinstance(body, dict) else None
        if isinstance(body, dict) and isinstance(arguments, list):
            if all(isinstance(each, str) for each in arguments):
                body["arguments"] = ["true"]
            if turn % 2:
                body |= {"resources": {"vcore": "10m"}, "directory": "/", "name": "", "gang": 1}


@pytest.fixture(scope="module")
def known_cluster() -> Iterator[Known]:
    with Served(*FREE_PORTS, "--demo") as served:
        yield Known(served)
        assert "Traceback" not in served.log


@pytest.fixture(scope="module")
def known_command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnownCommand]:
    own = tmp_path_factory.mktemp("local")
    with Served(*FREE_PORTS, "--local-node", "--local-dir", str(own)) as served:
        yield KnownCommand(served, (own / "token").read_text().strip())
        assert "Traceback" not in served.log


@pytest.fixture
def known(path: str, request: pytest.FixtureRequest) -> Known | KnownCommand:
    """What is served that has a path."""
    name = "known_command" if path.startswith("/ws/v1/local/") else "known_cluster"
    found = request.getfixturevalue(name)
    assert isinstance(found, Known | KnownCommand)
    return found


REQUESTS = [
    *((path, GenerationMode.POSITIVE) for path in operations),
    *((path, GenerationMode.NEGATIVE) for path, each in operations.items() if can_be_wrong(each)),
]


@pytest.mark.remuda_rule("REST-17", "REST-12", "REST-123")
@pytest.mark.parametrize("path, mode", REQUESTS)
def test_answers_are_what_the_document_says(
    path: str, mode: GenerationMode, known: Known | KnownCommand
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operations[path].as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case[Any]) -> None:
        known.put_into(case)
        # With ``fields`` objects are shown in part (REST-122).
        partial = "fields" in (case.query or {})
        # All objects are looked at once a minute at most (REST-55).
        limited = path == "/debug/pprof/heap"
        left_out = (response_schema_conformance,) * partial + (not_a_server_error,) * limited
        checks = [each for each in CHECKS if each not in left_out]
        answer = case.call_and_validate(base_url=known.address, checks=checks)
        assert answer.status_code < 500 or (limited and answer.status_code == 503)
        assert str(answer.status_code) in operations[path].definition.raw["responses"]

    ask()


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize("path", operations)
def test_other_methods_are_refused_with_those_there_are(
    path: str, known: Known | KnownCommand
) -> None:
    right = operations[path].method.upper()
    filled = re.sub(r"\{\w+\}", "default", path)
    # Of an older release, gone (REST-53).
    gone = {"POST", "PUT"} if path == "/ws/v1/config" else set()
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - {right} - gone:
        answer = known.client.request(method, filled)
        assert (answer.status_code, answer.text) == (405, "Method Not Allowed\n")
        assert right in answer.headers["allow"]
