"""As planned: each hypothesis with estimate, interval, corrected p and verdict, in the order of the study file, and its
card: verdict, number in words, and a line with the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction

from analysis.charts.figure import Options, Report, Row, prompt_name
from analysis.charts.tables import Column, P
from analysis.report.claims.enough import FEWEST
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.planned.answers import Sides, examine, find_sides, first_people, side_row, until_of, without_later
from analysis.report.planned.deviations import came_later, deviations, later_hypotheses, plan_of, versions_of
from analysis.report.planned.looks import ACTION, END, Standing, note_look, say_look, stand
from analysis.report.planned.verdicts import (
    BAD,
    GOOD,
    NOT_LOOKED,
    NOT_YET,
    TOO_FEW,
    UNDECIDED,
    alphas_in,
    decide,
    from_reference,
    many,
    p_of,
    say_alphas,
    say_difference,
    say_level,
    say_verdicts,
    say_wanted,
    unit_of,
    written,
)
from analysis.report.samples import Data, low_high, reasons
from analysis.stats.hypotheses.tested import passed
from analysis.stats.intervals import holm
from surveys.models import locks
from surveys.studies.audit import SYSTEM
from surveys.studies.files.hypotheses import (
    ALONE,
    ALPHA,
    DIFFERENT,
    EQUAL,
    KAPPA,
    LESS,
    MORE,
    OF_LABELS,
    PREFERENCE,
    Hypothesis,
    PlanKeys,
)
from surveys.studies.lifecycle import hold_withdrawals
from surveys.studies.wording import join_words, p_value, plural, sized

Level = Callable[[float], float]
UNSEEN = "Nobody has looked yet."


def compute(data: Data) -> Row:
    """Compute the part, empty without hypotheses; on first seeing the end, record it in the audit trail."""
    if not data.definition.of_answers:
        return {}
    standing = stand(data.study, len(data.people))
    plan, frozen = data.definition.plan or PlanKeys(), plan_of(data.study)
    seen = seen_by(data, standing)
    rows, sides = decided(seen, standing)
    if standing.is_unnoted:
        hold_withdrawals(data.study)  # before the audit trail, as everywhere
        if not stand(data.study, standing.people).is_unnoted:  # recorded elsewhere meanwhile
            return compute(data)
        note_look(data.study, SYSTEM, END, standing.and_at(standing.planned, until_of(data, standing.people)), rows)
    later = later_hypotheses(data.study, frozen)
    return {
        "plan": {
            **{name: frozen[name] for name in ("version", "sha256", "frozen_at")},
            "alpha": plan.alpha,
            "people": standing.people,
            "planned": standing.planned,
            "looks": list(plan.looks),
            "look": standing.at,
            "next": standing.next,
            "due": {"at": standing.due, "look": standing.number(standing.due)} if standing.due else None,
            "taken": list(standing.before),
            "came_later": came_later(standing, seen),
            "analysis": versions_of(data.study),
            "closed": standing.is_closed,
        },
        "hypotheses": [row | {"later": row["hypothesis"] in later} for row in rows],
        "deviations": deviations(seen, sides, frozen, standing, alphas_in(rows)),
    }


def seen_by(data: Data, standing: Standing) -> Data:
    """The data without people who completed after the newest look, or after a shown end."""
    if standing.shown:
        frames = without_later(data.frames, standing.shown["until"])
        return Data(data.study, data.definition, frames, data.filters, data.seed, data.draws)
    look = standing.taken[-1] if standing.taken and not standing.is_over else None
    return first_people(data, look["at"], look.get("until", "")) if look else data


def decided(seen: Data, standing: Standing) -> tuple[list[Row], list[Sides]]:
    """The hypotheses at the newest look; those of a launched study have no numbers before the first look."""
    plan = seen.definition.plan or PlanKeys()
    sides = [find_sides(seen, hypothesis) for hypothesis in seen.definition.of_answers]
    is_hidden = standing.is_launched and standing.at is None
    shown = [replace(each, why=each.why or UNSEEN) for each in sides] if is_hidden else sides
    rows = [row for each in shown for row in hypothesis_rows(seen, each, plan)]
    waits = (standing.people, standing.next or standing.planned) if standing.at is None else None
    judge(rows, standing.level, waits, standing.is_over)
    if standing.at is None and plan.looks:
        for row in rows:
            row["look"] = standing.number(standing.due or standing.next or standing.planned)
            row["verdict"] = NOT_LOOKED if standing.due else NOT_YET
    return rows, sides


def about(hypothesis: Hypothesis, plan: PlanKeys) -> Row:
    """The hypothesis as the study file declares it."""
    return {
        "hypothesis": hypothesis.slug,
        "text": hypothesis.text,
        "measure": hypothesis.measure,
        "of": hypothesis.item or hypothesis.letter,
        "in": unit_of(hypothesis.measure),
        "expected": hypothesis.expected,
        "smallest": hypothesis.smallest,
        "family": hypothesis.family,
        "alpha": hypothesis.alpha or plan.alpha,
    }


def hypothesis_rows(data: Data, sides: Sides, plan: PlanKeys) -> list[Row]:
    """One row, or one for each prompt if they are not pooled."""
    hypothesis = sides.hypothesis
    asked = data.definition.asked_by(hypothesis)
    found = []
    for prompts in [asked] if hypothesis.pooled or len(asked) == 1 else [[prompt] for prompt in asked]:
        tested = examine(data, sides, prompts)
        a = side_row(hypothesis.a, sides.a, prompts, hypothesis.measure == ALONE)
        b = side_row(hypothesis.b, sides.b, prompts) if hypothesis.b else None
        p = p_of(hypothesis.expected, hypothesis.smallest, tested)
        numbers = {"value": tested.value, "ci": low_high(tested.ci), "p": p, **reasons(why=tested.why)}
        found.append(unjudged(hypothesis, plan, prompts, a, b, numbers))
    return found


def unjudged(hypothesis: Hypothesis, plan: PlanKeys, prompts: list[str], a: Row, b: Row | None, numbers: Row) -> Row:
    """A hypothesis's row, for `judge` to fill in."""
    sides = {"prompts": prompts, "a": a, "b": b}
    return {**about(hypothesis, plan), **sides, **numbers, "p_holm": None, "verdict": ""}


