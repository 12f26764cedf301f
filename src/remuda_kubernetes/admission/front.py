"""The HTTPS edge: reviews come in, answers go out, within bounds of size and time.

What is no review gets a status and one line. A fault of ours gets 500, so that the failure policy
decides, as it does when nothing answers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from remuda.edges.addresses import source
from remuda.edges.rest.requests.errors import ApiError
from remuda.edges.rest.transport.bodies import Room, read_body
from remuda_kubernetes.admission import decide, reviews
from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.known import Known
from remuda_kubernetes.admission.queue_files import faults_of
from remuda_kubernetes.admission.webhooks import MUTATE, VALIDATE
from remuda_kubernetes.objects.values import ObjectError

_LOG: Final = logging.getLogger("remuda.kubernetes")
# Two objects, of which a server stores 1.5 MB each, and what stands around them.
BODY_LIMIT: Final = 8 * 2**20
_PLACES: Final = 16
# The API server waits for five.
BODY_SECONDS: Final = 4.0
ANSWER_SECONDS: Final = 4.0
_JSON: Final = "application/json"
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_Decision = Callable[[reviews.Request], Awaitable[reviews.Answer]]


class Front:
    """Answers reviews by what is known."""

    def __init__(self, known: Known, figures: Figures) -> None:
        self._known: Final = known
        self._figures: Final = figures
        self._room: Final = Room(_PLACES)
        # A large queue file takes a processor for seconds.
        self._validating: Final = asyncio.Semaphore(1)

    def application(self) -> Starlette:
        """Return the ASGI application of the webhook listener."""
        return Starlette(
            routes=[
                Route(MUTATE, self._mutate, methods=["POST"]),
                Route(VALIDATE, self._validate, methods=["POST"]),
            ]
        )

    async def _mutate(self, request: Request) -> Response:
        return await self._answered(request, self._decide)

    async def _validate(self, request: Request) -> Response:
        return await self._answered(request, self._judge)

    async def _decide(self, asked: reviews.Request) -> reviews.Answer:
        await self._known.learn(asked.space)
        return decide.review(asked, self._known.policy, self._known.around())

    async def _judge(self, asked: reviews.Request) -> reviews.Answer:
        await self._validating.acquire()
        known = self._known
        judging = asyncio.ensure_future(
            asyncio.to_thread(decide.validate, asked, known.policy, known.around(), faults_of)
        )
        # A thread cannot be stopped, so the next one waits for it even if nobody else does.
        judging.add_done_callback(self._judged)
        return await asyncio.shield(judging)

    def _judged(self, judging: asyncio.Future[reviews.Answer]) -> None:
        self._validating.release()
        if not judging.cancelled():
            judging.exception()

    async def _answered(self, request: Request, decision: _Decision) -> Response:
        started = time.perf_counter()
        try:
            body = await self._body(request)
            asked = reviews.read_request(body)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await decision(asked)
            content = reviews.response_of(asked.uid, answer)
        except ObjectError as error:
            return self._failed(400, f"no admission review: {error}")
        except ApiError as error:
            return self._failed(error.status, str(error))
        except TimeoutError:
            return self._failed(503, f"no answer in {ANSWER_SECONDS:.0f} s: try again")
        except ClientDisconnect:
            return self._failed(400, "the request ended in the middle")
        except Exception:  # noqa: BLE001 - our own fault, whatever it is; it is logged
            _LOG.exception("a review could not be answered; the failure policy decides")
            return self._failed(500, "the review could not be answered: see the log")
        self._figures.answered(asked, answer, time.perf_counter() - started)
        return Response(content, media_type=_JSON)

    async def _body(self, request: Request) -> bytes:
        """Return the body. Raises: ApiError, TimeoutError, ClientDisconnect."""
        client = source(request.client.host) if request.client else ""
        with self._room.share(client) as share:
            async with asyncio.timeout(BODY_SECONDS):
                return await read_body(request, BODY_LIMIT, share)

    def _failed(self, status: int, text: str) -> Response:
        self._figures.unanswered(status)
        return PlainTextResponse(f"{text}\n", status_code=status)


def reports(problems: Callable[[], dict[str, str]], figures: Figures) -> Starlette:
    """Return the ASGI application of probes and metrics."""

    async def live(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        found = problems()
        if not found:
            return PlainTextResponse("ok\n")
        lines = [f"{part}: {problem}\n" for part, problem in sorted(found.items())]
        return PlainTextResponse("".join(lines), status_code=503)

    async def metrics(_request: Request) -> Response:
        return Response(figures.text(), media_type=_METRICS_TYPE)

    return Starlette(
        routes=[Route("/livez", live), Route("/readyz", ready), Route("/metrics", metrics)]
    )
