"""The small faults: which there are in a module, and its code with one of them.

Only the bodies of functions are changed: no asserts, annotations, default values or parts of
f-strings, because there a fault changes either nothing or only words.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Final, TypeAlias, TypeVar

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

N = TypeVar("N", bound=ast.AST)

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

# The kind of a fault, and a function that puts it into a place.
_Change: TypeAlias = tuple[str, Callable[[], ast.AST]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A small fault. ``number``: among those of its module. ``function``: what it is in.

    ``kind``: comparison, condition, boolean, arithmetic, constant, return or deleted.
    """

    number: int
    function: str
    line: int
    kind: str
    before: str
    after: str

    def text(self) -> str:
        """Return what is changed, in a line."""
        return f"{self.function}: {self.kind}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands in its parent; ``index`` None: it is the whole field."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        """Put another node there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants(source: str) -> list[Mutant]:
    """Return the faults that a module can have, in the order of its text."""
    found = []
    for number, (function, place, kind, make) in enumerate(_changes(ast.parse(source))):
        old = getattr(place.parent, place.field)
        before = old if place.index is None else old[place.index]
        after = make()
        found.append(Mutant(number, function, before.lineno, kind, _words(before), _words(after)))
    return found


def mutated(source: str, file: str, number: int) -> CodeType:
    """Return the code of a module with one of its faults."""
    tree = ast.parse(source)
    for found, (_, place, _, make) in enumerate(_changes(tree)):
        if found == number:
            place.put(make())
            break
    code: CodeType = compile(ast.fix_missing_locations(tree), file, "exec")
    return code


def functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions of a module and the methods of its classes, not what is inside them."""
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            continue
        if constant.co_flags & _OPTIMIZED:
            yield constant
        else:
            yield from functions(constant)


# The flag of functions, which the bodies of classes do not have.
_OPTIMIZED: Final = 1


def _words(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:100]


def _changes(
    tree: ast.Module,
) -> Iterator[tuple[str, _Place, str, Callable[[], ast.AST]]]:
    for name, function in _functions(tree, ""):
        for index, statement in enumerate(function.body):
            if index == 0 and _is_docstring(statement):
                continue
            for place, node in _nodes(_Place(function, "body", index), statement):
                for kind, make in _faults(node):
                    yield name, place, kind, make


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _nodes(place: _Place, node: ast.AST) -> Iterator[tuple[_Place, ast.AST]]:
    """Yield a node and all below it that may be changed."""
    yield place, node
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.Raise):
        return
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED:
            continue
        if isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, ast.AST) and not _is_docstring(each):
                    yield from _nodes(_Place(node, field, index), each)
        elif isinstance(value, ast.AST):
            yield from _nodes(_Place(node, field, None), value)


_UNTOUCHED: Final = frozenset({"annotation", "returns", "decorator_list", "ctx", "op", "ops"})


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _faults(node: ast.AST) -> Iterator[_Change]:
    """Yield the faults that a node can have."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            yield (
                "comparison",
                lambda: _like(
                    node, ast.Compare(node.left, [_COMPARED[type(operator)]()], node.comparators)
                ),
            )
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", lambda: _like(node, ast.BoolOp(other, node.values))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "boolean" if isinstance(node.op, ast.Not) else "arithmetic", lambda: node.operand
        case ast.BinOp() if type(node.op) in _CALCULATED:
            yield (
                "arithmetic",
                lambda: _like(node, ast.BinOp(node.left, _CALCULATED[type(node.op)](), node.right)),
            )
        case ast.Constant(value=bool() | int() | float() | str()):
            yield "constant", lambda: _like(node, ast.Constant(_other(node.value)))
        case ast.IfExp():
            yield (
                "condition",
                lambda: _like(node, ast.IfExp(_negated(node.test), node.body, node.orelse)),
            )
        case ast.stmt():
            yield from _statement_faults(node)
        case _:
            pass


def _statement_faults(node: ast.stmt) -> Iterator[_Change]:
    match node:
        case ast.If() | ast.While():
            kind = type(node)
            yield (
                "condition",
                lambda: _like(node, kind(_negated(node.test), node.body, node.orelse)),
            )
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return", lambda: _like(node, ast.Return(ast.Constant(None)))
        case ast.AugAssign():
            if type(node.op) in _CALCULATED:
                yield (
                    "arithmetic",
                    lambda: _like(
                        node, ast.AugAssign(node.target, _CALCULATED[type(node.op)](), node.value)
                    ),
                )
            yield "deleted", lambda: _like(node, ast.Pass())
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Delete() | ast.Continue():
            yield "deleted", lambda: _like(node, ast.Pass())
        case ast.Break() | ast.Return() | ast.Raise():
            yield "deleted", lambda: _like(node, ast.Pass())
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "deleted", lambda: _like(node, ast.Pass())
        case _:
            pass


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _negated(test: ast.expr) -> ast.expr:
    return _like(test, ast.UnaryOp(ast.Not(), test))


def _other(value: object) -> bool | float | str:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "" if value else "x"


def _like(old: ast.AST, new: N) -> N:
    """Return a node at the place of another one."""
    return ast.copy_location(new, old)
