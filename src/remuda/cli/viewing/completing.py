"""What the shell offers when somebody presses Tab: kinds, columns, and names from the server.

A server that does not answer within a second, or refuses, has no names to offer; nothing is said,
because a line would stand in the middle of the command line. Implements: EXT-81.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import typer

from remuda.cli.viewing.columns import Form, Kind, Question
from remuda.cli.viewing.kinds import KINDS, kind_of

# Seconds that a person waits for names, and how many are offered at most.
SECONDS: Final = 1.0
MOST: Final = 200

# A shell would do something with other characters. Who submits work chooses names.
_HARMLESS: Final = re.compile(r"[\w.:/@%+,=-]+", re.ASCII)


def kinds(incomplete: str) -> list[str]:
    """Return the kinds that begin so."""
    return [kind.name for kind in KINDS if kind.name.startswith(incomplete.lower())]


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the kind by which rows can be sorted."""
    with contextlib.suppress(Exception):
        # While the value of an option is missing, the words before it have no names yet.
        words = [context.params.get("kind"), *context.args]
        found = kind_of(next(str(word) for word in words if word))
        texts = [c.key for c in found.columns if c.form is not Form.AMOUNTS]
        return [text for text in texts if text.startswith(incomplete)]
    return []


def names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of objects of the kind on the command line."""
    with contextlib.suppress(Exception):
        return _names(context, kind_of(str(context.params.get("kind"))), incomplete)
    return []


def queues(context: typer.Context, incomplete: str) -> list[str]:
    """Return the paths of queues."""
    return _names(context, kind_of("queues"), incomplete)


def users(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of users."""
    return _names(context, kind_of("users"), incomplete)


def applications(context: typer.Context, incomplete: str) -> list[str]:
    """Return the IDs of live applications."""
    return _names(context, kind_of("applications"), incomplete)


def asks(context: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the asks that wait in the application on the command line."""
    of = f"{context.params.get('application')}/"
    found = _names(context, kind_of("asks"), of + incomplete)
    return [name.removeprefix(of) for name in found]


def partitions(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of partitions."""
    return _names(context, kind_of("partitions"), incomplete)


def within(seconds: float, work: Callable[[], list[str]]) -> list[str]:
    """Return what the work returns, nothing if it fails or takes longer.

    Work that takes longer is not waited for: the process ends with the answer.
    """
    found: list[str] = []

    def run() -> None:
        # Whatever is wrong, there are no names.
        with contextlib.suppress(Exception):
            found.extend(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return [] if thread.is_alive() else found


def _names(context: typer.Context, kind: Kind, incomplete: str) -> list[str]:
    return within(SECONDS, lambda: list(_read(context, kind, incomplete)))


def _read(context: typer.Context, kind: Kind, incomplete: str) -> Iterator[str]:
    from remuda.cli.server import server_at  # noqa: PLC0415 - the others do not need it

    chosen = context.params
    token, authorities = chosen.get("token_file"), chosen.get("server_ca")
    if str(token) == "-":
        return
    server = server_at(
        chosen.get("server"),
        Path(token) if token else None,
        Path(authorities) if authorities else None,
        chosen.get("context") or "",
    )
    question = Question(
        str(chosen.get("partition") or "default"),
        str(chosen.get("rm") or ""),
        kind.needs,
        last=MOST,
    )
    found = (kind.name_of(row) for row in kind.read(server, question))
    fit = (name for name in found if name.startswith(incomplete) and _HARMLESS.fullmatch(name))
    yield from dict.fromkeys(islice(fit, MOST))
