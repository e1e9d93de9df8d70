"""Mutants of a module: its syntax tree with one small fault each, of the kinds that weaken a guarantee or a check."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Mutant", "code_of", "mutants_of", "mutated"]

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_SWAPPED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "ceil": "floor",
    "floor": "ceil",
    "any": "all",
    "all": "any",
}
_DROPPED = ("sqrt", "nextafter", "abs", "rint", "cumsum", "unique", "hypot", "ascontiguousarray")
_SHARE = 0.7
_SQL = re.compile(r"\b(SELECT|CASE|WHEN|WHERE|AND|OR|BETWEEN|OVER|CAST|UNION|JOIN|GROUP BY|ORDER BY)\b| <= | >= ")
_IN_SQL: dict[str, str] = {  # within texts with values in braces, which are SQL if they have such words
    r" < ": " <= ",
    r" <= ": " < ",
    r" > ": " >= ",
    r" >= ": " > ",
    r" = ": " <> ",
    r" \+ ": " - ",
    r" - ": " + ",
    r" AND ": " OR ",
    r" OR ": " AND ",
    r" NOT ": " ",
    r"\bIS NULL\b": "IS NOT NULL",
    r"\bLEFT JOIN\b": "JOIN",
    r"\bUNION ALL\b": "UNION",
    r"\bleast\(": "greatest(",
    r"\bfloor\(": "ceil(",
    r"(?<= BY )\w+, ": "",
    r"(?<! AS )(?<![.\w]), [a-z_]+\b(?!\()": "",
    r"(?<=[ (])0\b": "1",
    r"(?<=[ (])[1-9]\b": "0",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault of a module.

    number : of the fault, in the order of the tree
    function : outermost function that has it, "" where Python runs it when it defines the module
    lines : first and last line of the statement
    """

    path: str
    number: int
    kind: str
    line: int
    lines: tuple[int, int]
    function: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A node, what stands there instead, how to put it there, and where it is."""

    node: ast.AST
    kind: str
    instead: ast.AST | None
    put: Callable[[ast.AST | None], None]
    statement: ast.stmt
    function: str


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its tree."""
    found = []
    for number, site in enumerate(_sites(ast.parse(path.read_text()))):
        lines = (site.statement.lineno, _last_line(site.statement))
        before = ast.unparse(site.node)
        after = "pass" if site.instead is None else ast.unparse(site.instead)
        place = getattr(site.node, "lineno", lines[0])
        found.append(Mutant(str(path.relative_to(root)), number, site.kind, place, lines, site.function, before, after))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """The module's tree with this fault."""
    tree = ast.parse(source)
    for at, site in enumerate(_sites(tree)):
        if at == number:
            if site.instead is not None:
                ast.copy_location(site.instead, site.node)
            site.put(site.instead)
            return ast.fix_missing_locations(tree)
    raise IndexError(number)


def code_of(tree: ast.Module, filename: str) -> dict[tuple[str, int], CodeType]:
    """Code of all functions that are not within functions, by qualified name and first line."""
    found: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(tree, filename, "exec")]
    while waiting:
        code = waiting.pop()
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                found[inner.co_qualname, inner.co_firstlineno] = inner
                waiting.append(inner)
    return {key: code for key, code in found.items() if "<locals>" not in key[0]}


def _last_line(statement: ast.stmt) -> int:
    """Of the statement without the block that it heads."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _sites(tree: ast.Module) -> Iterator[_Site]:
    for statement, put in _children(tree):
        if isinstance(statement, ast.stmt):
            yield from _within(statement, put, statement, "", in_function=False)


def _within(
    node: ast.AST, put: Callable[[ast.AST | None], None], statement: ast.stmt, place: str, *, in_function: bool
) -> Iterator[_Site]:
    """Sites of a node and of what it has; `place` is the name of the class or outermost function around it."""
    if (isinstance(node, ast.JoinedStr) and not _is_sql(node)) or _is_text(node) or _is_for_types(node):
        return
    if isinstance(node, ast.stmt):
        statement = node
    function = place if in_function else ""
    for kind, instead in _instead(node):
        yield _Site(node, kind, instead, put, statement, function)
    inner, inside = place, in_function
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not in_function:
        inner = f"{place}.{node.name}".lstrip(".")
        inside = not isinstance(node, ast.ClassDef)
    for child, where in _children(node):
        if isinstance(child, ast.arguments):  # defaults belong to what is around the function
            yield from _within(child, where, statement, place, in_function=in_function)
        else:
            yield from _within(child, where, statement, inner, in_function=inside)


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST | None], None]]]:
    """Nodes that a node has, with what replaces each; neither types, targets, decorators nor texts of errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "decorator_list", "exc", "msg", "returns", "target", "targets"):
            continue
        if isinstance(value, ast.AST):
            yield value, _setter(node, name)
        elif isinstance(value, list):
            parts = [(at, item) for at, item in enumerate(value) if isinstance(item, ast.AST)]
            if isinstance(node, ast.JoinedStr):
                parts = [(at, item) for at, item in parts if isinstance(item, ast.FormattedValue)]
            yield from ((item, _setter(value, at)) for at, item in parts)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_sql(text: ast.JoinedStr) -> bool:
    return any(_SQL.search(part) for part in _parts(text))


