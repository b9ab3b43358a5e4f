"""The rules of the architecture, read off the source itself."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT

APPS = ("fieldstudy", "analysis", "surveys")
FORBIDDEN = {"surveys": {"analysis", "fieldstudy"}, "analysis": {"fieldstudy"}, "fieldstudy": set()}
# The rooms, lowest first, and the others each may know: of its own app and of `surveys`.
# docs/architecture.md draws the same picture.
ROOMS = {
    "fieldstudy.embedded": "",
    "surveys.reading": "",
    "surveys.models": "",
    "surveys.studies": "reading models",
    "surveys.participation": "reading models studies",
    "surveys.annotation": "models studies participation",
    "surveys.console": "reading models studies participation annotation",
    "surveys.prolific": "reading models studies console",
    "surveys.simulation": "reading models studies participation annotation",
    "surveys.management": "models studies annotation prolific simulation",
    "analysis.stats": "",
    "analysis.models": "| models",
    "analysis.charts": "models | studies",
    "analysis.endpoints": "models | reading models studies simulation",
    "analysis.answers": "stats models endpoints | reading models studies",
    "analysis.exports": "models answers | reading models studies",
    "analysis.people": "stats models charts endpoints exports | reading models studies annotation",
    "analysis.training": "stats models charts endpoints people | models studies",
    "analysis.runs": "models endpoints exports people | reading models studies",
    "analysis.report": "stats charts models exports answers | reading models studies",
    "analysis.agreement": "stats charts models exports people report | models studies annotation",
    "analysis.plans": "stats models report agreement | models studies",
    "analysis.notices": "models endpoints answers | models studies console",
    "analysis.management": (
        "models endpoints training people exports runs answers report agreement plans | models studies simulation"
    ),
}
# Folders with their own concept: the rest of the room does not know an upper one; a lower one does not know the rest.
UPPER = (
    "surveys.studies.imports",
    "surveys.participation.pasting",
    "surveys.console.editor",
    "analysis.agreement.papers",
)
LOWER = ("surveys.console.monitoring", "analysis.endpoints.owners", "analysis.people.corpora")
# Modules that lie in no room: what Django looks for at the top of an app.
LOOSE = {
    *(
        "fieldstudy/apps.py",
        "fieldstudy/asgi.py",
        "fieldstudy/celery.py",
        "fieldstudy/consumer.py",
        "fieldstudy/front.py",
        "fieldstudy/logs.py",
        "fieldstudy/health.py",
        "fieldstudy/pooled.py",
    ),
    *("fieldstudy/probe.py", "fieldstudy/settings.py", "fieldstudy/urls.py", "fieldstudy/wsgi.py"),
    *("surveys/admin.py", "surveys/middleware.py"),
    "analysis/apps.py",
}
MOST_MODULES = 14
# The edges, which may start background work. Everything else in an app is a rule or a model.
EDGES = {"views", "pages", "api", "admin", "tasks", "urls", "commands", "management"}
CLEAN_OF_DJANGO = {"django", "rest_framework", "celery", "psycopg", "surveys", "fieldstudy"}
IMPORTERS = {"import_module", "__import__", "import_string", "get_model"}
ENQUEUEING = {"delay", "apply_async", "send_task"}


@pytest.fixture(scope="module", autouse=True)
def no_trees_left() -> Iterator[None]:
    yield
    tree_of.cache_clear()


def sources(*folders: str) -> list[Path]:
    """Hand-written Python in these folders, without migrations, which are Django's own."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "migrations" not in path.parts]


def is_edge(name: str) -> bool:
    """Whether a module or folder directly below an app is an edge; `console_urls` is one, as `urls` is."""
    return name.split("_")[-1] in EDGES


def rules_and_models() -> list[Path]:
    paths = sources("surveys", "analysis")
    return [path for path in paths if not any(is_edge(part.removesuffix(".py")) for part in parts_of(path))]


def parts_of(path: Path) -> tuple[str, ...]:
    """The names below the app: room, folder, module."""
    return path.relative_to(ROOT).parts[1:]


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    """The last part of the function's name."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """Every module imported below this node, by relative and dynamic imports too, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from ((f"{base}.{name.name}", node.lineno) for name in node.names)
        elif isinstance(node, ast.Call) and called(node) in IMPORTERS:
            yield from ((str(part.value), node.lineno) for part in node.args[:1] if isinstance(part, ast.Constant))


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return list(imported_modules(tree_of(path), package))


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def imports(paths: Iterable[Path], is_wrong: Callable[[str], bool]) -> list[str]:
    """The places where these files import something they may not."""
    return [
        f"{place(path, line)} imports {module}"
        for path in paths
        for module, line in imports_of(path)
        if is_wrong(module)
    ]


