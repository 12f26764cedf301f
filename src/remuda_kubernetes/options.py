"""Options that several commands have: how to reach the API server, and where to look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_KUBECONFIG",
        help="How to reach the API server; without it KUBECONFIG, then ~/.kube/config, then the"
        " service account of the pod.",
    ),
]
Context = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_KUBE_CONTEXT",
        help="Context of that file; by default its current one.",
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_NAMESPACE",
        help="Namespace of the shim's ConfigMaps and lease; by default that of its pod, else"
        " yunikorn.",
    ),
]