def judge(rows: Sequence[Row], level: Level, waits: tuple[int, int] | None, is_over: bool = True) -> None:
    """Put corrected p and verdict into each row. `waits`: while more people (or labels) are awaited, how many there are
    and how many are needed. A side with too few waits too, unless `is_over`.
    """
    for family in dict.fromkeys(row["family"] for row in rows):
        of_family = [row for row in rows if row["family"] == family]
        p_values = [row["p"] for row in of_family]
        passes = passed(p_values, level, of_family[0]["alpha"])
        corrected = holm([1.0 if p is None else p for p in p_values])  # hypotheses without p count in the family too
        for row, p_holm, is_passed in zip(of_family, corrected, passes, strict=True):
            row["p_holm"] = None if row["p"] is None else p_holm
            row["level"] = level(row["alpha"])
            row["verdict"] = decide(row["expected"], row["smallest"], *from_reference(row), is_passed)
            fewest = min(sides_in(row), key=lambda side: side["n"])
            if waits or fewest["n"] < FEWEST:
                row["verdict"] = TOO_FEW if is_over and not waits else NOT_YET
                row["n"], row["of_n"] = waits or (fewest["n"], FEWEST)
                row["unit"] = fewest["unit"] if not waits else "label" if row["measure"] in OF_LABELS else "person"


# Taking a look before the end ---------------------------------------------------------------------------------


class LookError(Exception):
    """A look that cannot be taken; the message says why."""


def take_look(data: Data, at: int, actor: str) -> bool:
    """Take a look at the hypotheses at the first `at` people to complete; return False if it was taken before.

    A look outside the plan also spends alpha, and is a deviation. Raises LookError.
    """
    study = data.study
    with transaction.atomic():
        locks.hold(ACTION, study.pk)
        standing = stand(study, len(data.people))
        if at in {row["at"] for row in standing.taken}:
            return False
        check_look(standing, at)
        looked = standing.and_at(at, until_of(data, at))
        note_look(study, actor, ACTION, looked, decided(seen_by(data, looked), looked)[0])
    return True