def _parts(text: ast.JoinedStr) -> list[str]:
    """What stands between the values in braces; "" for each of these."""
    return [str(part.value) if isinstance(part, ast.Constant) else "" for part in text.values]


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _setter(owner: object, place: str | int) -> Callable[[ast.AST | None], None]:
    def put(node: ast.AST | None) -> None:
        if isinstance(place, int):
            owner[place] = node or ast.Pass()  # type: ignore[index]
        else:
            setattr(owner, place, node)

    return put


def _instead(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.stmt):
        yield from _instead_of_statement(node)
    elif isinstance(node, ast.JoinedStr):
        yield from (("SQL", text) for text in _instead_of_sql(node))
    else:
        yield from _instead_of(node)


def _instead_of_statement(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt | None]]:
    """Faulty versions of one statement; None is none at all."""
    match statement:
        case ast.Raise():
            yield "check removed", None
        case ast.Expr(value=ast.Call()):
            yield "call removed", None
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield "returns None", ast.Return(ast.Constant(None))
        case ast.AugAssign(op=op) if type(op) in _COMPUTED:
            other = copy.deepcopy(statement)
            other.op = _COMPUTED[type(op)]()
            yield "operator", other


def _instead_of(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Faulty versions of one expression; nothing for other nodes."""
    other = copy.deepcopy(node)
    match node, other:
        case ast.Compare(), ast.Compare():
            for at, op in enumerate(node.ops):
                for wrong in _COMPARED[type(op)]:
                    changed = copy.deepcopy(other)
                    changed.ops[at] = wrong()
                    yield "comparison", changed
        case ast.BinOp(op=op), ast.BinOp() if type(op) in _COMPUTED:
            other.op = _COMPUTED[type(op)]()
            yield "operator", other
        case ast.BoolOp(op=op), ast.BoolOp():
            other.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", other
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()), _:
            yield "sign or not", copy.deepcopy(node.operand)
        case ast.IfExp(), ast.IfExp():
            other.body, other.orelse = other.orelse, other.body
            yield "branches", other
        case ast.Constant(), _:
            yield from (("constant", ast.Constant(value)) for value in _constants(node.value))
        case ast.Call(), ast.Call():
            yield from _calls(node)


def _constants(value: object) -> Sequence[str | float]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1] if value else [1]
        case float():
            return [value * _SHARE] if value else [1.0]
        case str() if value:
            return [f"{value}XX"]
        case _:
            return []


def _instead_of_sql(text: ast.JoinedStr) -> Iterator[ast.JoinedStr]:
    for at, part in enumerate(_parts(text)):
        for pattern, instead in _IN_SQL.items():
            for found in re.finditer(pattern, part):
                other = copy.deepcopy(text)
                other.values[at] = ast.Constant(part[: found.start()] + instead + part[found.end() :])
                yield other


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in _SWAPPED:
        other = copy.deepcopy(node)
        if isinstance(other.func, ast.Attribute):
            other.func.attr = _SWAPPED[called]
        else:
            other.func = ast.Name(_SWAPPED[called], ast.Load())
        yield "swapped", other
    if called in _DROPPED and node.args and not isinstance(node.args[0], ast.Starred):
        yield "dropped", copy.deepcopy(node.args[0])
    for at, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            other = copy.deepcopy(node)
            del other.keywords[at]
            yield "keyword removed", other
