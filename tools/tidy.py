"""The house rules that linters do not know: size, purity of the core, words, cited rules.

A limit that only a document states is not a limit. STYLE.md gives the reasons; this program
gives the verdict, and is part of `make check`. A function of the core that cites no rule is
let through only if tools/tidy_ratchet.txt lists it, and that list may only shrink.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools import traces
from tools.glossary import pages, retired_words, unknown_replacements
from tools.rules import defined

ROOT = Path(__file__).resolve().parent.parent
RATCHET = ROOT / "tools/tidy_ratchet.txt"

MODULE_LINES = 600
FUNCTION_LINES = 70
MODULE_FUNCTIONS = 25
CLASS_METHODS = 20
DOCSTRING_LINES = 25
SMALL_MODULE = 250
BANNED_IN_CORE = frozenset({"eval", "exec", "hash", "id", "input", "open", "print"})
# The writer of snapshots tells objects apart by their address; no byte of a snapshot depends on it.
# The types of resources find a mapping of the present request by its address, and keep it alive; an
# equal mapping at another address has the same amounts.
ALLOWED_IN_CORE = frozenset(
    {("src/remuda/core/snapshot/writer.py", "id"), ("src/remuda/core/model/vectors.py", "id")}
)
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file under judgement; ``name`` is its path from the repository's root."""

    name: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.source)

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, nested ones too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @property
    def in_core(self) -> bool:
        """Whether the rules of the core hold here."""
        return self.name.startswith("src/remuda/core/")

    @property
    def in_tests(self) -> bool:
        """Whether this is a test or what tests are built with."""
        return self.name.startswith("tests/")

    @property
    def is_package(self) -> bool:
        """Whether this is the file that describes a package."""
        return self.name.endswith("__init__.py")


def long_module(module: Module) -> Iterator[str]:
    """A module fits a head."""
    lines = module.source.count("\n")
    if lines > MODULE_LINES:
        yield f"{module.name}: {lines} lines, at most {MODULE_LINES}: split it"


def long_function(module: Module) -> Iterator[str]:
    """A function's body fits a screen; parameters and docstring are not counted."""
    for node in module.functions:
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        if lines > FUNCTION_LINES:
            yield f"{_at(module, node)} has {lines} lines, at most {FUNCTION_LINES}"


def crowded(module: Module) -> Iterator[str]:
    """A module or class with too many functions has more than one subject."""
    if module.in_tests:
        return
    own = [node for node in module.tree.body if isinstance(node, Function)]
    if len(own) > MODULE_FUNCTIONS:
        yield f"{module.name}: {len(own)} functions, at most {MODULE_FUNCTIONS}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            methods = [inner for inner in node.body if _is_own_method(inner)]
            if len(methods) > CLASS_METHODS:
                yield f"{_at(module, node)} has {len(methods)} methods, at most {CLASS_METHODS}"


def missing_why(module: Module) -> Iterator[str]:
    """A module says why it exists, unless small in 3 lines or more; a package what it is for."""
    if module.in_tests:
        return
    docstring = ast.get_docstring(module.tree)
    if docstring is None:
        yield f"{module.name}: has no docstring"
        return
    lines = docstring.count("\n") + 1
    least = 3 if module.source.count("\n") > SMALL_MODULE else 1
    if not module.is_package and not least <= lines <= DOCSTRING_LINES:
        wanted = f"{least} to {DOCSTRING_LINES}"
        yield f"{module.name}: {lines} docstring lines, wanted {wanted}: say why it exists"


def re_export(module: Module) -> Iterator[str]:
    """Package files re-export nothing: that is where import cycles come from."""
    if not module.is_package:
        return
    for node in module.tree.body:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if isinstance(node, ast.Import | ast.ImportFrom) and not future:
            yield f"{module.name}:{node.lineno}: a package file imports nothing"


def unfinished(module: Module) -> Iterator[str]:
    """Find notes of work to be done later; they belong in an issue."""
    for number, line in enumerate(module.source.splitlines(), 1):
        if found := UNFINISHED.search(line):
            yield f"{module.name}:{number}: {found[0]}"


def banned_call(module: Module) -> Iterator[str]:
    """The core neither talks to the world nor rests on addresses and hashes."""
    if not module.in_core:
        return
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        banned = node.func.id in BANNED_IN_CORE
        if banned and (module.name, node.func.id) not in ALLOWED_IN_CORE:
            yield f"{module.name}:{node.lineno}: {node.func.id}() is banned in the core"
        if node.func.id == "sorted" and _sorts_values_without_key(node):
            yield f"{module.name}:{node.lineno}: sorting values needs a key that ends in an ID"


def retired(module: Module) -> Iterator[str]:
    """Each thing has one word, that of the glossary."""
    yield from retired_words(module.name, module.source)


