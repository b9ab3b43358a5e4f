"""Measures how far annotators and judges agree, overall and in groups; caches results until an input changes."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, Case, Count, Max, Q, QuerySet, When
from django.db.models.functions import Cast

from analysis.agreement.annotations import EVERYTHING, LabelChoice, Measuring, QuestionLabels, encode, gather, number
from analysis.agreement.documents import document_of
from analysis.agreement.follow_ups.doubted import measure_categories, measure_revisions
from analysis.agreement.follow_ups.mention_rule import MENTION_RULE
from analysis.agreement.follow_ups.trained import claims_of, measure_reasonings, measure_trained
from analysis.agreement.planned import estimate_all, hypotheses_of, planned_of
from analysis.agreement.ratings import measure_ratings
from analysis.models import Endpoint, Task
from analysis.models.runs import LEADING_INSTRUCTIONS
from analysis.report.reports import keep_part
from analysis.stats.agreement.agreement import (
    Agreement,
    Row,
    head_row,
    rows_of,
    score_row,
    write_estimate,
    write_estimates,
)
from analysis.stats.agreement.estimates import FEW
from analysis.stats.agreement.labels import KIND_NAMES, compare_orders, read_maybe
from analysis.stats.agreement.ratings import LEFT, NEITHER, RIGHT, measure_orders, measure_side_bias
from surveys.annotation.items import REJECTED_BY
from surveys.models import Annotation, AnnotationItem, GateVerdict, Participant, Slot, Study
from surveys.models.hashes import hash_text
from surveys.studies.files.kinds import GENERIC, PERSONALISED, SIDES
from surveys.studies.labels import TRAINED, Label

AGREEMENT_VERSION = 22
MAYBE = ("no", "maybe", "yes")
MIDDLE = 3  # of the labels from 1, the left response, to 5
MOST_GROUPS = 200  # per grouping: those with most labels


def agreement_of(study: Study, choice: LabelChoice = EVERYTHING, **settings: Any) -> Row:
    """Return `{"study", "questions": […]}` of docs/annotation.md for the chosen labels; `settings` as in Measuring."""
    return document_of(rows_for(study, choice, **settings))


def rows_for(study: Study, choice: LabelChoice = EVERYTHING, **settings: Any) -> Row:
    """Return every number as rows, by question, and the study's hypotheses, which always use all labels."""
    measuring = Measuring(study, choice, **settings)
    found: Row = keep("agreement", measuring, measure)
    if not measuring.in_parts or not hypotheses_of(study):
        return found
    estimates = keep("hypotheses of labels", replace(measuring, choice=EVERYTHING), estimate_hypotheses)
    return found | {"as_planned": planned_of(study, estimates)}


def keep(name: str, measuring: Measuring, compute: Callable[[Measuring], Any]) -> Any:
    """Return the cached result for these settings and this fingerprint, or else compute and cache it."""
    kept = f"{name} {hash_inputs([*measuring.settings, measuring.in_parts])[:16]}"
    return keep_part(measuring.study, kept, fingerprint(measuring), lambda: compute(measuring)).value


def estimate_hypotheses(measuring: Measuring) -> list[Row]:
    asked = gather(measuring.study)
    return estimate_all(measuring, asked, find_simulated(measuring.study, asked))


def hash_inputs(inputs: list[Any]) -> str:
    return hash_text(json.dumps(inputs, default=str))


def fingerprint(measuring: Measuring) -> str:
    """Hash all inputs: every label, withdrawal, verdict, done slot, item, reply, version and setting changes it."""
    study = measuring.study
    stamps = {
        Annotation.objects.filter(item__study=study): "pk",
        GateVerdict.objects.filter(decision__study=study): "pk",
        Slot.objects.filter(item__study=study, done_at__isnull=False): "done_at",
        AnnotationItem.objects.filter(study=study): "pk",
        replies_about(study): "read_at",
    }
    seen = [rows.aggregate(last=Max(newest), count=Count("pk")) for rows, newest in stamps.items()]
    return hash_inputs([AGREEMENT_VERSION, MENTION_RULE, study.current_id, measuring.settings, seen])


def replies_about(study: Study) -> QuerySet[Task]:
    """Select models' readable replies about the study's items, or about those that its preference items came from."""
    number = When(source__regex=r"^\d{1,15}$", then=Cast("source", BigIntegerField()))
    items = AnnotationItem.objects.filter(study=study, kind="preference").annotate(task=Case(number))
    written = Task.objects.filter(pk__in=items.exclude(task=None).values("task"))
    about = Q(annotation_item__study=study) | Q(annotation_item__in=written.values("annotation_item"))
    return Task.objects.filter(about, values__isnull=False)


