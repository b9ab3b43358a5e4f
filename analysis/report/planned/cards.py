"""The cards of *As planned*: each hypothesis with its verdict, its number in words, and a line to show it on."""

from typing import Any

from analysis.charts.figure import Options, Report, Row, prompt_name
from analysis.report.planned.looks import say_look
from analysis.report.planned.part import rows_of, say_verdict, sides_in
from analysis.report.planned.verdicts import (
    BAD,
    GOOD,
    alphas_in,
    from_reference,
    many,
    say_alphas,
    say_difference,
    say_level,
    say_wanted,
    written,
)
from surveys.studies.files.hypotheses import ALPHA, DIFFERENT, EQUAL, KAPPA, LESS, MORE, OF_LABELS, PREFERENCE
from surveys.studies.wording import join_words, p_value, plural

MIDDLE, HALF = 160.0, 150.0  # px of the line: its zero, and how far it goes to either side
LABELS = {
    "item_share": "Share of answers that name “{of}”",
    "letter_share": "Share of answers that take {of}",
    "correct_share": "Share of right answers",
    "entropy_bits": "How varied the items are: entropy, bits",
    "jsd_excess": "How far the items are apart above chance, bits",
    "person_share": "How much of the unlikeness is due to the person",
    "unlikeness": "How far answers are from everybody else’s, 0 to 100",
    ALPHA: "How far people agree: Krippendorff’s α",
    KAPPA: "How far a judge agrees with people’s majority: Cohen’s κ",
    PREFERENCE: "Share of people’s ratings that prefer the personalised response",
}
SIGNS = dict.fromkeys(GOOD, ("good", "✓")) | dict.fromkeys(BAD, ("bad", "✕"))
OTHER = ("open", "≈")


def planned_on_page(report: Report) -> dict[str, Any] | None:
    """What Compare opens with; None for a study without hypotheses."""
    found = report.get("as_planned") or {}
    rows = rows_of(report, Options())
    if not rows:
        return None
    plan = found["plan"]
    return {
        "plan": plan,
        "came": plan.get("people", plan.get("labels")),
        "unit": "person,people" if "people" in plan else "label",
        "alphas": say_alphas(alphas_in(rows)),
        "look": look_to_take(plan),
        "taken": [{**row, "text": say_look(row)} for row in plan.get("taken", ())],
        "cards": [card_of(row, number) for number, row in enumerate(rows, 1)],
        "deviations": found["deviations"],
    }


def look_to_take(plan: Row) -> Row | None:
    """The planned look that is due, or one outside the plan if people came since the last; None if there is none."""
    if plan["frozen_at"] is None or plan.get("next") is None:
        return None
    if plan["due"]:
        return {"at": plan["due"]["at"], "words": plan["due"]["look"]}
    return {"at": plan["people"], "words": ""} if plan["people"] > (plan["look"] or 0) else None


def card_of(row: Row, number: int) -> dict[str, Any]:
    look, sign = SIGNS.get(row["verdict"], OTHER)
    sides = sides_in(row)
    counted = sides[:1] if row["measure"] in OF_LABELS else sides  # two judges have the same items
    return {
        "number": number,
        "text": row["text"],
        "look": look,
        "sign": sign,
        "verdict": say_verdict(row),
        "measure": measure_words(row),
        "sides": [{"name": side["name"], "simulated": side.get("simulated")} for side in sides],
        "wanted": say_wanted(row),
        "found": say_difference(row),
        "n": join_words([plural(side["n"], side["unit"], many(side["unit"])) for side in counted]),
        "p": None if row["p_holm"] is None else p_value(row["p_holm"]),
        "why": "" if row["value"] is None else row.get("why", ""),
        "later": row["later"],
        "line": line_of(row),
    }


def measure_words(row: Row) -> str:
    prompts = row["prompts"]
    asked = f"“{prompt_name(prompts[0])}”" if len(prompts) == 1 else f"mean of {len(prompts)} prompts"
    return f"{LABELS[row['measure']].format(of=row['of'])}, {asked}"


def line_of(row: Row) -> dict[str, Any] | None:
    """Where to draw the interval, zero, the smallest difference that matters, and the range that would be supported."""
    if row["ci"] is None:
        return None
    value, ci = from_reference(row)
    assert value is not None and ci is not None
    (low, high), middle, measure = ci, row.get("reference") or 0.0, row["measure"]
    smallest, expected = row["smallest"], row["expected"]
    most = max(abs(low), abs(high), 1.5 * smallest) or 1.0

    def x(value: float) -> float:
        return MIDDLE + HALF * value / most

    marks = {EQUAL: (-smallest, smallest), MORE: (smallest,), LESS: (-smallest,), DIFFERENT: (-smallest, smallest)}
    ends = {EQUAL: (-smallest, smallest), MORE: (0.0, most), LESS: (-most, 0.0), DIFFERENT: (-most, most)}[expected]
    return {
        "wash": px(x(ends[0])),
        "wide": px(x(ends[1]) - x(ends[0])),
        "marks": [{"x": px(x(at)), "label": written(measure, middle + at)} for at in marks[expected] if smallest],
        "low": px(x(low)),
        "high": px(x(high)),
        "value": px(x(value)),
        "middle": say_level(measure, middle) if middle else "0",
        "alt": f"{say_difference(row)}; expected: {say_wanted(row)}",
    }


def px(at: float) -> str:
    """Format px with a decimal point in every language, as a drawing needs."""
    return f"{at:.1f}"