def unordered(module: Module) -> Iterator[str]:
    """Find code of the core that depends on the order of a set, or on equality of floats."""
    if not module.in_core:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter):
            line = node.iter.lineno
            yield f"{module.name}:{line}: iterates over a set, whose order is not ours"
        if isinstance(node, ast.Compare) and _compares_float(node):
            yield f"{module.name}:{node.lineno}: compares floats for equality"


CHECKS: tuple[Callable[[Module], Iterator[str]], ...] = (
    long_module,
    long_function,
    crowded,
    missing_why,
    re_export,
    unfinished,
    banned_call,
    unordered,
    retired,
)


def uncited(module: Module, rules: dict[str, str]) -> list[str]:
    """Public functions of the core whose docstring, class and module cite no existing rule."""
    if not module.in_core or _cites(ast.get_docstring(module.tree), rules):
        return []
    found = []
    classes = [
        node
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    holders: list[ast.Module | ast.ClassDef] = [module.tree, *classes]
    for holder in holders:
        if isinstance(holder, ast.ClassDef) and _cites(ast.get_docstring(holder), rules):
            continue
        prefix = f"{holder.name}." if isinstance(holder, ast.ClassDef) else ""
        found += [
            f"{module.name}:{prefix}{node.name}"
            for node in holder.body
            if isinstance(node, Function)
            and not node.name.startswith("_")
            and not _cites(ast.get_docstring(node), rules)
        ]
    return found


def ratchet(found: list[str], allowed: list[str]) -> Iterator[str]:
    """Compare what cites no rule with what may; the list only shrinks."""
    for name in sorted(set(found) - set(allowed)):
        yield f"{name} cites no rule of docs/spec in its docstring (nor its class or module)"
    for name in sorted(set(allowed) - set(found)):
        yield f"{name} is fine now: run 'make fix' to take it off {RATCHET.relative_to(ROOT)}"


def modules() -> list[Module]:
    """Every hand-written Python file of the repository."""
    paths = [path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*.py")]
    return [
        Module(str(path.relative_to(ROOT)), path.read_text())
        for path in sorted(paths)
        if not {"pb", "__pycache__"} & set(path.parts)
    ]


def word_faults() -> Iterator[str]:
    """Retired words on pages for people, and words said instead that the glossary lacks."""
    yield from unknown_replacements()
    for name, text in pages():
        yield from retired_words(name, text)


def judge(files: list[Module], allowed: list[str]) -> list[str]:
    """Everything wrong with the files, one line each."""
    rules = defined()
    faults = [fault for module in files for check in CHECKS for fault in check(module)]
    found = [name for module in files for name in uncited(module, rules)]
    return [*faults, *ratchet(found, allowed)]


def shrink(files: list[Module], allowed: list[str]) -> list[str]:
    """The ratchet without what is fine now; nothing is ever added."""
    rules = defined()
    found = {name for module in files for name in uncited(module, rules)}
    return [name for name in allowed if name in found]


def main() -> int:
    """Print what breaks a house rule; 1 if anything does. With --shrink mend the ratchet."""
    files, allowed = modules(), RATCHET.read_text().split()
    if "--shrink" in sys.argv[1:]:
        RATCHET.write_text("".join(f"{name}\n" for name in shrink(files, allowed)))
        return 0
    faults = [*judge(files, allowed), *word_faults()]
    for fault in faults:
        print(fault)
    return int(bool(faults))


def _at(module: Module, node: Function | ast.ClassDef) -> str:
    return f"{module.name}:{node.lineno}: {node.name}"


def _is_own_method(node: ast.stmt) -> bool:
    """Whether this is a method, and not one that the language calls."""
    return isinstance(node, Function) and not node.name.startswith("__")


def _cites(docstring: str | None, rules: dict[str, str]) -> bool:
    return any(rule in rules for rule in traces.cited(docstring or ""))


def _is_set(node: ast.expr) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    called = named and node.func.id in {"set", "frozenset"}  # type: ignore[attr-defined]
    return isinstance(node, ast.Set | ast.SetComp) or called


def _sorts_values_without_key(call: ast.Call) -> bool:
    argument = call.args[0] if call.args else None
    values = isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute)
    named = values and argument.func.attr == "values"  # type: ignore[union-attr]
    return bool(named) and not any(keyword.arg == "key" for keyword in call.keywords)


def _compares_float(node: ast.Compare) -> bool:
    equality = any(isinstance(sign, ast.Eq | ast.NotEq) for sign in node.ops)
    sides = [node.left, *node.comparators]
    return equality and any(
        isinstance(side, ast.Constant) and isinstance(side.value, float) for side in sides
    )


if __name__ == "__main__":
    sys.exit(main())
