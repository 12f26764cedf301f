"""Generate src/remuda/si/pb from the files in proto/; --check tells whether it is up to date.

The generated files are committed, so that neither users nor the build need a compiler. They
depend on the versions of grpcio-tools and mypy-protobuf, which requirements.lock fixes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/remuda/si/pb"
SOURCES = {"si": "si/v1/si.proto", "extension": "remuda/v1/extension.proto"}
NAMES = tuple(
    f"{name}_pb2{kind}" for name in SOURCES for kind in (".py", ".pyi", "_grpc.py", "_grpc.pyi")
)


def generate(output: Path) -> None:
    """Compile the sources into ``output``/remuda/si/pb.

    They are compiled as if they lay in that package, so that the generated modules import each
    other by their full names.
    """
    tools = Path(sys.executable).parent
    place = Path("remuda/si/pb")
    (output / place).mkdir(parents=True)
    for name, source in SOURCES.items():
        text = (ROOT / "proto" / source).read_text()
        for other, path in SOURCES.items():
            text = text.replace(f'import "{path}";', f'import "{place}/{other}.proto";')
        (output / place / f"{name}.proto").write_text(text)
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"--proto_path={output}",
        f"--plugin=protoc-gen-mypy={tools / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={tools / 'protoc-gen-mypy_grpc'}",
        f"--python_out={output}",
        f"--grpc_python_out={output}",
        f"--mypy_out=quiet:{output}",
        f"--mypy_grpc_out=quiet:{output}",
        *(f"{place}/{name}.proto" for name in SOURCES),
    ]
    subprocess.run(command, check=True)


def main() -> int:
    """Write the files, or with --check compare them; 1 if they differ."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = Path(scratch) / "remuda/si/pb"
        if "--check" not in sys.argv[1:]:
            for name in NAMES:
                shutil.copyfile(fresh / name, TARGET / name)
            return 0
        stale = [
            name
            for name in NAMES
            if not (TARGET / name).exists()
            or (TARGET / name).read_bytes() != (fresh / name).read_bytes()
        ]
    if stale:
        print(f"not generated from the current proto/: {', '.join(stale)}; run tools/gen_si.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
