"""Generate src/remuda/si/pb from proto/si/v1/si.proto; --check tells whether it is up to date.

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
NAMES = ("si_pb2.py", "si_pb2.pyi", "si_pb2_grpc.py", "si_pb2_grpc.pyi")


def generate(output: Path) -> None:
    """Compile si.proto into ``output``/remuda/si/pb.

    The mapped path makes the generated modules import each other by their full names.
    """
    tools = Path(sys.executable).parent
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"--proto_path=remuda/si/pb={ROOT / 'proto/si/v1'}",
        f"--plugin=protoc-gen-mypy={tools / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={tools / 'protoc-gen-mypy_grpc'}",
        f"--python_out={output}",
        f"--grpc_python_out={output}",
        f"--mypy_out=quiet:{output}",
        f"--mypy_grpc_out=quiet:{output}",
        "remuda/si/pb/si.proto",
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
        print(f"not generated from the current si.proto: {', '.join(stale)}; run tools/gen_si.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
