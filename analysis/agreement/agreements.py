"""How far annotators and judges agree: every number of a study, kept until a label changes."""

import hashlib
import json
from collections import defaultdict
from statistics import median
from typing import Any

import numpy as np
from django.db.models import Count, Max

from analysis.agreement.annotations import EVERYTHING, Choice, Gathered, gather
from analysis.agreement.groups import measure_groups
from analysis.agreement.mentions import MENTION_RULE
from analysis.agreement.ratings import has_sides, measure_ratings
from analysis.models import Endpoint
from analysis.report.metric_cache import keep_part
from analysis.stats.agreement.agreement import (
    THRESHOLD,
    Shape,
    measure_agreement,
    shape_agreement,
    shape_head,
    write_estimate,
)
from analysis.stats.agreement.labels import read_maybe
from analysis.stats.agreement.ratings import LEFT, NEITHER, RIGHT, measure_side_bias
from analysis.stats.resampling import generator
from surveys.models import Annotation, GateVerdict, Participant, Slot, Study
from surveys.study_files.kinds import GENERIC, PERSONALISED

AGREEMENT_VERSION = 4
DRAWS = 1000
MAYBE = ("no", "maybe", "yes")


def agreement_of(
    study: Study, choice: Choice = EVERYTHING, seed: int = 0, draws: int = DRAWS, threshold: int = THRESHOLD
) -> Shape:
    """`{"study", "questions": […]}` of docs/agreement.md for the labels chosen; kept by what it is made of."""
    key = fingerprint(study, choice, seed, draws, threshold)
    name = f"agreement {hash_inputs(vars_of(choice))[:16]}"
    return keep_part(study, name, key, lambda: measure(study, choice, seed, draws, threshold)).value


def hash_inputs(inputs: list[Any]) -> str:
    return hashlib.sha256(json.dumps(inputs, default=str).encode()).hexdigest()


def vars_of(choice: Choice) -> list[Any]:
    return [choice.pilot, choice.simulated, choice.corpus, choice.cluster, choice.tag]


def fingerprint(study: Study, choice: Choice, seed: int, draws: int, threshold: int) -> str:
    """Changes with every label, withdrawal, gate decision and taken slot."""
    said = Annotation.objects.filter(item__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    gate = GateVerdict.objects.filter(decision__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    slots = Slot.objects.filter(item__study=study, done_at__isnull=False).aggregate(
        last=Max("done_at"), count=Count("pk")
    )
    inputs = [AGREEMENT_VERSION, MENTION_RULE, study.current_id, vars_of(choice), seed, draws, threshold]
    return hash_inputs([*inputs, *said.values(), *gate.values(), str(slots["last"]), slots["count"]])


def measure(study: Study, choice: Choice, seed: int, draws: int, threshold: int) -> Shape:
    asked = gather(study, choice)
    return {
        "study": study.slug,
        "threshold": threshold,
        "seed": seed,
        "simulated": find_simulated(study, asked),
        "questions": [measure_question(study, each, choice.pilot, seed, draws, threshold) for each in asked],
        "times": time_by_rater(asked),
    }


def find_simulated(study: Study, asked: list[Gathered]) -> list[str]:
    """The raters that the platform made up: simulated people, and judges whose replies are scripted."""
    rows = [row for each in asked for row in each.rows]
    judged = Annotation.objects.filter(item__study=study, detail__provider=Endpoint.Provider.FAKE)
    scripted = set(judged.order_by().values_list("judge", flat=True).distinct())
    people = {row.rater for row in rows if row.origin == Participant.Origin.SIMULATED}
    return sorted(people | scripted & {row.rater for row in rows})


def measure_question(study: Study, asked: Gathered, pilot: bool, seed: int, draws: int, threshold: int) -> Shape:
    shape: Shape = {"question": asked.question.name, "text": asked.question.text, "scale": asked.question.scale}
    # In scale order, as the confusion tables are: the order of keys does not survive in the database.
    shape["values"] = list(asked.names)
    if not len(asked.labels.values):
        return shape | {"items": 0, "annotators": 0, "labels": 0, "why": "Nobody has given a label yet."}
    rng = generator(seed, study.slug, asked.question.name)
    found = measure_agreement(asked.labels, rng, asked.scale, threshold, draws)
    shape |= shape_agreement(found, asked.names, asked.raters)
    shape["drawn"] = "users" if asked.by_user else "items"
    shape |= measure_groups(asked, seed, draws, threshold, study.slug)
    if asked.names == MAYBE:
        shape["maybe"] = measure_maybe(study, asked, seed, draws, threshold)
    if sides := measure_sides(asked):
        shape["sides"] = sides
    if has_sides(asked):
        rng = generator(seed, study.slug, asked.question.name, "ratings")
        shape["ratings"] = measure_ratings(study, asked, pilot, rng, draws)
    return shape


def measure_maybe(study: Study, asked: Gathered, seed: int, draws: int, threshold: int) -> Shape:
    """The main coefficients of the four ways to read Maybe, side by side."""
    views = {}
    for name, view in read_maybe(asked.labels).items():
        rng = generator(seed, study.slug, asked.question.name, name)
        views[name] = shape_head(measure_agreement(view.labels, rng, view.scale, threshold, draws))
    return views


def measure_sides(asked: Gathered) -> Shape | None:
    """How often raters prefer what stands on the left; None for kinds without sides."""
    rows = [row for row in asked.rows if row.left in (GENERIC, PERSONALISED)]
    if not rows:
        return None
    middle = (len(asked.names) - 1) / 2
    places = np.array([asked.names.index(row.shown_value) - middle for row in rows])
    sides = np.select([places < 0, places > 0], [LEFT, RIGHT], NEITHER).astype(np.int8)
    raters = {name: code for code, name in enumerate(dict.fromkeys(row.rater for row in rows))}
    codes = np.array([raters[row.rater] for row in rows], np.int32)
    bias = measure_side_bias(sides, codes, len(raters))
    named = [("all", bias.share), *zip(raters, bias.raters, strict=True)]
    return {"neither": bias.neither, "left": {name: write_estimate(each) for name, each in named}}


def time_by_rater(asked: list[Gathered]) -> list[Shape]:
    """Median active seconds of each person's annotations."""
    times: dict[str, dict[int, int]] = defaultdict(dict)
    for each in asked:
        for row in each.rows:
            if row.active_ms is not None and not row.is_model:
                times[row.rater][row.annotation] = row.active_ms
    return [
        {"rater": rater, "n": len(found), "median_seconds": median(found.values()) / 1000}
        for rater, found in sorted(times.items())
    ]
