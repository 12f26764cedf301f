"""Write what installs remuda in a cluster: manifests for kubectl and kustomize, and a Helm chart.

    python -m tools.packages            write deploy/kubernetes, deploy/helm and the package's file
    python -m tools.packages --check    say whether they are up to date

Both come from ``remuda_kubernetes.packaging``: the manifests have its default values in the
namespace ``yunikorn``; the templates of the chart have the place of each value where it belongs.
The dashboard is that of deploy/grafana, the alerts are those of deploy/prometheus: the package has
copies, because it prints manifests where nobody has the sources, and so has the chart, because Helm
reads files of the chart only.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
import yaml
from msgspec import Meta, Struct

from remuda import __version__
from remuda_kubernetes.packaging import objects
from remuda_kubernetes.packaging.text import yaml_text
from remuda_kubernetes.packaging.values import Values

ROOT: Final = Path(__file__).resolve().parent.parent
BASE: Final = ROOT / "deploy/kubernetes"
CHART: Final = ROOT / "deploy/helm/remuda"
DASHBOARD: Final = ROOT / "deploy/grafana/remuda.json"
ALERTS: Final = ROOT / "deploy/prometheus/remuda-alerts.yaml"
PACKAGE: Final = ROOT / "src/remuda_kubernetes/packaging"
NAMESPACE: Final = "yunikorn"
# Where Helm puts the text of the dashboard, and the rules, which are text of the same form.
_DASHBOARD_FILE: Final = f"dashboards/{objects.DASHBOARD}"
_DASHBOARD: Final = f'{{{{ .Files.Get "{_DASHBOARD_FILE}" | toJson }}}}'
_ALERTS_FILE: Final = f"alerts/{objects.ALERTS}"
_ALERTS: Final = f'{{{{ .Files.Get "{_ALERTS_FILE}" }}}}'
NOTE: Final = "# Written by `make packages` from remuda_kubernetes.packaging; do not edit.\n"

# A quoted place of a value, and the place of a value that has several lines.
_PLACE: Final = re.compile(r"'(\{\{[^{}']*\}\})'")
_LINES: Final = re.compile(r"^( *)(- )?([\w.]+): '\{\{ LINES (\S+) \}\}'$", re.MULTILINE)


def main() -> int:
    """Write all files, or with --check compare them; 1 if one differs."""
    wanted = {BASE / name: text for name, text in base().items()}
    wanted |= {CHART / name: text for name, text in chart().items()}
    wanted[PACKAGE / objects.DASHBOARD] = dashboard()
    wanted[PACKAGE / objects.ALERTS] = alerts()
    present = {path for top in (BASE, CHART) for path in top.rglob("*") if path.is_file()}
    stale = [path for path, text in wanted.items() if not _has(path, text)]
    stale += sorted(present - wanted.keys())
    if "--check" not in sys.argv[1:]:
        for top in (BASE, CHART):
            shutil.rmtree(top, ignore_errors=True)
        for path, text in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not up to date: run make packages")
    return int(bool(stale))


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def base() -> dict[str, str]:
    """Return the files of the kustomize base, by name."""
    parts = objects.parts(Values(), NAMESPACE, dashboard(), json.loads(alerts()))
    files = {f"{part}.yaml": NOTE + yaml_text(found) for part, found in parts.items()}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    files["namespace.yaml"] = NOTE + yaml_text([space])
    # Without what the defaults leave out: an operator that knows monitors is not in every cluster.
    named = sorted(files.keys() - {f"{part}.yaml" for part in objects.left_out(Values())})
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": named,
    }
    files["kustomization.yaml"] = NOTE + yaml_text([listed])
    return files


def chart() -> dict[str, str]:
    """Return the files of the Helm chart, by name."""
    about = {
        "apiVersion": "v2",
        "name": "remuda",
        "description": "A resource scheduler for Kubernetes: queues with guarantees and limits",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.21.0-0",
    }
    files = {
        "Chart.yaml": NOTE + yaml_text([about]),
        "values.yaml": NOTE + "\n".join(_documented(Values())) + "\n",
        "values.schema.json": json.dumps(schema(), indent=2) + "\n",
    }
    files[_DASHBOARD_FILE] = dashboard()
    files[_ALERTS_FILE] = alerts()
    parts = objects.parts(
        _placed(Values, ".Values"), "{{ .Release.Namespace }}", _DASHBOARD, _ALERTS
    )
    for part, found in parts.items():
        text = _template(yaml_text(found))
        condition = objects.CONDITIONS.get(part, ())
        if condition:
            terms = " ".join(f".Values.{_camel(path)}" for path in condition)
            test = f"and {terms}" if len(condition) > 1 else terms
            text = f"{{{{- if {test} }}}}\n{text}{{{{- end }}}}\n"
        files[f"templates/{part}.yaml"] = NOTE + text
    return files


def dashboard() -> str:
    """Return the dashboard without the space that people read it by; a ConfigMap is small."""
    return json.dumps(json.loads(DASHBOARD.read_text()), separators=(",", ":"))


def alerts() -> str:
    """Return the groups of rules as JSON in one line, which is YAML as well."""
    return json.dumps(yaml.safe_load(ALERTS.read_text()), separators=(",", ":"))


def schema() -> dict[str, Any]:
    """Return the JSON schema of the values."""
    return msgspec.json.schema(Values)


def _placed(kind: type[Struct], path: str) -> Any:
    """Return values that are their own places in a template."""
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        here = f"{path}.{_camel(name)}"
        if isinstance(hint, type) and issubclass(hint, Struct):
            found[name] = _placed(hint, here)
        elif hint in (int, bool):
            found[name] = f"{{{{ {here} }}}}"
        elif hint is str:
            found[name] = f"{{{{ {here} | quote }}}}"
        else:
            found[name] = f"{{{{ LINES {here} }}}}"
    return kind(**found)


def _camel(name: str) -> str:
    """Return a name of Python as the values have it."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def _template(text: str) -> str:
    """Return manifests as a template: the places of values without quotes."""

    def lines(found: re.Match[str]) -> str:
        indent, dash, key, path = found.groups()
        depth = len(indent) + 2
        assert dash is None
        return (
            f"{indent}{{{{- with {path} }}}}\n{indent}{key}:\n"
            f"{' ' * depth}{{{{- toYaml . | nindent {depth} }}}}\n{indent}{{{{- end }}}}"
        )

    return _PLACE.sub(r"\1", _LINES.sub(lines, text))


def _documented(values: Struct, indent: str = "") -> Iterator[str]:
    """Yield the lines of values.yaml: each default with what it means."""
    for name, hint in get_type_hints(type(values), include_extras=True).items():
        told = _description(hint)
        if told:
            yield f"{indent}# {told}"
        value = getattr(values, name)
        if isinstance(value, Struct):
            yield f"{indent}{_camel(name)}:"
            yield from _documented(value, indent + "  ")
        else:
            text = yaml_text([{_camel(name): value}]).rstrip("\n")
            yield from (indent + line if line else "" for line in text.split("\n"))


def _description(hint: Any) -> str:
    """Return what the annotations of a field say about it."""
    if get_origin(hint) is Annotated:
        for each in get_args(hint)[1:]:
            if isinstance(each, Meta) and each.description:
                return each.description
    return ""


if __name__ == "__main__":
    sys.exit(main())
