"""The options by which a command says how much goes to annotators, and what it then prints of the rest."""

from collections.abc import Mapping
from typing import Any

from analysis.people.stages.portions import WHOLE, Portion
from surveys.imports.actions import arg, flag

PORTION = (
    arg("--items", type=int, metavar="N", help="at most so many in all (default as many as there are)"),
    arg("--people", type=int, metavar="N", help="of at most so many users, by seed (default all)"),
    arg("--seed", type=int, default=WHOLE.seed, help="which ones, and of pairs in which order"),
    flag("--toxic", "also conversations marked as toxic or redacted"),
    flag("--both", "also what the pilot has, or of the pilot the main study"),
)


def portion_of(options: Mapping[str, Any]) -> Portion:
    items, people, seed = (options[name] for name in ("items", "people", "seed"))
    return Portion(items, people, seed, options["both"], options["toxic"], options.get("sample") or "")


def say_portion(report: Mapping[str, Any]) -> str:
    left = [f"{report['beyond']:,} more wait for a larger portion"] if report["beyond"] else []
    left += [f"{report['in_other_part']:,} are in the other part of the study"] if report["in_other_part"] else []
    return "".join(f"; {words}" for words in left)
