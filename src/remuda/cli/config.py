"""The commands ``remuda config ...``: what is in force, and what another one would change."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.duration import SECOND
from remuda.base.texts import shown
from remuda.cli import config_apply, config_fmt, config_in_force
from remuda.cli.insight_options import seconds_text
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    HttpServer,
    ServerOption,
    TokenOption,
    path_of,
    server_at,
)

EXAMPLES: Final = """
Examples:

\b
  remuda config get > new.yaml
  remuda config diff new.yaml
  remuda config fmt new.yaml --write
  remuda config apply new.yaml --dry-run
  remuda config impact new.yaml
  remuda config impact new.yaml --server scheduler:9080 --output json
  remuda config impact new.yaml --output html > impact.html
  remuda config impact new.yaml --snapshot state.snapshot
  remuda config impact new.yaml --snapshot state.snapshot --output json
"""


class Output(StrEnum):
    """How an impact is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


app = typer.Typer(
    help="Show, format, compare, try and change the queue configuration.",
    epilog=EXAMPLES,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

app.command(epilog=EXAMPLES, short_help="Print the configuration in force.")(config_in_force.get)
app.command(epilog=EXAMPLES, short_help="Show which lines differ from it.")(config_in_force.diff)
app.command(epilog=EXAMPLES, short_help="Put a configuration in force.")(config_apply.apply)
app.command(epilog=EXAMPLES, short_help="Format a file, with its comments.")(config_fmt.fmt)


@app.callback()
def _config() -> None:
    """Show, format, compare, try and change the queue configuration."""


@app.command(epilog=EXAMPLES, short_help="Tell what would differ under a configuration.")
def impact(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="NEW", help="The new queue configuration (YAML).")
    ],
    snapshot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The state of a scheduler, instead of one that runs; see 'remuda snapshot'.",
        ),
    ] = None,
    rm: Annotated[
        str,
        typer.Option(metavar="ID", help="Whose configuration it is, if there are several RMs."),
    ] = "",
    within: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long to follow what happens, up to a day."),
    ] = 60.0,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
    output: Annotated[
        Output, typer.Option("--output", help="How it is printed; html is a whole page.")
    ] = Output.TEXT,
) -> None:
    """Tell what would differ if a configuration came into force; nothing changes.

    The answer names queues that go, quotas below usage, guarantees that cannot be met, work that
    becomes preemptible, applications that would be placed elsewhere, and asks and allocations with
    another outcome. Both configurations are tried on copies of the scheduler: of the one that runs
    at --server, or of the one in a --snapshot.

    Exit code 0: done; 1: the server does not answer, or the copies gave no answer; 2: a file is
    wrong, or the scheduler would refuse the configuration; 4: the server refuses the caller.
    """
    import msgspec  # noqa: PLC0415 - keeps help fast

    from remuda.runtime.configuration import text  # noqa: PLC0415
    from remuda.runtime.forks.impact import snapshot_impact  # noqa: PLC0415

    seconds = seconds_text(within)
    if snapshot is None:
        _served(server_at(server, token_file, server_ca, context), file, rm, seconds, output)
        return
    found = snapshot_impact(
        snapshot,
        text.read_configuration(file),
        str(file),
        rm_id=rm,
        within_ns=round(within * SECOND),
    )
    if output is Output.JSON:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    elif output is Output.HTML:
        sys.stdout.write(_page(str(found).splitlines(), file))
    else:
        print(found)


def _served(server: HttpServer, file: Path, rm: str, seconds: str, output: Output) -> None:
    """Print the impact on a scheduler that runs, which reads the configuration itself.

    Implements: EXT-73. Rules: EXT-76.
    """
    from remuda.cli.insight_answers import Impact, decoded, indented  # noqa: PLC0415
    from remuda.runtime.configuration.text import read_file  # noqa: PLC0415

    options = {"within": seconds, **({"rm": rm} if rm else {})}
    answer = server.post(path_of("config", "impact"), read_file(file), options)
    found = decoded(answer, Impact, server.address)
    if output is Output.HTML:
        sys.stdout.write(_page([shown(line) for line in found.text], file))
    else:
        lines = "\n".join(map(shown, found.text))
        print(indented(found.impact) if output is Output.JSON else lines)


def _page(lines: list[str], file: Path) -> str:
    """Return a page with the differences, as a notebook shows them. Implements: EXT-118."""
    from remuda.insight.html import page, sections_html, sections_of  # noqa: PLC0415 - see above

    found = sections_of(lines)
    alone = [title for title, entries in found if not entries]
    if len(alone) < len(found):
        found.append(("also", alone))
    body = sections_html(found, "; ".join(alone))
    return page(f"What {shown(file.name)} would change", body)
