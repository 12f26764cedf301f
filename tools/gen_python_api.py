"""Generate the list of the public Python API in its page from the code.

--check tells whether the page is up to date. Versions promise what the page lists, so
a change of the API shows in the page's difference, and nobody makes one by accident.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from remuda import public
from remuda.library import listening

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/python-api.md"

PART: Final = re.compile(r"(?P<start><!-- surface -->\n)(?:.*?)(?P<end><!-- end -->)", re.DOTALL)


def surface() -> str:
    """All that ``from remuda import ...`` offers, as the page shows it."""
    lines = [line for name in public.__all__ for line in _entry(name)]
    return "\n".join(lines).replace("``", "`")


def _entry(name: str) -> Iterator[str]:
    """One name: what it is, what it means and, of a class, what can be called."""
    found = getattr(public, name)
    yield f"\n### {name}\n"
    if inspect.isfunction(found):
        yield from _described(found)
        yield f"\n`{name}{_signature(found)}`"
        return
    if not isinstance(found, type):
        yield f"`{name} = {_plain(str(found))}`"
        return
    yield from _described(found)
    if issubclass(found, Exception):
        bases = ", ".join(base.__name__ for base in found.__bases__)
        yield f"\n`{name}({bases})`"
    elif issubclass(found, enum.Enum):
        yield f"\n`{', '.join(f'{each.name} = {each.value}' for each in found)}`"
    else:
        yield f"\n`{name}{_signature(found)}`"
    members = [*_members(found)]
    if members:
        yield ""
        yield from members


def _described(kind: object) -> Iterator[str]:
    """The text of a class or function, its arguments as a list."""
    text, _, below = (inspect.getdoc(kind) or "").partition("Args:\n")
    yield text.rstrip()
    arguments, _, more = below.partition("\n\n")
    if arguments:
        yield ""
        for each in re.split(r"\n(?=    \w)", arguments):
            name, _, told = " ".join(each.split()).partition(": ")
            yield f"- `{name}`: {told}"
    if more:
        yield f"\n{more.rstrip()}"


def _members(kind: type) -> Iterator[str]:
    """What a caller may use of the objects of a class, beside the fields of a record."""
    fields = {field.name for field in dataclasses.fields(kind)} if _is_record(kind) else set()
    order = [name for base in kind.__mro__ for name in vars(base) if _is_ours(base)]
    if issubclass(kind, enum.Enum):
        return
    for name in dict.fromkeys(order):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in fields:
            continue
        told = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
        if isinstance(member, property):
            assert member.fget is not None
            yield f"- `{name}: {_type(member.fget.__annotations__['return'])}`: {told}"
        elif inspect.isfunction(member):
            yield f"- `{name}{_signature(member, 1)}`: {told}"


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("remuda.library")


def _signature(found: Callable[..., object], skipped: int = 0) -> str:
    """Return the parameters and the result, with the types as the source writes them."""
    signature = inspect.signature(found)
    parts: list[str] = []
    for parameter in list(signature.parameters.values())[skipped:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        part = f"{parameter.name}: {_type(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            told = repr(parameter.default)
            part += f" = {'{}' if told == '<factory>' else told}"
        parts.append(part)
    returned = "" if isinstance(found, type) else f" -> {_type(signature.return_annotation)}"
    return f"({', '.join(parts)}){returned}"


def _type(written: str) -> str:
    """A type as it is written; instead of a variable what it is bound to."""
    variable = vars(listening).get(written)
    bound = variable.__bound__ if isinstance(variable, TypeVar) else written
    return _plain(str(bound))


def _plain(text: str) -> str:
    """A type without the modules its parts are from."""
    return re.sub(r"(?:[a-z_]+\.)+(?=[A-Z])", "", text)


def page(text: str) -> str:
    """The page with the surface as it is now."""
    return PART.sub(lambda part: f"{part['start']}{surface()}\n\n{part['end']}", text)


def main() -> int:
    """Write the page, or with --check compare it; 1 if it differs."""
    before = PAGE.read_text()
    fresh = page(before)
    if "--check" in sys.argv[1:]:
        if fresh != before:
            print(f"{PAGE.relative_to(ROOT)} is not up to date: run make python-api")
        return int(fresh != before)
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
