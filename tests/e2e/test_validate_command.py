"""``remuda validate`` as a process: pipes, devices, terminals, and what hostile files cost."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import environment

ROOT = Path(__file__).resolve().parents[2]

VALID = "partitions: [{name: default, queues: [{name: root, submitacl: '*'}]}]\n"
INVALID = "partitions: [{name: default}]\n"


def validate(*arguments: str, stdin: bytes = b"", **extra: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "remuda", "validate", *arguments],
        env=environment(**extra),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    out, err = ended.stdout.decode(), ended.stderr.decode()
    return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)


@pytest.mark.remuda_rule("TOOL-1")
def test_the_exit_code_tells_valid_invalid_and_unreadable_apart(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(VALID)
    bad.write_text(INVALID)
    absent = str(tmp_path / "absent.yaml")
    assert validate(str(good)).returncode == 0
    assert validate(str(good), str(bad)).returncode == 1
    assert validate(str(good), absent).returncode == 2
    ended = validate(absent, str(bad), str(good))
    assert ended.returncode == 2
    assert f"{bad}:1:21: error: " in ended.stdout
    assert "[CFG-41]" in ended.stdout
    assert f"{good}: valid (1 partition, 1 queue)" in ended.stdout
    assert ended.stderr == f"remuda: cannot read {absent}: No such file or directory\n"


@pytest.mark.remuda_rule("TOOL-1")
def test_a_pipe_is_read_to_its_end() -> None:
    assert validate("-", stdin=VALID.encode()).stdout == "-: valid (1 partition, 1 queue)\n"
    ended = validate("--output", "json", "-", stdin=INVALID.encode())
    assert ended.returncode == 1
    (found,) = json.loads(ended.stdout)
    assert (found["file"], found["valid"]) == ("-", False)
    assert found["problems"][0]["rule"] == "CFG-41"


def test_a_closed_standard_input_is_one_line_and_code_2() -> None:
    ended = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m remuda validate - <&-"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (
        2,
        "remuda: cannot read standard input: it is closed\n",
    )


@pytest.mark.remuda_rule("CFG-5")
def test_a_device_without_an_end_is_a_clear_error() -> None:
    ended = validate("/dev/zero")
    assert ended.returncode == 1
    first, last = ended.stdout.splitlines()
    assert first.startswith("/dev/zero: error: not YAML: it has more than 10000000 bytes [CFG-5]")
    assert last == "/dev/zero: invalid (1 error)"
    assert ended.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_name_outside_the_terminals_encoding_does_no_harm(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "f\N{LATIN SMALL LETTER U WITH DIAERESIS}r.yaml"
    path.write_text(VALID)
    ended = validate(str(path), PYTHONIOENCODING=encoding)
    assert ended.returncode == 0
    assert ended.stdout.endswith("r.yaml: valid (1 partition, 1 queue)\n")


def on_a_terminal(*arguments: str, **extra: str) -> str:
    """Return what the program writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remuda", "validate", *arguments],
        env=environment(TERM="xterm", **extra),
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:  # how a terminal says that nobody writes any more
        pass
    finally:
        os.close(ours)
    process.wait(30)
    return written.decode().replace("\r\n", "\n")


def test_colours_are_for_terminals_only(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(VALID)
    bad.write_text(INVALID)
    files = (str(good), str(bad))
    coloured = on_a_terminal(*files)
    assert "\x1b[" in coloured
    plain = on_a_terminal(*files, NO_COLOR="1")
    assert "\x1b[" not in plain
    assert plain == validate(*files).stdout


# What the interpreter and our own modules take is not the file's doing.
PROBE = """
import sys, time
import remuda.cli.program, remuda.cli.validate, remuda.runtime.configuration.text
from remuda.cli.main import main
from tests.memory import peak_kilobytes
before, started = peak_kilobytes(), time.process_time()
code = 0
try:
    main()
except SystemExit as ended:
    code = ended.code
spent = time.process_time() - started
grown = peak_kilobytes() - before
print(code, spent, grown, file=sys.stderr)
"""


def bomb() -> bytes:
    """Nine levels of nine references each: a thousand million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(lines).encode()


@pytest.mark.remuda_rule("TOOL-1", "CFG-5")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bomb(), id="bomb"),
        pytest.param(b"[" * 1_000_000, id="deep"),
        pytest.param(bytes(range(256)) * 39_000, id="binary"),
        pytest.param(b"a: b\n" * 2_000_000, id="large"),
    ],
)
def test_a_hostile_file_is_refused_within_a_second_and_200_megabytes(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_bytes(data)
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, "validate", str(path)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    code, seconds, kilobytes = ended.stderr.split()
    assert int(code) == 1
    assert ended.stdout.splitlines()[-1] == f"{path}: invalid (1 error)"
    assert "[CFG-5]" in ended.stdout
    assert float(seconds) < 1.0
    assert int(kilobytes) < 200_000