def top(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("app", APPS)
def test_imports_point_one_way_only(app: str) -> None:
    assert imports(sources(app), lambda module: top(module) in FORBIDDEN[app]) == []


def modules_of(paths: list[Path]) -> dict[str, Path]:
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def whole(imported: str, known: Container[str]) -> str:
    """The module of an import, which may name something inside the module."""
    return imported if imported in known else imported.rpartition(".")[0]


def known_to(room: str) -> list[str]:
    """The full names of the rooms that this one may know."""
    apps = zip((room.split(".")[0], "surveys"), ROOMS[room].split("|"), strict=False)
    return [f"{app}.{name}" for app, names in apps for name in names.split()]


def arrows() -> dict[str, dict[str, str]]:
    """Which room imports which others, each with a place where it does."""
    known, found = modules_of(sources(*APPS)), {}
    for module, path in known.items():
        for imported, line in imports_of(path):
            name = whole(imported, known)
            if room_of(name) in ROOMS and room_of(name) != room_of(module):
                found.setdefault(room_of(module), {}).setdefault(room_of(name), place(path, line))
    return found


def test_rooms_know_only_the_rooms_that_the_table_names() -> None:
    found = arrows()
    wrong = [
        f"{at}: {room} knows {other}"
        for room, others in found.items()
        if room in ROOMS
        for other, at in others.items()
        if other not in known_to(room)
    ]
    unused = [f"{room} {other}" for room in ROOMS for other in known_to(room) if other not in found.get(room, {})]
    assert (wrong, unused) == ([], [])


def test_arrows_point_down_the_table_only() -> None:
    order = list(ROOMS)
    assert [
        f"{room} {other}" for room in ROOMS for other in known_to(room) if order.index(other) > order.index(room)
    ] == []


@pytest.mark.parametrize("folder", [*UPPER, *LOWER])
def test_folder_with_a_concept_of_its_own_is_known_one_way_only(folder: str) -> None:
    known, wrong = modules_of(sources(*APPS)), []
    assert folder in known
    for module, path in known.items():
        for imported, line in imports_of(path):
            name = whole(imported, known)
            within = room_of(name) == room_of(module) == room_of(folder)
            inside = [f"{each}.".startswith(f"{folder}.") for each in (module, name)]
            if within and inside == [folder in LOWER, folder in UPPER]:
                wrong.append(f"{place(path, line)} imports {name}")
    assert wrong == []


def test_every_module_lies_in_a_room_that_can_be_overlooked() -> None:
    paths = [path for path in sources(*APPS) if path.name != "__init__.py"]
    outside = {str(path.relative_to(ROOT)) for path in paths if len(parts_of(path)) == 1}
    rooms = {room_of(name) for name in modules_of(paths)} - {
        room_of(name) for name in modules_of(paths) if name.count(".") == 1
    }
    sizes = Counter(path.parent for path in paths if path.parent.name != "commands")
    assert outside == LOOSE
    assert rooms == set(ROOMS)
    assert {str(folder.relative_to(ROOT)): n for folder, n in sizes.items() if n > MOST_MODULES} == {}


def test_rooms_say_what_they_are_for() -> None:
    inits = [ROOT / room.replace(".", "/") / "__init__.py" for room in ROOMS if "management" not in room]
    assert [str(path) for path in inits if not ast.get_docstring(tree_of(path))] == []


def test_imports_stand_at_the_top_of_the_module() -> None:
    wrong = [
        place(path, node.lineno)
        for path in sources(*APPS)
        if re.search(r"^ +(import|from) ", path.read_text(), re.MULTILINE)
        for function in ast.walk(tree_of(path))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert wrong == []


def test_rules_and_models_never_enqueue() -> None:
    wrong = [
        place(path, call.lineno)
        for path in rules_and_models()
        for call in calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ENQUEUEING
    ]
    assert wrong == []


def test_rules_and_models_import_no_edge() -> None:
    known = modules_of(sources(*APPS))

    def names_edge(module: str) -> bool:
        return top(module) in APPS and any(is_edge(name) for name in whole(module, known).split(".")[1:])

    assert imports(rules_and_models(), names_edge) == []


@pytest.mark.parametrize(
    ("folder", "may"), [("analysis/stats", ()), ("surveys/studies/files", ("surveys.studies.files", "surveys.reading"))]
)
def test_statistics_and_study_files_know_neither_django_nor_the_tables(folder: str, may: tuple[str, ...]) -> None:
    def knows(module: str) -> bool:
        return (top(module) in CLEAN_OF_DJANGO or module.startswith("analysis.models")) and not module.startswith(may)

    assert imports(sources(folder), knows) == []


NEURAL = {"torch", "transformers", "trl", "peft", "accelerate", "datasets", "gguf"}  # extras, in processes of their own
NETWORKS = "analysis.training.networks"


def test_only_training_programs_know_torch_and_nobody_imports_these() -> None:
    others = [path for path in sources(*APPS) if NETWORKS not in ".".join(path.relative_to(ROOT).parts)]
    assert imports(others, lambda module: top(module) in NEURAL or module.startswith(NETWORKS)) == []


def is_literal(node: ast.expr) -> bool:
    """Whether it is text in the source, a CONSTANT, or a choice between such."""
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) and is_literal(node.orelse)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def is_built_at_run_time(text: ast.expr) -> bool:
    if isinstance(text, ast.JoinedStr):
        return not all(is_literal(part.value) for part in text.values if isinstance(part, ast.FormattedValue))
    if isinstance(text, ast.BinOp):
        return not (is_literal(text.left) and is_literal(text.right))
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == "format":
        return not all(is_literal(value) for value in (*text.args, *(word.value for word in text.keywords)))
    return False


def test_sql_is_never_put_together_from_input() -> None:
    wrong = [
        place(path, call.lineno)
        for path in sources(*APPS)
        for call in calls(path)
        if called(call) in ("execute", "executemany", "raw", "RawSQL", "copy", "extra")
        and call.args
        and is_built_at_run_time(call.args[0])
    ]
    assert wrong == []


INLINE = re.compile(r"<style|<script(?![^>]*\bsrc=)|\s(?:style|on[a-z]+)=[\"']|javascript:", re.IGNORECASE)
ELSEWHERE = re.compile(r"(?:src|action|<link[^>]*href)=[\"']?(?:https?:)?//", re.IGNORECASE)
DATA_BLOCK = re.compile(r"<script[^>]*type=\"application/json\"[^>]*>")


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_template_has_nothing_inline_and_nothing_from_elsewhere(path: Path) -> None:
    text = DATA_BLOCK.sub("", path.read_text())
    assert [match.group() for match in INLINE.finditer(text)] == []
    assert [match.group() for match in ELSEWHERE.finditer(text)] == []


def test_modules_say_what_they_are_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in [*sources(*APPS), ROOT / "manage.py"]
        if path.read_text().strip() and not ast.get_docstring(tree_of(path))
    ]
    assert silent == []


