"""The command ``remuda config apply``: put a queue configuration in force. Implements: EXT-84."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.texts import shown
from remuda.cli.administering import (
    DEFAULT_GRPC,
    AdminTokenOption,
    GrpcAuthorityOption,
    GrpcOption,
    YesOption,
    administrator,
    confirm,
)
from remuda.cli.config_in_force import changed_lines

# What a refusal of a configuration begins with.
_WRONG: Final = "configuration refused: "


def apply(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="NEW", help="The new queue configuration (YAML).")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check it against what runs; change nothing.")
    ] = False,
    policy_group: Annotated[
        str, typer.Option(metavar="NAME", help="Policy group that it is for, if there are several.")
    ] = "",
    yes: YesOption = False,
    grpc: GrpcOption = DEFAULT_GRPC,
    grpc_ca: GrpcAuthorityOption = None,
    token_file: AdminTokenOption = None,
) -> None:
    """Put a queue configuration in force while applications run.

    The lines that change are shown before. If somebody else changes the configuration meanwhile,
    this one is refused. 'remuda config impact' tells what it would do. A file that the scheduler
    follows (serve --config) comes into force again when it is changed. The caller has to be an
    administrator.

    Exit code 0: done, or no line differs; 1: the scheduler does not answer, or nobody agreed; 2:
    the command line or the configuration is wrong, and nothing changed; 4: the scheduler refuses
    the caller.
    """
    from remuda.runtime.configuration.text import read_text  # noqa: PLC0415 - keeps help fast

    new = read_text(file)
    with administrator(grpc, grpc_ca, token_file, wrong=_WRONG) as admin:
        before = admin.get_configuration(policy_group)
        found = changed_lines(before.config, new, str(file))
        if not found:
            print(f"no line of {shown(str(file))} differs from the configuration in force")
            return
        print("\n".join(found))
        if not dry_run:
            confirm(f"put {shown(str(file))} in force", yes=yes)
        checksum = admin.set_configuration(
            new,
            policy_group=policy_group,
            expected_checksum=before.checksum,
            dry_run=dry_run,
        )
    if dry_run:
        print("the scheduler would take it; nothing was changed")
    else:
        print(f"in force, checksum {shown(checksum)}")
