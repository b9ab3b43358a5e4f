"""Whether there is enough to compare: one rule for sentences, p values and differences."""

from collections.abc import Sequence

from analysis.charts.figure import Report, Row
from analysis.report.dataset import FIELD
from surveys.studies.wording import plural

FEWEST = 20  # people, simulated users or repeats of either side, below which nothing is tested or claimed
MOST_UNKNOWN = 0.5  # share of answers in which nothing was found, above which nothing is compared
ALL_OUT = "The study’s rules of exclusion leave all answers of people out."
TO_LISTS, TO_CHOICES = " to prompts for recommendations", " to questions with options"
NOTHING_FOUND = "Nothing is compared: in too many answers nothing was found."


def units_of(row: Row) -> int:
    return int(row.get("units") or row.get("n") or 0)


def is_enough(*rows: Row) -> bool:
    return all(units_of(row) >= FEWEST for row in rows)


def few_in(row: Row, test: Row | None = None) -> str:
    """Why a comparison has no p: a side has too few; empty if there are enough."""
    sides = [units_of(row), (test or {}).get("n"), *map(row.get, ("n_field", "n_first", "n_original"))]
    known = [int(side) for side in sides if side is not None]
    return f"Fewer than {FEWEST} on one side: too few to test." if min(known) < FEWEST else ""


def unknown_in(row: Row) -> int:
    return int(row.get("unknown") or 0)


def is_read(*rows: Row) -> bool:
    return all(unknown_in(row) <= MOST_UNKNOWN * int(row.get("n") or 0) for row in rows)


def may_turn(row: Row, share: float, other: Row, of_other: float) -> bool:
    """Whether unknown answers could raise the smaller of two shares of all answers to the larger."""
    (low, below), (high, _) = sorted([(share, row), (of_other, other)], key=lambda pair: pair[0])
    return bool(unknown_in(below)) and low + unknown_in(below) / int(below["n"]) >= high


def held_back(row: Row, other: Row) -> str:
    """Why two sources are not compared despite enough answers of each; empty if they are."""
    if is_read(row, other):
        return ""
    unknown, answers = unknown_in(row) + unknown_in(other), int(row["n"]) + int(other["n"])
    return f"Held back: in {unknown:,} of {plural(answers, 'answer')} nothing was found."


def all_out(report: Report) -> str:
    """Say that exclusion rules leave no person's answer; empty if some are left, or none were left out."""
    left_out = any(rule["answers"] for rule in report.get("exclusions", ()))
    return ALL_OUT if left_out and not report["answers"]["field"] else ""


def unread_in(report: Report) -> str:
    """Say how many texts are still unread, since missing answers may be among them; empty if none are."""
    count = report.get("answers", {}).get("unread")
    return f"Nothing is compared yet: {plural(count, 'text')} still to be read." if count else ""


def too_few(rows: Sequence[Row], to: str = "") -> str:
    """Why nothing is compared among a part's rows: whose answers are missing or too few; empty if there are enough.

    `to`: the kind of prompts that the part is about, in words.
    """
    people = [row for row in rows if row["source"] == FIELD and row.get("n")]
    others = [row for row in rows if row["source"] != FIELD and row.get("n")]
    if not people:
        hidden = any("against_field" in row for row in others)
        return "" if hidden else f"No answers of people{to} are counted: there is nothing to compare."
    if few := too_few_people(people):
        return few
    if not others:
        return "No answers of models: there is nothing to compare people’s with."
    if max(map(units_of, others)) < FEWEST:
        return f"No source has answers of {FEWEST} simulated users or repeats to a prompt: too few to compare."
    return ""


def too_few_people(rows: Sequence[Row], to: str = "compare") -> str:
    """Why rows of the field say nothing yet; empty if enough people answered."""
    if max(map(units_of, rows), default=0) >= FEWEST:
        return ""
    together: dict[str, dict[str, int]] = {}
    for row in rows:
        of = together.setdefault(row.get("prompt", ""), {})
        of[row.get("model", "")] = max(of.get(row.get("model", ""), 0), units_of(row))
    if any(sum(of.values()) >= FEWEST for of in together.values()):
        return f"No chatbot has answers of {FEWEST} people to a prompt: too few to {to}."
    return f"Fewer than {FEWEST} people have answered a prompt: too few to {to}."
