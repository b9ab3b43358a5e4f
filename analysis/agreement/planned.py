"""Hypotheses about labels as planned: number, interval, corrected p and verdict of each, in the file's order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from analysis.agreement.annotations import Measuring, QuestionLabels
from analysis.charts.figure import Options
from analysis.report.planned.deviations import amendments, later_hypotheses, other_analysis, plan_of, short, versions_of
from analysis.report.planned.looks import END, Standing, looks_taken, note_look
from analysis.report.planned.part import judge, rows_of, say_sizes, say_verdict, unjudged
from analysis.report.planned.verdicts import p_of, say_difference, say_verdicts, say_wanted
from analysis.report.samples import reasons
from analysis.stats.agreement.agreement import Row, write_estimate
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.hypotheses.measures import alpha_of_people, kappa_with_majority, share_preferring
from analysis.stats.hypotheses.tested import of_interval
from surveys.models import Annotation, Participant, Slot, Study
from surveys.studies.audit import SYSTEM
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALPHA, KAPPA, PEOPLE, Hypothesis, PlanKeys
from surveys.studies.labels import counted
from surveys.studies.lifecycle import definition_of, hold_withdrawals, labels_of
from surveys.studies.wording import p_value, plural

NOBODY = "Nobody has given a label yet."


def hypotheses_of(study: Study) -> tuple[Hypothesis, ...]:
    """Return the hypotheses about labels; none if people paste answers."""
    definition = definition_of(study.current_id) if study.current_id else None
    return definition.hypotheses if definition and definition.annotation else ()


def estimate_all(measuring: Measuring, asked: Sequence[QuestionLabels], simulated: Sequence[str]) -> list[Row]:
    """Estimate each hypothesis on unfiltered labels, with missing and simulated raters on its sides."""
    by_name = {each.question.name: each for each in asked}
    return [
        estimate_row(measuring, by_name[hypothesis.about] if hypothesis.about else asked[0], hypothesis, simulated)
        for hypothesis in hypotheses_of(measuring.study)
    ]


def estimate_row(measuring: Measuring, asked: QuestionLabels, hypothesis: Hypothesis, simulated: Sequence[str]) -> Row:
    people = [name for name, is_model in zip(asked.raters, asked.labels.is_model, strict=True) if not is_model]
    made_up = {*simulated} | ({PEOPLE} if {*simulated} & {*people} else set())
    return {
        "question": asked.question.name,
        "unit": asked.unit,
        "missing": [side for side in judges_of(hypothesis) if side not in asked.raters],
        "simulated": sorted(made_up & {hypothesis.a, hypothesis.b}),
        **write_estimate(estimate(measuring, asked, hypothesis)),
    }


def judges_of(hypothesis: Hypothesis) -> list[str]:
    return [side for side in (hypothesis.a, hypothesis.b) if side and hypothesis.measure == KAPPA]


def estimate(measuring: Measuring, asked: QuestionLabels, hypothesis: Hypothesis) -> Estimate:
    """Estimate a hypothesis from the same draws as its question's other numbers."""
    labels, draws, judges = asked.labels, measuring.draws, judges_of(hypothesis)
    if not len(labels.values):
        return Estimate(None, 0, None, NOBODY)
    if hypothesis.measure == ALPHA:
        return alpha_of_people(labels, asked.scale, measuring.rng(asked), draws)
    if hypothesis.measure != KAPPA:
        numbers = np.array(asked.scale.numbers, float)
        return share_preferring(labels, numbers, measuring.rng(asked), draws)
    if missing := [name for name in judges if name not in asked.raters]:
        return Estimate(None, 0, None, f"There is no label of {missing[0]} yet.")
    codes = [asked.raters.index(name) for name in judges]
    return kappa_with_majority(labels, codes, measuring.rng(asked), draws)


def planned_of(study: Study, found: Sequence[Row]) -> Row:
    """Judge the rows of estimate_all by the plan; before the end there are numbers, but no p or verdict.

    The end comes when all slots of the main study's items are done or the study is closed; once verdicts were shown,
    it stays.
    """
    assert study.current_id is not None
    definition = definition_of(study.current_id)
    frozen, standing, plan = plan_of(study), stand(study, definition), definition.plan or PlanKeys()
    later, end = later_hypotheses(study, frozen), end_of(study)
    is_over = standing.is_over or end is not None
    rows = [
        hypothesis_row(hypothesis, each, plan, is_over) | {"later": hypothesis.slug in later}
        for hypothesis, each in zip(definition.hypotheses, found, strict=True)
    ]
    judge(rows, standing.level, None if is_over else (standing.people, standing.planned))
    if is_over and end is None and study.is_launched:
        note_end(study, definition, rows)
    versions = {name: each and {"tests": each["tests"]} for name, each in versions_of(study).items()}
    return {
        "plan": {
            **{name: frozen[name] for name in ("version", "sha256", "frozen_at")},
            "alpha": plan.alpha,
            "labels": standing.people,
            "planned": standing.planned,
            "analysis": versions,
            "closed": standing.is_closed,
        },
        "hypotheses": rows,
        "deviations": [
            *amendments(study, frozen),
            *other_analysis(versions),
            *short(standing, "labels", "were given"),
            *(since_end(study, end, standing.planned, rows) if end else ()),
            *missing_judges(found),
        ],
    }