def measure(measuring: Measuring) -> Row:
    asked = gather(measuring.study, measuring.choice)
    marks, versions = find_marks(asked), find_versions(measuring.study)
    questions = [mark_raters(measure_question(measuring, each), marks, versions) for each in asked]
    return {
        "study": measuring.study.slug,
        "threshold": measuring.threshold,
        "seed": measuring.seed,
        "simulated": find_simulated(measuring.study, asked),
        "claims": claims_of(questions),
        "questions": questions,
        "times": time_by_rater(asked),
    }


def find_simulated(study: Study, asked: list[QuestionLabels]) -> list[str]:
    """List the raters that the platform made up: simulated people, and judges whose replies are scripted."""
    rows = [row for each in asked for row in each.rows]
    judged = Annotation.objects.filter(item__study=study, detail__provider=Endpoint.Provider.FAKE)
    scripted = set(judged.order_by().values_list("judge", flat=True).distinct())
    people = {row.rater for row in rows if row.origin == Participant.Origin.SIMULATED}
    return sorted(people | scripted & {row.rater for row in rows})


def find_marks(asked: Iterable[QuestionLabels]) -> dict[str, list[str]]:
    """Map raters to warnings about their labels: a leading instruction, or a threshold that says yes to all."""
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
    """Map each trained rater to the hash of its model's folder."""
    rows = Annotation.objects.filter(item__study=study, judge__startswith=f"{TRAINED} ").order_by("judge", "id")
    return dict(rows.values_list("judge", "detail__version"))


def mark_raters(question: Row, marks: dict[str, list[str]], versions: dict[str, str]) -> Row:
    for rater in question.get("raters", ()):
        rater["marks"] = marks.get(rater["rater"], [])
        rater |= {"version": versions[rater["rater"]]} if rater["rater"] in versions else {}
    for row in question.get("trained", ()):
        row["version"] = versions.get(row["rater"], "")
    return question


def measure_question(measuring: Measuring, asked: QuestionLabels) -> Row:
    # `values` and confusion tables are in scale order: the database does not keep the order of keys.
    row: Row = {"question": asked.question.name, "text": asked.question.text, "scale": asked.question.scale}
    row["values"] = list(asked.names)
    if not len(asked.labels.values):
        return row | {"items": 0, "annotators": 0, "labels": 0, "why": "Nobody has given a label yet."}
    positive = asked.question.positive
    row["positive"] = positive or (asked.names[1] if len(asked.names) == 2 else None)
    found = measuring.measure(asked.labels, asked.scale, measuring.rng(asked), place_of(positive, asked.names))
    row |= rows_of(found, asked.names, asked.raters)
    drawn = "users" if asked.by_user else "items"
    row |= {"unit": asked.unit, "drawn": drawn, "interval": interval_of(asked, found.units)}
    if measuring.in_parts:
        parts = {name: find(measuring, asked) for name, find in PARTS.items()}
        row |= {name: part for name, part in parts.items() if part is not None}
    return row


def count_rules(measuring: Measuring, asked: QuestionLabels) -> dict[str, int] | None:
    """Count labelled items by the rule of `push_rejected` that chose them ("" for none); None if no rule chose any."""
    rules = Counter({row.item: str(row.tags.get(REJECTED_BY, "")) for row in asked.rows}.values())
    return rules if any(rules) else None


def place_of(label: str, names: Sequence[str]) -> int | None:
    return names.index(label) if label in names else None


def interval_of(asked: QuestionLabels, units: int) -> dict[str, str]:
    """Name the kind of interval that most numbers have, its unit, and Wilson's for shares, as in docs/methods.md."""
    return {"kind": "jackknife" if units < FEW else "bootstrap", "unit": asked.unit, "shares": "wilson"}


def measure_maybe(measuring: Measuring, asked: QuestionLabels) -> Row | None:
    """Measure the main coefficients in each of the four readings of Maybe, with scores if it leaves two labels."""
    if asked.names != MAYBE:
        return None
    views = {}
    for name, view in read_maybe(asked.labels).items():
        is_scored = view.labels.n_labels == 2
        # Code 0 is no in both, and no is positive: a statement that is not supported.
        found = measuring.measure(view.labels, view.scale, measuring.rng(asked), 0 if is_scored else None)
        views[name] = head_row(found) | (verification(found, asked.raters) if is_scored else {})
    return views


def verification(found: Agreement, raters: Sequence[str]) -> Row:
    rows = [
        {"rater": raters[rater.rater], "kind": KIND_NAMES[rater.kind], **score_row(rater)}
        | ({"against_all": score_row(rater.against_all)} if rater.against_all else {})
        for rater in found.raters
    ]
    return {"raters": rows, "together": score_row(found.together)}


def measure_sides(measuring: Measuring, asked: QuestionLabels) -> Row | None:
    """Measure how often raters prefer the response shown on the left; None for kinds without sides."""
    if not (rows := find_sided(asked)):
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