# Verbs that are no nouns, and whatever ends like a verb before its object; "Rows of …" and "Answers that …" are things.
THIRD_PERSON = re.compile(
    r"(?:Adds|Asks|Checks|Compares|Computes|Finds|Gives|Keeps|Makes|Puts|Raises|Reads|Returns|Says|Sends|Takes|Tells"
    r"|Writes|Yields)\b|[A-Z][a-z]*[^\Ws]s (?:an?|the|each|every|all|one|what|how|whether|its|this|these)\b"
)


def test_docstrings_of_functions_are_imperative() -> None:
    wrong = [
        place(path, node.lineno)
        for path in sources(*APPS, "benchmarks", ".ci", "docs", "examples", "tests")
        if re.search(rf'"""({THIRD_PERSON.pattern})', path.read_text())
        for node in ast.walk(tree_of(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("test_")
        if THIRD_PERSON.match(ast.get_docstring(node) or "")
    ]
    assert wrong == []


def test_no_file_outgrows_a_readers_patience() -> None:
    files = [*sources(*APPS, "tests"), *(ROOT / "templates").rglob("*.html")]
    assert {path.name: n for path in files if (n := len(path.read_text().splitlines())) > 500} == {}


def test_hand_written_scripts_stay_few() -> None:
    """1,300 lines: every further place of a personal detail found on the page, one button to copy, open and paste, one
    press to remove the chatbot page's own words, a figure visible only in moving dots, a count of ticks for an export.
    """
    scripts = [path for app in APPS for path in (ROOT / app).glob("static/**/*.js")]
    assert scripts and sum(len(path.read_text().splitlines()) for path in scripts) <= 1_300


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import analysis.runs", "analysis.runs"),
        ("def f():\n    from analysis import runs", "analysis.runs"),
        ("from ..analysis import runs", "analysis.runs"),
        ("import_module('analysis.runs')", "analysis.runs"),
    ],
)
def test_hidden_imports_are_seen(source: str, module: str) -> None:
    package = "surveys" if source.startswith("from ..") else "surveys.models"
    assert [name for name, _ in imported_modules(ast.parse(source), package)] == [module]


@pytest.mark.parametrize(
    "source",
    ["f'SELECT {x}'", "'SELECT ' + x", "'SELECT %s' % x", "'SELECT {}'.format(x)", "SQL.format(a=1 if x else y)"],
)
def test_formatted_sql_is_seen(source: str) -> None:
    assert is_built_at_run_time(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize("source", ["'SELECT 1'", "SQL", 'f\'SELECT {"a" if x else "b"}\'', "SQL.format(a='b')"])
def test_sql_of_fixed_texts_is_left_alone(source: str) -> None:
    assert not is_built_at_run_time(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize(
    "source", ['<p style="x">', "<script>x</script>", '<a onclick="x">', '<a href="javascript:x">']
)
def test_inline_parts_are_seen(source: str) -> None:
    assert INLINE.search(source)
