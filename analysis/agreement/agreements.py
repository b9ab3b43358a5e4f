"""How far annotators and judges agree: every number of a study, in parts of its labels too, kept until one changes."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, Case, Count, Max, Q, QuerySet, When
from django.db.models.functions import Cast

from analysis.agreement.annotations import EVERYTHING, Gathered, LabelChoice, gather, line_up, number
from analysis.agreement.asked.categories import measure_categories
from analysis.agreement.asked.mentions import measure_told
from analysis.agreement.asked.reasonings import measure_reasonings
from analysis.agreement.asked.revisions import measure_revisions
from analysis.agreement.documents import document_of
from analysis.agreement.ratings import MENTION_RULE, has_sides, measure_ratings
from analysis.agreement.trained import claims_of, measure_trained
from analysis.models import Endpoint, Task
from analysis.models.runs import LEADING_INSTRUCTIONS
from analysis.report.reports import keep_part
from analysis.stats.agreement.agreement import (
    THRESHOLD,
    Agreement,
    Row,
    head_row,
    measure_agreement,
    rows_of,
    score_row,
    write_estimate,
    write_estimates,
)
from analysis.stats.agreement.estimates import FEW
from analysis.stats.agreement.labels import KIND_NAMES, compare_orders, read_maybe
from analysis.stats.agreement.ratings import (
    LEFT,
    NEITHER,
    RIGHT,
    measure_orders,
    measure_side_bias,
)
from analysis.stats.resampling import generator
from surveys.annotation.counted import TRAINED, Label
from surveys.annotation.shapes import REJECTED_BY
from surveys.models import Annotation, AnnotationItem, GateVerdict, Participant, Slot, Study
from surveys.studies.files.kinds import GENERIC, PERSONALISED

AGREEMENT_VERSION = 17
DRAWS = 1000
MAYBE = ("no", "maybe", "yes")
MOST_GROUPS = 200  # of one kind, those with most labels


def agreement_of(
    study: Study, choice: LabelChoice = EVERYTHING, seed: int = 0, draws: int = DRAWS, threshold: int = THRESHOLD
) -> Row:
    """`{"study", "questions": […]}` of docs/annotation.md for the labels chosen."""
    return document_of(rows_for(study, choice, seed, draws, threshold))


def rows_for(
    study: Study,
    choice: LabelChoice = EVERYTHING,
    seed: int = 0,
    draws: int = DRAWS,
    threshold: int = THRESHOLD,
    *,
    in_parts: bool = True,
) -> Row:
    """Every number as rows, question by question; kept by what it is made of.

    Without `in_parts` of raters and pairs alone, which a gate is about: the same numbers in much less time.
    """
    key = fingerprint(study, choice, seed, draws, threshold)
    name = f"agreement {hash_inputs([*vars_of(choice), seed, draws, threshold, in_parts])[:16]}"
    found: Row = keep_part(study, name, key, lambda: measure(study, choice, seed, draws, threshold, in_parts)).value
    return found


def hash_inputs(inputs: list[Any]) -> str:
    return hashlib.sha256(json.dumps(inputs, default=str).encode()).hexdigest()


def vars_of(choice: LabelChoice) -> list[Any]:
    return [choice.pilot, choice.simulated, choice.corpus, choice.cluster, choice.tag, choice.without, choice.revised]


def fingerprint(study: Study, choice: LabelChoice, seed: int, draws: int, threshold: int) -> str:
    """Changes with every label, withdrawal, gate decision, taken slot, new item and reply of a model asked."""
    said = Annotation.objects.filter(item__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    gate = GateVerdict.objects.filter(decision__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    slots = Slot.objects.filter(item__study=study, done_at__isnull=False).aggregate(
        last=Max("done_at"), count=Count("pk")
    )
    items = AnnotationItem.objects.filter(study=study).aggregate(last=Max("pk"), count=Count("pk"))
    told = replies_about(study).aggregate(last=Max("read_at"), count=Count("pk"))
    inputs = [AGREEMENT_VERSION, MENTION_RULE, study.current_id, vars_of(choice), seed, draws, threshold]
    return hash_inputs([*inputs, *said.values(), *gate.values(), *slots.values(), *items.values(), *told.values()])


def replies_about(study: Study) -> QuerySet[Task]:
    """What models said about its items, and about what these were made of."""
    number = When(source__regex=r"^\d{1,15}$", then=Cast("source", BigIntegerField()))
    items = AnnotationItem.objects.filter(study=study, kind="preference").annotate(task=Case(number))
    written = Task.objects.filter(pk__in=items.exclude(task=None).values("task"))
    about = Q(annotation_item__study=study) | Q(annotation_item__in=written.values("annotation_item"))
    return Task.objects.filter(about, values__isnull=False)


def measure(study: Study, choice: LabelChoice, seed: int, draws: int, threshold: int, in_parts: bool = True) -> Row:
    asked = gather(study, choice)
    marks, versions = find_marks(asked), find_versions(study)
    questions = [
        mark_raters(measure_question(study, each, choice, seed, draws, threshold, in_parts), marks, versions)
        for each in asked
    ]
    return {
        "study": study.slug,
        "threshold": threshold,
        "seed": seed,
        "simulated": find_simulated(study, asked),
        "claims": claims_of(questions),
        "questions": questions,
        "times": time_by_rater(asked),
    }


def find_simulated(study: Study, asked: list[Gathered]) -> list[str]:
    """The raters that the platform made up: simulated people, and judges whose replies are scripted."""
    rows = [row for each in asked for row in each.rows]
    judged = Annotation.objects.filter(item__study=study, detail__provider=Endpoint.Provider.FAKE)
    scripted = set(judged.order_by().values_list("judge", flat=True).distinct())
    people = {row.rater for row in rows if row.origin == Participant.Origin.SIMULATED}
    return sorted(people | scripted & {row.rater for row in rows})


def find_marks(asked: Iterable[Gathered]) -> dict[str, list[str]]:
    """By rater what these labels must be read with: an instruction that leads, a threshold that says yes to all."""
    given = {row.annotation for each in asked for row in each.given if row.is_model}
    models = Annotation.objects.filter(pk__in=given).order_by("judge")
    found = {
        "leading": models.filter(detail__prompt__in=LEADING_INSTRUCTIONS),
        "degenerate": models.filter(detail__degenerate=True),
    }
    marks: dict[str, list[str]] = defaultdict(list)
    for mark, rows in found.items():
        for rater in rows.values_list("judge", flat=True).distinct():
            marks[rater].append(mark)
    return marks


def find_versions(study: Study) -> dict[str, str]:
    """By trained rater the hash of its model's folder."""
    rows = Annotation.objects.filter(item__study=study, judge__startswith=f"{TRAINED} ").order_by("judge", "id")
    return dict(rows.values_list("judge", "detail__version"))


