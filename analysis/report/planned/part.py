"""As planned: each hypothesis with its estimate, interval, corrected p and verdict, in the order of the study file."""

from collections.abc import Callable, Sequence
from functools import partial

from analysis.charts.figure import Options, Report, Row
from analysis.charts.tables import Column, P
from analysis.report.claims.enough import FEWEST
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.planned.answers import Sides, examine, find_sides, first_people, side_row
from analysis.report.planned.deviations import deviations, later_hypotheses, plan_of
from analysis.report.planned.verdicts import NOT_YET, decide, p_of, say_difference, say_verdicts, say_wanted, unit_of
from analysis.report.samples import Data, low_high, reasons
from analysis.stats.hypotheses.families import level_at, passed
from analysis.stats.intervals import holm
from surveys.console.wording import sized
from surveys.studies.files.hypotheses import PlanKeys

Level = Callable[[float], float]


def compute(data: Data) -> Row:
    """Nothing for a study without hypotheses."""
    if not data.definition.hypotheses:
        return {}
    plan = data.definition.plan or PlanKeys()
    planned, people = data.definition.planned_people, len(data.people)
    is_closed = data.study.closed_at is not None
    looks = [*plan.looks, planned]
    reached = [at for at in looks if people >= at]
    is_over = is_closed or people >= planned
    if is_closed and people < planned:
        reached = looks = [*(at for at in plan.looks if at < people), max(1, people)]
    seen = data if is_over or not reached else first_people(data, reached[-1])
    sides = [find_sides(seen, hypothesis) for hypothesis in data.definition.hypotheses]
    frozen = plan_of(data.study)
    later = later_hypotheses(data.study, frozen)
    rows = [row | {"later": row["hypothesis"] in later} for each in sides for row in hypothesis_rows(seen, each, plan)]
    share = tuple(at / looks[-1] for at in looks)
    level = partial(level_at, len(reached) - 1, share) if reached and len(looks) > 1 else float
    judge(rows, level, (people, looks[min(len(reached), len(looks) - 1)]) if not reached else None)
    return {
        "plan": {
            **{name: frozen[name] for name in ("version", "sha256", "frozen_at")},
            "alpha": plan.alpha,
            "people": people,
            "planned": planned,
            "looks": list(plan.looks),
            "look": reached[-1] if reached else None,
            "next": next((at for at in looks if at > people), None) if not is_over else None,
            "closed": is_closed,
        },
        "hypotheses": rows,
        "deviations": deviations(data, sides, frozen, people, is_over),
    }


def hypothesis_rows(data: Data, sides: Sides, plan: PlanKeys) -> list[Row]:
    """One, or one for each prompt where they are not pooled."""
    hypothesis = sides.hypothesis
    asked = data.definition.asked_by(hypothesis)
    found = []
    for prompts in [asked] if hypothesis.pooled or len(asked) == 1 else [[prompt] for prompt in asked]:
        tested = examine(data, sides, prompts)
        p = p_of(hypothesis.expected, hypothesis.smallest, tested)
        found.append(
            {
                "hypothesis": hypothesis.slug,
                "text": hypothesis.text,
                "measure": hypothesis.measure,
                "of": hypothesis.item or hypothesis.letter,
                "in": unit_of(hypothesis.measure),
                "prompts": prompts,
                "expected": hypothesis.expected,
                "smallest": hypothesis.smallest,
                "family": hypothesis.family,
                "alpha": hypothesis.alpha or plan.alpha,
                "a": side_row(hypothesis.a, sides.a, prompts),
                "b": side_row(hypothesis.b, sides.b, prompts) if hypothesis.b else None,
                "value": tested.value,
                "ci": low_high(tested.ci),
                "p": p,
                "p_holm": None,
                "verdict": "",
                **reasons(why=tested.why),
            }
        )
    return found


def judge(rows: Sequence[Row], level: Level, waits: tuple[int, int] | None) -> None:
    """Put corrected p and verdict into each row. `waits`: the people there are and those there have to be, where no
    look is due; a side of too few waits too.
    """
    for family in dict.fromkeys(row["family"] for row in rows):
        of_family = [row for row in rows if row["family"] == family]
        p_values = [row["p"] for row in of_family]
        passes = passed(p_values, level, of_family[0]["alpha"])
        for row, corrected, is_passed in zip(of_family, holm(p_values), passes, strict=True):
            row["p_holm"] = corrected
            row["level"] = level(row["alpha"])
            ci = row["ci"] and (row["ci"][0], row["ci"][1])
            row["verdict"] = decide(row["expected"], row["smallest"], row["value"], ci, is_passed)
            fewest = min(side["n"] for side in (row["a"], row["b"]) if side)
            if waits or fewest < FEWEST:
                row["verdict"] = NOT_YET
                row["n"], row["of_n"] = waits or (fewest, FEWEST)


# In tables --------------------------------------------------------------------------------------------------


def rows_of(report: Report, options: Options) -> list[Row]:
    return list((report.get("as_planned") or {}).get("hypotheses") or ())


def say_verdict(row: Row) -> str:
    return f"{NOT_YET}: {row['n']:,} of {row['of_n']:,}" if row["verdict"] == NOT_YET else str(row["verdict"])


def say_sides(row: Row) -> str:
    return " against ".join(side["name"] for side in (row["a"], row["b"]) if side)


def say_sizes(row: Row) -> str:
    return sized(*(side["n"] for side in (row["a"], row["b"]) if side))


TABLE = TableSpec(
    "as_planned",
    "As planned",
    (
        Column("hypothesis", "Hypothesis"),
        Column("sides", "Sides", value=say_sides),
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
        "that matters; equal where the interval lies within the bounds.",
    },
    intervals=intervals("planned", "unit", "hypotheses.*.ci"),
    tables=(TABLE, DEVIATIONS),
    say=say,
    is_brief=True,
)
