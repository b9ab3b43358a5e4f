"""Every pattern of the platform with its uses, and texts made from a pattern itself."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("surveys", "analysis", "fieldstudy")
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn")
SEARCHED = ("search", "findall")  # where the code does not say by the pattern's name


class Site(NamedTuple):
    """A call in the code that makes a pattern; `where` is its module and, if it has one, its name."""

    where: str
    call: ast.Call
    name: str
    is_inside: bool  # of a function or a comprehension, whose values only an example has

    @property
    def method(self) -> str:
        return self.call.func.attr  # type: ignore[attr-defined]


@cache
def modules(words: bytes = b"") -> dict[str, ast.Module]:
    """The platform's modules with these words in their text, parsed."""
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(text)
        for path in paths
        if words in (text := path.read_bytes())
    }


def is_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in ("compile", *METHODS)
    )


LOCAL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


def sites() -> list[Site]:
    """Every call of `re.compile`, `re.search`, … in the code."""

    def walk(module: str, node: ast.AST, name: str, is_inside: bool) -> Iterator[Site]:
        for child in ast.iter_child_nodes(node):
            named, inside = name, is_inside or isinstance(child, LOCAL)
            if isinstance(child, ast.FunctionDef) or (isinstance(child, ast.ClassDef) and not is_inside):
                named = name or child.name
            elif isinstance(child, ast.Assign | ast.AnnAssign) and not is_inside:
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                named = target.id if isinstance(target, ast.Name) else name
            if is_of_re(child):
                yield Site(f"{module}.{named}" if named else module, child, named, inside)  # type: ignore[arg-type]
            yield from walk(module, child, named, inside)

    trees = modules(b"\nimport re\n")
    return [site for module, tree in trees.items() for site in walk(module, tree, "", False)]


def pattern_of(site: Site) -> re.Pattern[str] | re.Pattern[bytes] | None:
    """The pattern the call compiles; None if only the running code knows it."""
    pattern, *rest = site.call.args
    place = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(site.method, 2)
    flags = [keyword.value for keyword in site.call.keywords if keyword.arg == "flags"] or site.call.args[place:]
    values: list[Any] = []
    for node in (pattern, *flags[:1]):
        module = site.where.removesuffix(f".{site.name}")
        code = compile(ast.Expression(node), module, "eval")
        try:
            values.append(eval(code, {"re": re}))  # noqa: S307 - our own code
        except NameError:
            try:
                values.append(eval(code, dict(vars(importlib.import_module(module)))))  # noqa: S307
            except NameError:
                return None
    return re.compile(*values)


@cache
def uses() -> dict[str, set[str]]:
    """The methods by which the code uses each pattern, by its module and name."""
    found: dict[str, set[str]] = {}
    for module, tree in modules().items():
        known = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and node.attr in METHODS):
                continue
            value = node.value
            if isinstance(value, ast.Name):
                found.setdefault(known.get(value.id, f"{module}.{value.id}"), set()).add(node.attr)
            elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id in known:
                found.setdefault(f"{known[value.value.id]}.{value.attr}", set()).add(node.attr)
    return found


def methods_of(site: Site) -> tuple[str, ...]:
    if site.method != "compile":
        return (site.method,)
    return tuple(sorted(uses().get(site.where, ()))) or SEARCHED


# --- texts made from a pattern --------------------------------------------------

PARSER: Any = importlib.import_module("re._parser")
MOST_PREFIX = 4  # of a repeat that is wanted more often, so many


def own_units(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """(opening, repeated unit): for each repeat in the pattern, a text that leads there and one round of it."""
    if isinstance(pattern.pattern, bytes):
        return []
    tree = PARSER.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    units: dict[tuple[str, str], None] = {}
    for before, body in _repeats(tree, ""):
        for unit in (body, before, before + body, before + body + body):
            units.setdefault(("", unit))
        units.setdefault((before, body))
    units.setdefault(("", _example(tree)))
    return [(opening, unit) for opening, unit in units if unit]


def _repeats(nodes: Any, before: str) -> Iterator[tuple[str, str]]:
    for code, value in nodes:
        kind = str(code)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            if most > 1:
                yield before, _example(inner)
                for other in _alternatives(inner):
                    yield before, other
            yield from _repeats(inner, before)
        elif kind == "SUBPATTERN":
            yield from _repeats(value[-1], before)
        elif kind == "BRANCH":
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif kind in ("ASSERT", "ASSERT_NOT"):
            yield from _repeats(value[1], before if value[0] > 0 else "")
        elif kind == "ATOMIC_GROUP":
            yield from _repeats(value, before)
        before += _example([(code, value)])


def _alternatives(nodes: Any) -> list[str]:
    """Examples of the ways of a repeated choice or set, one for each branch or member; at most six."""
    found = []
    for code, value in nodes:
        kind = str(code)
        if kind == "BRANCH":
            found += [_example(branch) for branch in value[1]]
        elif kind == "SUBPATTERN":
            found += _alternatives(value[-1])
        elif kind == "IN":
            found += [_one_of([part]) for part in value if str(part[0]) != "NEGATE"]
    return found[:6]


CATEGORIES = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_NOT_WORD": " ",
}


def _one_of(parts: Any) -> str:
    negated = str(parts[0][0]) == "NEGATE"
    if negated:
        wanted = re.compile("[^" + "".join(_written(part) for part in parts[1:]) + "]")
        return next((sign for sign in "a 1.-\n\x01" if wanted.fullmatch(sign)), "\u2603")
    code, value = parts[0]
    if str(code) == "LITERAL":
        return chr(value)
    return chr(value[0]) if str(code) == "RANGE" else CATEGORIES.get(str(value), "a")


def _written(part: Any) -> str:
    code, value = part
    if str(code) == "LITERAL":
        return re.escape(chr(value))
    if str(code) == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    short = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    name = str(value).removeprefix("CATEGORY_")
    letter = short[name.removeprefix("NOT_")]
    return "\\" + (letter.upper() if name.startswith("NOT_") else letter)


def _example(nodes: Any) -> str:
    """A short text that the nodes match, ignoring lookarounds."""
    parts = []
    for code, value in nodes:
        kind = str(code)
        if kind == "LITERAL":
            parts.append(chr(value))
        elif kind == "NOT_LITERAL":
            parts.append("a" if value != ord("a") else "b")
        elif kind == "ANY":
            parts.append("a")
        elif kind == "IN":
            parts.append(_one_of(value))
        elif kind == "SUBPATTERN":
            parts.append(_example(value[-1]))
        elif kind == "ATOMIC_GROUP":
            parts.append(_example(value))
        elif kind == "BRANCH":
            parts.append(_example(value[1][0]))
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            parts.append(_example(value[2]) * min(value[0], MOST_PREFIX))
    return "".join(parts)