def find_sided(asked: QuestionLabels) -> list[Label]:
    """Find labels given side by side. Imported ones, which name no version of the guidelines, have no known side;
    a trained model always sees the personalised response first.
    """
    sided = [row for row in asked.given if row.left in (GENERIC, PERSONALISED) and not row.is_trained]
    imported = Annotation.objects.filter(pk__in={row.annotation for row in sided}, guidelines_version="")
    unknown = set(imported.values_list("pk", flat=True))
    return [row for row in sided if row.annotation not in unknown]


def place_shown(asked: QuestionLabels, row: Label) -> float:
    """Return the shown label's place on the scale: below 0 for the left response, above 0 for the right one."""
    return asked.names.index(row.shown_value) - (len(asked.names) - 1) / 2


def measure_both_orders(measuring: Measuring, asked: QuestionLabels) -> list[Row] | None:
    """Measure how often the same response or side won for each judge asked in both orders; None without sides."""
    if not find_sided(asked):
        return None
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


def position_bias(study: Study, judge: str) -> dict[str, Any]:
    """Compare a judge's labels in both orders of the same responses.

    Return {"pairs", "consistent", "left", "right"}: the pairs, and the shares of them in which both orders agree about
    the response, both favour the left, and both favour the right. Shares are None without pairs.
    """
    rows = Annotation.objects.filter(item__study=study, judge=judge, state=Annotation.State.GIVEN).exclude(left="")
    newest: dict[tuple[int, str], dict[str, str]] = {}
    for item, left, labels in rows.order_by("revision").values_list("item", "left", "labels"):
        newest[item, left] = labels
    counts: Counter[str] = Counter()
    for item, left in newest:
        if left == SIDES[0] and (item, SIDES[1]) in newest:
            other = newest[item, SIDES[1]]
            counts.update(
                compare_orders(int(label) - MIDDLE, int(other[name]) - MIDDLE)
                for name, label in newest[item, left].items()
                if name in other
            )
    pairs = counts.total()
    return {"pairs": pairs} | {
        name: counts[name] / pairs if pairs else None for name in ("consistent", "left", "right")
    }


def time_by_rater(asked: list[QuestionLabels]) -> list[Row]:
    """Compute each person's median active seconds, and how many annotations took less time than reading does."""
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


def tags_of(row: Label) -> Iterable[str]:
    """Return tags as name:value, without those that name the user, who is a group already."""
    return [f"{name}:{value}" for name, value in sorted(row.tags.items()) if not value or value != row.cluster]


GROUPINGS: dict[str, Callable[[Label], Iterable[str]]] = {
    "corpus": lambda row: [row.corpus],
    "user": lambda row: [row.cluster] if row.cluster else [],
    "tag": tags_of,
    "statement": lambda row: ["revised" if row.revises else "extracted"],
}


def measure_statements(measuring: Measuring, asked: QuestionLabels) -> list[Row] | None:
    """Measure extracted and revised statements side by side, whichever are chosen; None if no item is a revision."""
    if not AnnotationItem.objects.filter(study=measuring.study, payload__has_key="before").exists():
        return None
    both = gather(measuring.study, replace(measuring.choice, revised="with"))
    return measure_groups("statement", measuring, next(each for each in both if each.question == asked.question))


def measure_groups(grouping: str, measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """Measure agreement and label shares in each group: of people, else of judges, else of baselines."""
    people, judges = ([row for row in asked.rows if row.is_model is is_model] for is_model in (False, True))
    groups: dict[str, list[Label]] = defaultdict(list)
    for row in people or [row for row in judges if not row.is_baseline] or judges:
        for value in GROUPINGS[grouping](row):
            groups[value].append(row)
    largest, found = sorted(groups, key=lambda value: -len(groups[value]))[:MOST_GROUPS], []
    for value in sorted(largest):
        # One user alone cannot be redrawn, so items are drawn.
        group = encode(asked.question, groups[value], by_user=grouping != "user")
        of_group = measuring.measure(group.labels, group.scale, measuring.rng(asked))
        sizes = {"items": of_group.items, "n": of_group.labels, "unit": group.unit, "units": of_group.units}
        about = {grouping: value, **sizes, "interval": interval_of(group, of_group.units)}
        found.append(about | head_row(of_group, asked.names))
    return found


# Parts beside a question's main numbers, by their names in the JSON; None is left out.
PARTS: dict[str, Callable[[Measuring, QuestionLabels], Any]] = {
    **{f"by_{name}": partial(measure_groups, name) for name in ("corpus", "user", "tag")},
    "by_statement": measure_statements,
    "rejected_by": count_rules,
    "maybe": measure_maybe,
    "trained": lambda measuring, asked: measure_trained(asked) or None,
    "sides": measure_sides,
    "orders": measure_both_orders,
    "revisions": lambda measuring, asked: measure_revisions(measuring, asked) or None,
    "reasonings": lambda measuring, asked: measure_reasonings(measuring, asked) or None,
    "categories": measure_categories,
    "ratings": measure_ratings,
}
