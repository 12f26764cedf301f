"""Runs the examples of a document as a reader would, in order and in one empty folder.

- ``python`` blocks run as programs, ``sh`` blocks line by line.
- ``remuda serve`` without --duration stays running until the page ends; its addresses are free
  ones, and the default addresses in later blocks are replaced by them.
- A ``text`` block right after a block that ran is the output it must have; a line ``...``
  in it stands for any lines, and three dots inside a line for any text.
- ``<!-- file: NAME -->`` before a block saves it; ``<!-- not run: REASON -->`` passes it over.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_ADDRESSES = {"grpc": "127.0.0.1:9079", "rest": "127.0.0.1:9080"}
BLOCK = re.compile(
    r"(?:<!-- (?P<note>file|not run): (?P<value>[^>]+?) -->\n+)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 120


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the comment before it, the line it starts at."""

    language: str
    text: str
    note: str
    value: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    source = page.read_text()
    return [
        Block(
            found["language"],
            found["text"],
            found["note"] or "",
            found["value"] or "",
            source.count("\n", 0, found.start("language")) + 1,
        )
        for found in BLOCK.finditer(source)
    ]


def has_examples(page: Path) -> bool:
    """Whether anything on the page is meant to run."""
    return any(b.language in {"python", "sh"} and not b.note for b in blocks_of(page))


def matches(expected: str, output: str) -> bool:
    """Whether the output is as shown; dots stand for any lines, or inside a line for any text."""
    pattern = ""
    for line in expected.splitlines():
        text = ".*".join(re.escape(part) for part in line.split("..."))
        pattern += "(?:.*\n)*?" if line == "..." else f"{text}\n"
    return re.fullmatch(pattern, output) is not None


@dataclass
class Reader:
    """Follows a page in ``folder``."""

    folder: Path
    output: str | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    services: list[subprocess.Popen[str]] = field(default_factory=list)

    def follow(self, block: Block) -> None:
        """Do what the block says; raises AssertionError if it goes wrong."""
        before, self.output = self.output, None
        if block.note == "file":
            (self.folder / block.value).write_text(block.text)
        elif block.note == "not run":
            pass
        elif block.language == "python":
            self.output = self.run([sys.executable, "-c", self.actual(block.text)], block)
        elif block.language == "sh":
            self.output = "".join(self.commands(block))
        elif block.language == "text" and before is not None:
            told = f"line {block.line}: the output is\n{before}"
            assert matches(self.actual(block.text), before), told

    def commands(self, block: Block) -> Iterator[str]:
        """Run the lines of a shell block; yields what each prints."""
        for line in self.actual(block.text).replace("\\\n", " ").splitlines():
            program = line.split()[0] if line.split() else "#"
            if program.startswith("#") or (program == "curl" and not shutil.which(program)):
                continue
            if line.startswith("remuda serve") and "--duration" not in line:
                yield self.start(line)
            else:
                yield self.run(["sh", "-c", line], block)

    def run(self, command: list[str], block: Block) -> str:
        """Run to the end; returns stdout."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"line {block.line}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, line: str) -> str:
        """Start a service and wait until it listens; returns that line."""
        service = subprocess.Popen(
            ["sh", "-c", f"exec {line}"],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        self.services.append(service)
        assert service.stdout is not None
        ready = service.stdout.readline()
        found = re.match(r"listening grpc=(?P<grpc>\S+) rest=(?P<rest>\S+)$", ready)
        assert found, f"{line} says {ready!r}"
        self.addresses = found.groupdict()
        return ready

    def close(self) -> None:
        """Stop the services; each must end cleanly."""
        for service in self.services:
            service.send_signal(signal.SIGTERM)
        codes = []
        for service in self.services:
            with service:
                codes.append(service.wait(timeout=SECONDS))
        assert codes == [0] * len(codes)

    def actual(self, text: str) -> str:
        """The text with the default addresses replaced by those in use."""
        for kind, address in self.addresses.items():
            text = text.replace(DEFAULT_ADDRESSES[kind], address)
        return text

    def environment(self) -> dict[str, str]:
        """The programs of this environment, free addresses for services, no contexts of others."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        free = {"REMUDA_GRPC_ADDRESS": "127.0.0.1:0", "REMUDA_REST_ADDRESS": "127.0.0.1:0"}
        own = {
            "REMUDA_CONTEXTS": str(self.folder / "contexts.yaml"),
            "REMUDA_LOCAL_DIR": str(self.folder / "local"),
        }
        return os.environ | free | own | {"PATH": path, "COLUMNS": "100"}
