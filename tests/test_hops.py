"""What counts as a module and as a step when the modules that a request runs through are counted."""

from collections.abc import Callable
from typing import Any

from benchmarks.hops import Hops, count_hops
from fieldstudy.embedded.servers import ROOT


def write(path: str, source: str, **names: Any) -> Callable[[], Any]:
    """The function `go` of this source, compiled as if in this file."""
    exec(compile(source, str(ROOT / path), "exec"), names)
    return names["go"]


def test_modules_that_wait_for_each_other_are_deep() -> None:
    inner = write("surveys/inner.py", "def go(): return 1")
    middle = write("analysis/views/middle.py", "def own(): return inner()\ndef go(): return own()", inner=inner)
    outer = write("fieldstudy/outer.py", "def go(): middle(); return inner()", inner=inner, middle=middle)
    chain = ["fieldstudy.outer", "analysis.views.middle", "surveys.inner"]
    assert count_hops(outer) == Hops(sorted(chain), chain)


def test_other_packages_and_templates_are_passed_over() -> None:
    inner = write("surveys/inner.py", "def go(): return 1")
    package = write("../site-packages/package.py", "def go(): return inner()", inner=inner)
    outer = write("surveys/__init__.py", "def go(): return package()", package=package)
    assert count_hops(outer) == Hops(["surveys", "surveys.inner"], ["surveys", "surveys.inner"])
    assert count_hops(write("benchmarks/mine.py", "def go(): return 1")) == Hops([], [])


def test_chain_that_comes_back_counts_a_module_again() -> None:
    second = write("surveys/first.py", "def go(): return 1")
    between = write("surveys/between.py", "def go(): return second()", second=second)
    first = write("surveys/first.py", "def go(): return between()", between=between)
    found = count_hops(first)
    assert (len(found.modules), found.chain) == (2, ["surveys.first", "surveys.between", "surveys.first"])


def test_importing_does_not_count() -> None:
    source = "x = 1"
    assert count_hops(lambda: exec(compile(source, str(ROOT / "surveys" / "new.py"), "exec"), {})) == Hops([], [])


def test_made_methods_of_a_dataclass_do_not_count() -> None:
    make = write("surveys/made.py", "from dataclasses import dataclass\n@dataclass\nclass Row: n: int\ngo = Row")
    assert count_hops(lambda: make(1)) == Hops([], [])