def mark_raters(question: Row, marks: dict[str, list[str]], versions: dict[str, str]) -> Row:
    for rater in question.get("raters", ()):
        rater["marks"] = marks.get(rater["rater"], [])
        rater |= {"version": versions[rater["rater"]]} if rater["rater"] in versions else {}
    for row in question.get("trained", ()):
        row["version"] = versions.get(row["rater"], "")
    return question


def measure_question(
    study: Study, asked: Gathered, choice: LabelChoice, seed: int, draws: int, threshold: int, in_parts: bool = True
) -> Row:
    shape: Row = {"question": asked.question.name, "text": asked.question.text, "scale": asked.question.scale}
    # In scale order, as the confusion tables are: the order of keys does not survive in the database.
    shape["values"] = list(asked.names)
    if not len(asked.labels.values):
        return shape | {"items": 0, "annotators": 0, "labels": 0, "why": "Nobody has given a label yet."}
    rng = generator(seed, study.slug, asked.question.name)
    positive = asked.question.positive
    shape["positive"] = positive or (asked.names[1] if len(asked.names) == 2 else None)
    found = measure_agreement(asked.labels, rng, asked.scale, threshold, draws, place_of(positive, asked.names))
    shape |= rows_of(found, asked.names, asked.raters)
    drawn = "users" if asked.by_user else "items"
    shape |= {"unit": asked.unit, "drawn": drawn, "interval": interval_of(asked, found.units)}
    if not in_parts:
        return shape
    shape |= measure_groups(asked, seed, draws, threshold, study.slug)
    if statements := measure_statements(study, asked, choice, seed, draws, threshold):
        shape["by_statement"] = statements
    if any(rules := count_rules(asked)):
        shape["rejected_by"] = rules
    if asked.names == MAYBE:
        shape["maybe"] = measure_maybe(study, asked, seed, draws, threshold)
    if trained := measure_trained(asked):
        shape["trained"] = trained
    if sides := measure_sides(asked):
        shape |= {"sides": sides, "orders": measure_both_orders(asked)}
    if revisions := measure_revisions(
        study, asked, choice, generator(seed, study.slug, asked.question.name, "revisions"), draws
    ):
        shape["revisions"] = revisions
    if reasonings := measure_reasonings(study, asked, choice):
        shape["reasonings"] = reasonings
    if categories := measure_categories(study, asked, choice):
        shape["categories"] = categories
    if has_sides(asked):
        rng = generator(seed, study.slug, asked.question.name, "ratings")
        shape["ratings"] = measure_ratings(study, asked, choice.pilot, rng, draws)
        rng = generator(seed, study.slug, asked.question.name, "mentions")
        if told := measure_told(study, asked, choice.pilot, rng, draws):
            shape["ratings"]["mentions"]["models"] = told
    return shape