def stand(study: Study, definition: Definition) -> Standing:
    return Standing(*labels_of(study, definition), (), (), study.is_launched, study.closed_at is not None)


def end_of(study: Study) -> Row | None:
    """Read the end from the audit trail; None before verdicts were shown."""
    return next(iter(looks_taken(study)), None)


def note_end(study: Study, definition: Definition, rows: Sequence[Row]) -> None:
    """Audit, once, the verdicts and the labels that they rest on, so that later changes can be reported."""
    with transaction.atomic():
        hold_withdrawals(study)  # lock it before the audit trail, as everywhere
        standing = stand(study, definition)
        if standing.people and standing.is_over and not end_of(study):
            there = replace(standing, planned=standing.people).and_at(standing.people, str(timezone.now()))
            newest = Annotation.objects.filter(item__study=study).aggregate(newest=Max("pk"))
            rests_on = {"wanted": standing.planned, **newest}
            note_look(study, SYSTEM, END, replace(there, taken=(there.taken[0] | rests_on,)), rows)


def since_end(study: Study, end: Row, wanted: int, rows: Sequence[Row]) -> Iterator[Row]:
    """Report labels given and taken away after verdicts were shown, and verdicts that have changed since."""
    done = Slot.objects.filter(item__study=study, item__pilot=False, done_at__isnull=False)
    stayed = done.filter(done_at__lte=end["until"]).count()
    given, gone = done.count() - stayed, end["at"] - stayed
    slotless = Q(participant=None) | Q(participant__origin=Participant.Origin.IMPORTED)
    later = counted(study).filter(slotless | Q(revision__gt=1), pk__gt=end["newest"]).count()
    if given or gone or later or wanted != end["wanted"]:
        now = {row["hypothesis"]: row["verdict"] for row in rows}
        others = [
            f" `{row['hypothesis']}` was then: {row['verdict']}."
            for row in end["verdicts"]
            if row["verdict"] != now.get(row["hypothesis"], row["verdict"])
        ]
        text = (
            f"Verdicts were first shown at {plural(end['at'], 'label')}. Since then given: {given:,}; taken away: "
            f"{gone:,}; changed, imported or by judges: {later:,}; wanted: {end['wanted']:,} then, {wanted:,} now."
        )
        yield {"kind": "end", "text": text + "".join(others), "when": f"since {end['when'][:10]}"}


def hypothesis_row(hypothesis: Hypothesis, found: Row, plan: PlanKeys, is_over: bool) -> Row:
    reference = hypothesis.held_against
    tested = of_interval(found["value"], found["ci"], max(found["units"] - 1, 1), reference or 0.0)
    a, b = side_row(hypothesis.a, found), side_row(hypothesis.b, found) if hypothesis.b else None
    numbers = {
        **({} if reference is None else {"reference": reference}),
        "value": found["value"],
        "ci": found["ci"],
        "p": p_of(hypothesis.expected, hypothesis.smallest, tested) if is_over else None,
        **reasons(why=found.get("why")),
    }
    return unjudged(hypothesis, plan, [found["question"]], a, b, numbers)


def side_row(side: str, found: Row) -> Row:
    """Describe a side, with the number of independent units, items or users, that the estimate rests on."""
    return {
        "side": side,
        "name": side.capitalize() if side == PEOPLE else side,
        "unit": found["unit"],
        "n": found["units"],
        "simulated": side in found["simulated"],
    }


def missing_judges(found: Sequence[Row]) -> Iterator[Row]:
    for name in dict.fromkeys(name for each in found for name in each["missing"]):
        needed = plural(sum(name in each["missing"] for each in found), "hypothesis", "hypotheses")
        yield {"kind": "judge", "text": f"There is no label of {name}; {needed} cannot be tested.", "when": "missing"}


def lines_of_plan(found: Row) -> list[str]:
    """Format the plan for the terminal; empty for a study without hypotheses."""
    rows = rows_of(found, Options())
    lines = []
    for row in rows:
        p = "" if row["p_holm"] is None else f", p {p_value(row['p_holm'])} (Holm)"
        numbers = f"{say_difference(row).removesuffix('.')}, {say_sizes(row)}, expected {say_wanted(row)}{p}"
        lines.append(f"  {row['hypothesis']}: {row['text']}\n    {numbers}: {say_verdict(row)}")
    return [say_verdicts(rows), *lines] if rows else []
