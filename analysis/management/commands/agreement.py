"""Say how far annotators and judges agree."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.core.management.base import CommandError

from analysis.agreement.agreements import rows_for
from analysis.agreement.annotations import REVISED, WITHOUT, LabelChoice, Measuring
from analysis.agreement.documents import document_of
from analysis.agreement.follow_ups.tables import format_tables
from analysis.agreement.planned import lines_of_plan
from analysis.agreement.tables import COEFFICIENTS, OF_PAIRS, groups_of, items_behind, say_items
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, flag
from surveys.studies.wording import fill, plural, sized

GROUPS = ("corpus", "tag", "user")


class Command(StudyAction):
    help = "Print every coefficient of agreement with its n and 95 % interval, for each question."
    arguments = (
        flag("--pilot", "the pilot's labels instead of the main ones"),
        arg("--corpus", default="", help="items of this corpus only"),
        arg("--cluster", default="", help="items about this user only"),
        arg("--tag", default="", metavar="NAME:VALUE", help="items with this tag only"),
        flag("--without-simulated"),
        arg("--without", default="", choices=WITHOUT, help="labels of people that are left out"),
        arg("--revised", default="", choices=REVISED, help="statements that models revised"),
        arg("--threshold", type=int, default=Measuring.threshold, help="items that a pair must share to count"),
        arg("--draws", type=int, default=Measuring.draws),
        arg("--seed", type=int, default=0),
    )

    def carry_out(self, study: Study, options: Options) -> Report:
        if options["draws"] < 1 or options["threshold"] < 1:
            raise CommandError("--draws and --threshold must be 1 or more.")
        given = (options[name] for name in ("corpus", "cluster", "tag", "without", "revised"))
        choice = LabelChoice(options["pilot"], not options["without_simulated"], *given)
        found = rows_for(study, choice, **{name: options[name] for name in ("seed", "draws", "threshold")})
        if not found["questions"]:
            raise CommandError(
                f"{study.slug} asks annotators nothing. Import annotations, or load an annotation study."
            )
        return found

    def as_json(self, report: Report) -> str:
        return json.dumps(document_of(report), ensure_ascii=False)

    def tell(self, report: Report, options: Options) -> str:
        raters = report["simulated"]
        made_up = f"Simulated, not real: {len(raters)} of the raters ({', '.join(raters)})" if raters else ""
        parts = (made_up, "\n".join(lines_of_plan(report)), *map(say, report["questions"]))
        return "\n\n".join(filter(None, parts))


def say(question: dict[str, Any]) -> str:
    """Format one question as a table for the terminal."""
    head = ": ".join(dict.fromkeys((question["question"], question["text"])))
    if not question["labels"]:
        return f"{head}\n  {question['why']}"
    group = groups_of(question)[question["group"]]
    n, units = group["n"], group["units"]
    size = fill("  {labels:label} by {annotators:rater} on ", **question) + say_items(question)
    compared = f"{sized(n)}{items_behind(question, units, n) if n != units else ''}:"
    whose = [f"  of people alone, {compared}"] if question["group"] == "humans" else []
    if not whose and n == question["items"] and question["drawn"] == "users":
        size += f" about {plural(units, 'user')}"
    elif not whose and 0 < n < question["items"]:
        whose = [f"  compared, {compared}"]
    rows = [(column.short, column.cell(group)) for column in COEFFICIENTS]
    rows += [(f"mean {column.short}", column.cell(group["means"])) for column in OF_PAIRS]
    numbers = [
        f"  {name:<22}{write(number.value):>8} {write_interval(number.ci)}".rstrip()
        for name, number in rows
        if number.value is not None
    ]
    counts = [f"{label} {question['majority'][label]}" for label in question["values"]]
    majority = f"  majority: {', '.join(counts)}, tie {question['ties']}"
    skew = [f"  {group['skew']}"] if group["skew"] else []
    lines = [head, size, *whose, *numbers, majority, *skew, *format_pairs(question["pairs"])]
    lines += [*format_raters(question["raters"]), *format_statements(question), *format_tables(question)]
    return "\n".join([*lines, *(line for name in GROUPS for line in format_groups(question, name))])


def format_rows(title: str, lines: Sequence[str], most: int, more: str) -> list[str]:
    """Format the first lines under their title, and how many more there are."""
    left = [f"    … and {len(lines) - most} more{more}"] if len(lines) > most else []
    return [f"  {title}", *(f"    {line}" for line in lines[:most]), *left] if lines else []


def format_groups(question: dict[str, Any], name: str) -> list[str]:
    """Format agreement and label shares by corpus, tag or user."""
    rows = question.get(f"by_{name}", ())
    lines = [f"{row[name] or 'none named'}: {plural(row['items'], 'item')}, {say_part(question, row)}" for row in rows]
    return format_rows(f"by {name}", lines, 30, " (--json has them all)")


def format_statements(question: dict[str, Any]) -> list[str]:
    """Format extracted and revised statements; the numbers above have only those chosen."""
    rows = question.get("by_statement", ())
    counts = [f"{plural(row['n'], 'label')} on {plural(row['items'], 'item')}" for row in rows]
    return [f"  {row['statement']}: {n}, {say_part(question, row)}" for row, n in zip(rows, counts, strict=True)]


def say_part(question: dict[str, Any], row: dict[str, Any]) -> str:
    shares = ((value, row["shares"][value]) for value in question["values"])
    said = (
        f"{value} {write_percent(share['value'])}{write_interval(share['ci'], write_percent)}"
        for value, share in shares
    )
    return ", ".join([f"alpha {write(row['alpha']['value'])}{write_interval(row['alpha']['ci'])}", *said])


def format_pairs(pairs: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"{pair['a']} – {pair['b']}: κ {write(pair['kappa']['value'])}{write_interval(pair['kappa']['ci'])}, "
        f"n = {pair['n']}"
        for pair in pairs
    ]
    return format_rows("pairs", lines, 15, " pairs (--json has them all)")


def format_raters(raters: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"{rater['rater']}{format_kind(rater)}: n = {rater['n']}, against the majority of the others accuracy "
        f"{write(rater['accuracy']['value'])}, F1 {write(rater['f1']['value'])} (n = {rater['compared']})"
        for rater in raters
    ]
    return format_rows("raters", lines, 30, " raters")


def format_kind(rater: dict[str, Any]) -> str:
    words = [*([rater["kind"]] if rater["is_model"] else []), *rater["marks"]]
    return f" ({', '.join(words)})" if words else ""


def write(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def write_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def write_interval(interval: Sequence[float] | None, form: Callable[[float], str] = write) -> str:
    return f" [{form(interval[0])}, {form(interval[1])}]" if interval else ""