def count_rules(asked: Gathered) -> dict[str, int]:
    """Of all items with a label, how many each rule of `push_rejected` chose; under "" those that none did."""
    return Counter({row.item: str(row.tags.get(REJECTED_BY, "")) for row in asked.rows}.values())


def place_of(label: str, names: Sequence[str]) -> int | None:
    return names.index(label) if label in names else None


def interval_of(asked: Gathered, units: int) -> dict[str, str]:
    """Which intervals most of its numbers have, and over what; shares have Wilson's. As in docs/methods.md."""
    return {"kind": "jackknife" if units < FEW else "bootstrap", "unit": asked.unit, "shares": "wilson"}


def measure_maybe(study: Study, asked: Gathered, seed: int, draws: int, threshold: int) -> Row:
    """The main coefficients of the four ways to read Maybe, side by side; where two labels are left, scores too."""
    views = {}
    for name, view in read_maybe(asked.labels).items():
        rng = generator(seed, study.slug, asked.question.name, name)
        is_scored = view.labels.n_labels == 2
        # Code 0 is no in both, so what is positive is no: a statement that is not supported.
        found = measure_agreement(view.labels, rng, view.scale, threshold, draws, 0 if is_scored else None)
        views[name] = head_row(found) | (verification(found, asked.raters) if is_scored else {})
    return views


def verification(found: Agreement, raters: Sequence[str]) -> Row:
    rows = [
        {"rater": raters[rater.rater], "kind": KIND_NAMES[rater.kind], **score_row(rater)}
        | ({"against_all": score_row(rater.against_all)} if rater.against_all else {})
        for rater in found.raters
    ]
    return {"raters": rows, "together": score_row(found.together)}


def measure_sides(asked: Gathered) -> Row | None:
    """How often raters prefer what stands on the left, as shown; None for kinds without sides."""
    rows = [row for row in asked.given if row.left in (GENERIC, PERSONALISED)]
    if not rows:
        return None
    places = np.array([place_shown(asked, row) for row in rows])
    sides = np.select([places < 0, places > 0], [LEFT, RIGHT], NEITHER).astype(np.int8)
    raters = number(row.rater for row in rows)
    codes, wholes = np.array([raters[row.rater] for row in rows]), asked.wholes
    bias = measure_side_bias(sides, codes, len(raters), np.array([wholes[row.unit] for row in rows]))
    left = {name: write_estimate(each) | {"unit": asked.unit} for name, each in zip(raters, bias.raters, strict=True)}
    everybody = write_estimate(bias.share) | {"unit": "rater"}
    return {
        "neither": bias.neither,
        "left": {"all": everybody, **left},
        "interval": {"kind": "wilson", "unit": asked.unit},
    }


def place_shown(asked: Gathered, row: Label) -> float:
    """Below 0 when the label, as it was shown, is for the left response, above 0 for the right one."""
    return asked.names.index(row.shown_value) - (len(asked.names) - 1) / 2