def check_look(standing: Standing, at: int) -> None:
    if not standing.is_launched:
        raise LookError("The study is not launched: its plan is not frozen yet, and nothing is hidden.")
    if standing.is_over:
        raise LookError("The study is at its end: its hypotheses are shown, and there is nothing to look at before.")
    if not (standing.at or 0) < at <= standing.people:
        raise LookError(f"There is no look to take at {plural(at, 'person', 'people')}.")
    if standing.due and at != standing.due:
        raise LookError(f"Look {standing.number(standing.due)}, which is planned, comes first.")


# In tables --------------------------------------------------------------------------------------------------


def rows_of(report: Report, options: Options) -> list[Row]:
    return list((report.get("as_planned") or {}).get("hypotheses") or ())


def say_verdict(row: Row) -> str:
    look = f"look {row['look']}" if row.get("look") else ""
    if row["verdict"] == NOT_LOOKED:
        return f"not yet: {look} can be taken"
    if row["verdict"] in UNDECIDED:
        of = plural(row["of_n"], row["unit"], many(row["unit"]))
        return f"{f'not yet: {look} at' if look else row['verdict'] + ':'} {row['n']:,} of {of}"
    return str(row["verdict"])


def sides_in(row: Row) -> list[Row]:
    return [side for side in (row["a"], row["b"]) if side]


def say_sizes(row: Row) -> str:
    return sized(*(side["n"] for side in sides_in(row)))


TABLE = TableSpec(
    "as_planned",
    "As planned",
    (
        Column("hypothesis", "Hypothesis"),
        Column("sides", "Sides", value=lambda row: " against ".join(side["name"] for side in sides_in(row))),
        Column("n", "n", value=say_sizes),
        Column("expected", "Expected", value=say_wanted),
        Column("found", "Difference (95 % interval)", value=say_difference),
        Column("p_holm", "p", P, short="p (Holm)", why="why"),
        Column("verdict", "Verdict", value=say_verdict),
        Column("text", "In words"),
    ),
    rows_of,
    ("as_planned",),
    optional=True,
)
LOOKS = TableSpec(
    "looks",
    "Looks that were taken",
    (
        Column("look", "Look", value=say_look),
        Column("people", "People who had completed"),
        Column("by", "By"),
        Column("when", "When"),
    ),
    lambda report, options: list(((report.get("as_planned") or {}).get("plan") or {}).get("taken") or ()),
    optional=True,
)
DEVIATIONS = TableSpec(
    "deviations",
    "What differs from the plan",
    (Column("text", "What"), Column("when", "When")),
    lambda report, options: list((report.get("as_planned") or {}).get("deviations") or ()),
    optional=True,
)


def say(report: Report) -> str:
    rows = rows_of(report, Options())
    return say_verdicts(rows) if rows else ""


PART = Part(
    "as_planned",
    "hypotheses as planned",
    compute,
    {
        "as_planned": "Each hypothesis of the study file, a minus b: supported where its p, corrected over its family "
        "(Holm), is at most alpha, it lies on the planned side and its 95 % interval reaches the smallest difference "
        "that matters. For an expected equality p is that of its bounds: equal within them, contradicted beyond them."
    },
    intervals=intervals("planned", "unit", "hypotheses.*.ci"),
    tables=(TABLE, LOOKS, DEVIATIONS),
    say=say,
    is_brief=True,
)


MIDDLE, HALF = 160.0, 150.0  # px: the zero of the line, and its length to either side
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
    """The hypotheses that Compare opens with; None for a study without any."""
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
    """The planned look that is due, or one outside the plan if people came since the last look; else None."""
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
    """The px of the interval, zero, the smallest difference that matters, and the range that would be supported."""
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
    """Format px for a drawing, with a decimal point in every language."""
    return f"{at:.1f}"
