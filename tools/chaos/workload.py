"""What the users of a simulated cluster do: applications that come and go, tasks that end.

Everything is written down before it is sent, and some messages are sent twice, as clients do that
do not know whether the first one arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Final

from remuda.si.wire import Request
from tools.chaos import wording
from tools.chaos.belief import Diary, Task

_APPLICATIONS: Final = 5
_TASKS: Final = 16


class Workload:
    """The work of one resource manager. Every method may raise ClientError, as ``send`` does.

    Args:
        diary: where everything is written down first.
        send: sends a request.
        seed: of everything random here.
    """

    def __init__(self, diary: Diary, send: Callable[[Request], object], seed: str) -> None:
        self._diary = diary
        self._belief = diary.belief
        self._send = send
        # Other choices in each life of the process, or it would repeat itself.
        self._random = Random(f"{seed} {diary.facts}")  # noqa: S311 - no secrets

    def tick(self, accepted: Collection[str]) -> None:
        """Do something that a user might do.

        ``accepted``: the applications that the scheduler has accepted.
        """
        belief, chance = self._belief, self._random.random()
        ready = [name for name in belief.applications if name in accepted]
        if len(belief.applications) < _APPLICATIONS and chance < 0.3:
            self.submit(f"app-{self._diary.facts}", self._random.choice(wording.LEAVES))
        elif ready and len(belief.asks) + len(belief.running) < _TASKS and chance < 0.7:
            self._ask_more(self._random.choice(ready))
        elif belief.running and chance < 0.9:
            self._end(self._random.choice(list(belief.running)))
        elif belief.asks and chance < 0.94:
            self._withdraw(belief.asks[self._random.choice(list(belief.asks))])
        elif ready and chance < 0.96:
            self._close(self._random.choice(ready))
        elif belief.asks and chance > 0.97:
            self._send(wording.asks(belief.asks.values()))

    def submit(self, name: str, path: str) -> None:
        """Submit an application to a queue."""
        self._diary.note("application", name, path)
        for _ in range(self._times()):
            self._send(wording.submissions({name: path}))

    def ask_first(self, application: str) -> None:
        """Ask for what an application begins with: a probe's only task, a gang's placeholders."""
        path = self._belief.applications[application]
        if path not in {wording.PROBE_QUEUE, wording.GANG_QUEUE} or self._known(application):
            return
        if path == wording.PROBE_QUEUE:
            self._ask([Task(f"{application}.0", application, 1)])
            return
        keys = [f"{application}.p{n}" for n in range(wording.GANG)]
        cores = wording.MEMBER_CORES
        self._ask([Task(key, application, cores, "placeholder") for key in keys])

    def close_all(self, *, only_probes: bool) -> None:
        """End all applications, or those of probes."""
        for name, path in list(self._belief.applications.items()):
            if path == wording.PROBE_QUEUE or not only_probes:
                self._close(name)

    def _times(self) -> int:
        """Return how often a message is sent: now and then twice."""
        return self._random.choice((1, 1, 1, 2))

    def _known(self, application: str) -> bool:
        """Whether an application has had any task."""
        belief = self._belief
        tasks = (*belief.asks.values(), *belief.running.values(), *belief.ending.values())
        keys = (*(task.key for task in tasks), *belief.over, *belief.withdrawn)
        return any(key.startswith(f"{application}.") for key in keys)

    def _ask_more(self, application: str) -> None:
        """Ask for another task, but not for a probe."""
        path = self._belief.applications[application]
        if path == wording.PROBE_QUEUE:
            return
        gang = path == wording.GANG_QUEUE
        cores = wording.MEMBER_CORES if gang else 500 * self._random.randint(1, 4)
        key = f"{application}.{self._diary.facts}"
        self._ask([Task(key, application, cores, "member" if gang else "")])

    def _ask(self, tasks: list[Task]) -> None:
        for task in tasks:
            self._diary.note("ask", task.key, task.application, task.cores, task.role)
        for _ in range(self._times()):
            self._send(wording.asks(tasks))

    def _end(self, identity: str) -> None:
        """End a task that runs; placeholders end when the scheduler says so."""
        task = self._belief.running[identity]
        if task.role == "placeholder":
            return
        self._diary.note("end", identity)
        for _ in range(self._times()):
            self._send(wording.release(task.application, identity))

    def _withdraw(self, task: Task) -> None:
        self._diary.note("withdraw", task.key)
        self._send(wording.withdrawal(task))

    def _close(self, application: str) -> None:
        self._diary.note("gone", application)
        self._send(wording.removal(application))
