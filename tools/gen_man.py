"""Generate the manual pages in ``man/`` from the command line itself.

A page per command, with the texts that --help shows. The wheel has them below share/man/man1.
--check tells whether they are up to date, and whether troff takes them without a warning where it
is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from remuda.cli import program

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ROOT / "man"

_EXIT: Final = re.compile(r"Exit codes?\b")
_FILES: Final = "remuda*.1"


def pages() -> dict[str, str]:
    """Return all pages: file name -> text in the language of troff."""
    found: dict[str, str] = {}
    whole = get_command(program.app)
    names: list[str] = []
    for name in sorted((*program._COMMANDS, *program._GROUPS)):  # noqa: SLF001 - the one table
        command = program.loaded(name)
        names.append(name)
        found[f"remuda-{name}.1"] = _page(("remuda", name), command)
        for inner, each in sorted(getattr(command, "commands", {}).items()):
            found[f"remuda-{name}-{inner}.1"] = _page(("remuda", name, inner), each)
    found["remuda.1"] = _page(("remuda",), whole, names)
    return found


def _page(path: tuple[str, ...], command: Any, inner: list[str] | None = None) -> str:
    return "\n".join(_lines(path, command, inner)) + "\n"


def _lines(path: tuple[str, ...], command: Any, inner: list[str] | None) -> Iterator[str]:
    title = "-".join(path)
    summary, *paragraphs = _paragraphs(command.help or "")
    yield f'.TH "{_text(title.upper())}" "1" "" "Remuda" "Commands of Remuda"'
    yield ".SH NAME"
    yield f"{_text(title)} \\- {_text(summary.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield from _synopsis(path, command)
    if told := [each for each in paragraphs if not _EXIT.match(each)]:
        yield ".SH DESCRIPTION"
        yield from _joined(told)
    yield from _commands(path, command, inner)
    yield from _parameters(command)
    if codes := [each for each in paragraphs if _EXIT.match(each)]:
        yield '.SH "EXIT STATUS"'
        yield from _joined(codes)
    if examples := _examples(command.epilog or ""):
        yield ".SH EXAMPLES"
        yield ".nf"
        yield from map(_text, examples)
        yield ".fi"
    if len(path) > 1:
        yield '.SH "SEE ALSO"'
        yield f"\\fB{_text('-'.join(path[:-1]))}\\fR(1)"


def _synopsis(path: tuple[str, ...], command: Any) -> Iterator[str]:
    words = [f"\\fB{_text(' '.join(path))}\\fR"]
    if any(_is_option(each) for each in command.params):
        words.append("[\\fIOPTIONS\\fR]")
    arguments = (each for each in command.params if not _is_option(each))
    words += [f"\\fI{_text(each.make_metavar(_context(path, command)))}\\fR" for each in arguments]
    if hasattr(command, "commands"):
        words.append("\\fICOMMAND\\fR ...")
    yield " ".join(words)


def _commands(path: tuple[str, ...], command: Any, inner: list[str] | None) -> Iterator[str]:
    found: Mapping[str, Any] = getattr(command, "commands", {})
    if not found:
        return
    yield ".SH COMMANDS"
    for name in inner or sorted(found):
        each = found[name]
        told = each.short_help or next(iter(_paragraphs(each.help or "")), "")
        yield ".TP"
        yield f"\\fB{_text('-'.join((*path, name)))}\\fR(1)"
        yield _text(told)


def _parameters(command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if not _is_option(each) and each.help]
    for title, found in (
        ("ARGUMENTS", arguments),
        ("OPTIONS", [each for each in command.params if _is_option(each) and not each.hidden]),
    ):
        if found:
            yield f".SH {title}"
        for each in found:
            yield ".TP"
            yield _heading(command, each)
            yield _text(_told(each))


def _heading(command: Any, each: Any) -> str:
    metavar = each.make_metavar(_context(("remuda",), command))
    if not _is_option(each):
        return f"\\fI{_text(metavar)}\\fR"
    names = sorted((*each.opts, *each.secondary_opts), key=lambda name: (name[1] == "-", name))
    text = ", ".join(f"\\fB{_text(name)}\\fR" for name in names)
    return text if each.is_flag else f"{text} \\fI{_text(metavar)}\\fR"


def _told(each: Any) -> str:
    text = " ".join((each.help or "").split())
    default = each.default
    if getattr(each, "show_default", False) and default not in (None, "", False, ()):
        found = default.value if hasattr(default, "value") else default
        if not callable(found) and not each.required:
            text += f" Default: {each.opts[0] if found is True else found}."
    if each.envvar:
        names = [each.envvar] if isinstance(each.envvar, str) else each.envvar
        text += f" Environment variable: {', '.join(names)}."
    return text.strip() or "See above."


def _is_option(each: Any) -> bool:
    return bool(each.param_type_name == "option")


def _context(path: tuple[str, ...], command: Any) -> Any:
    return command.context_class(command, info_name=path[-1])


def _paragraphs(text: str) -> list[str]:
    found = (" ".join(each.replace("\b", "").split()) for each in text.split("\n\n"))
    return [each for each in found if each]


def _joined(paragraphs: list[str]) -> Iterator[str]:
    for number, each in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield _text(each)


def _examples(text: str) -> list[str]:
    lines = [line.strip() for line in text.replace("\b", "").splitlines()]
    return [line for line in lines if line and line != "Examples:"]


def _text(text: str) -> str:
    """Return a text that troff shows as it is."""
    found = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    found = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in found)
    return f"\\&{found}" if found.startswith(".") else found


def problems_of(pages_: Mapping[str, str]) -> list[str]:
    """Return what troff warns of, in a terminal of 80 columns; nothing where it is missing."""
    groff = shutil.which("groff")
    if groff is None:
        return []
    found = []
    for name, text in pages_.items():
        command = [groff, "-man", "-ww", "-Tutf8", "-rLL=78n"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        found += [f"{name}: {line}" for line in done.stderr.splitlines()]
    return found


def main() -> int:
    """Write or check the pages; 0 on success."""
    wanted = pages()
    there = {path.name: path.read_text() for path in PAGES.glob(_FILES)} if PAGES.is_dir() else {}
    if "--check" in sys.argv[1:]:
        old = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
        found = [f"man/{name}: outdated" for name in old] + problems_of(wanted)
        print("\n".join([*found, "man: 'make man' writes the pages anew"]) if found else "", end="")
        return 1 if found else 0
    PAGES.mkdir(exist_ok=True)
    for name in set(there) - set(wanted):
        (PAGES / name).unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