def measure_both_orders(asked: Gathered) -> list[Row]:
    """Of each judge that was asked in both orders: how often the same response or the same side won, with intervals."""
    shown: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in asked.given:
        if row.is_model:
            shown[row.rater][row.unit].append(place_shown(asked, row))
    found, wholes = [], asked.wholes
    for rater, units in shown.items():
        pairs = {unit: compare_orders(*places) for unit, places in units.items() if len(places) == 2}
        if pairs:
            shares = measure_orders(list(pairs.values()), np.array([wholes[unit] for unit in pairs]))
            apart = len({wholes[unit] for unit in pairs})
            found.append(
                {"rater": rater, "pairs": len(pairs), "unit": asked.unit, "units": apart, **write_estimates(shares)}
            )
    return found


def time_by_rater(asked: list[Gathered]) -> list[Row]:
    """Median active seconds of each person's annotations, and how many took less time than reading does."""
    times: dict[str, dict[int, Label]] = defaultdict(dict)
    for each in asked:
        for row in each.rows:
            if row.active_ms is not None and not row.is_model:
                times[row.rater][row.annotation] = row
    return [
        {
            "rater": rater,
            "n": len(found),
            "median_seconds": median(row.active_ms or 0 for row in found.values()) / 1000,
            "timed": sum(row.was_quick is not None for row in found.values()),
            "quick": sum(row.was_quick is True for row in found.values()),
        }
        for rater, found in sorted(times.items())
    ]


# --- each corpus, each user, each kind of item ------------------------------


def corpora_of(row: Label) -> Iterable[str]:
    return [row.corpus]


def users_of(row: Label) -> Iterable[str]:
    return [row.cluster] if row.cluster else []


def tags_of(row: Label) -> Iterable[str]:
    """Without those that name the user, who is a group already."""
    return [f"{name}:{value}" for name, value in sorted(row.tags.items()) if not value or value != row.cluster]


def statements_of(row: Label) -> Iterable[str]:
    return ["revised" if row.revises else "extracted"]


GROUPINGS: dict[str, Callable[[Label], Iterable[str]]] = {"corpus": corpora_of, "user": users_of, "tag": tags_of}
ALL_GROUPINGS = GROUPINGS | {"statement": statements_of}


def measure_groups(asked: Gathered, seed: int, draws: int, threshold: int, study: str) -> dict[str, list[Row]]:
    """`by_corpus`, `by_user` and `by_tag`: people's agreement and label shares, or judges' where nobody else labels."""
    rows = grouped_rows(asked)
    return {f"by_{name}": list(measure_each(asked, rows, name, seed, draws, threshold, study)) for name in GROUPINGS}


def measure_statements(
    study: Study, asked: Gathered, choice: LabelChoice, seed: int, draws: int, threshold: int
) -> list[Row]:
    """Extracted and revised statements beside each other, whichever are chosen; empty where none is a revision."""
    if not AnnotationItem.objects.filter(study=study, payload__has_key="before").exists():
        return []
    both = next(each for each in gather(study, replace(choice, revised="with")) if each.question == asked.question)
    rows = grouped_rows(both)
    return list(measure_each(both, rows, "statement", seed, draws, threshold, study.slug))


def grouped_rows(asked: Gathered) -> list[Label]:
    """Of people, or of judges where nobody else labels."""
    people, judges = ([row for row in asked.rows if row.is_model is is_model] for is_model in (False, True))
    return people or [row for row in judges if not row.is_baseline] or judges


def measure_each(
    asked: Gathered, rows: list[Label], grouping: str, seed: int, draws: int, threshold: int, study: str
) -> Iterator[Row]:
    for value, chosen in group_rows(rows, ALL_GROUPINGS[grouping]):
        # Within one user there is no other to draw, so items are drawn.
        group = line_up(asked.question, chosen, by_user=grouping != "user")
        rng = generator(seed, study, asked.question.name, grouping, value)
        found = measure_agreement(group.labels, rng, group.scale, threshold, draws)
        sizes = {"items": found.items, "n": found.labels, "unit": group.unit, "units": found.units}
        yield {grouping: value, **sizes, "interval": interval_of(group, found.units), **head_row(found, asked.names)}


def group_rows(rows: Iterable[Label], find: Callable[[Label], Iterable[str]]) -> list[tuple[str, list[Label]]]:
    groups: dict[str, list[Label]] = defaultdict(list)
    for row in rows:
        for value in find(row):
            groups[value].append(row)
    largest = sorted(groups, key=lambda value: -len(groups[value]))[:MOST_GROUPS]
    return [(value, groups[value]) for value in sorted(largest)]
