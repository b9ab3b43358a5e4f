"""What a model says before it decides, before and after it learned from people, side by side, as in table 7."""

import numpy as np

from analysis.agreement.annotations import Measuring, QuestionLabels, code_wholes
from analysis.agreement.follow_ups.mention_rule import SENTENCE, names_attribute, words_of
from analysis.agreement.follow_ups.revisions import chosen_items
from analysis.stats.agreement.agreement import Row, write_estimate
from analysis.stats.agreement.estimates import estimate_clustered_share
from surveys.annotation.counted import TRAINED, newest
from surveys.models import Annotation, AnnotationItem
from surveys.studies.files.kinds import PART

MOST_SHOWN = 20  # of each model
NOTHING = "the rule decides of no reasoning"


def measure_reasonings(measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """Of each model that reasons and was asked before it learned too: both, and how often they name the attribute."""
    rows = newest(Annotation.objects.filter(judge__startswith=f"{TRAINED} ", detail__has_key="reasoning"))
    rows = rows.filter(item__in=chosen_items(measuring), state=Annotation.State.GIVEN)
    by_model: dict[str, list[Row]] = {}
    people = asked.majorities({row.rater for row in asked.rows if not row.is_model})
    keys = set(asked.items)
    for row in rows.select_related("item").order_by("judge", "item__position"):
        for part in row.detail["reasoning"]:
            if part["said_before"] and row.item.key in keys:
                by_model.setdefault(row.judge, []).append(put_beside(asked, row, part, people))
    return [measure_model(rater, told, asked) for rater, told in by_model.items()]


def put_beside(asked: QuestionLabels, row: Annotation, part: Row, people: dict[str, str]) -> Row:
    item, of_part = row.item, f"{PART}{part['part']}" if part["part"] else ""
    attribute = attribute_of(item, part["part"])
    return {
        "item": item.pk,
        "key": f"{item.key}{of_part}",
        "user": item.cluster,
        "prompt": item.payload.get("prompt", ""),
        "attribute": attribute,
        "people": people.get(f"{item.key}{of_part}", ""),
        "before": part["before"],
        "after": row.labels[f"{asked.question.name}{of_part}"],
        "said_before": part["said_before"],
        "said_after": part["said"],
        "named": [is_named(attribute, part[said], item) for said in ("said_before", "said")],
    }


def attribute_of(item: AnnotationItem, part: str) -> str:
    parts = item.payload.get("attributes", ())
    return next((each["text"] for each in parts if each["id"] == part), item.payload.get("attribute", ""))


def is_named(attribute: str, said: str, item: AnnotationItem) -> bool | None:
    """By the rule that tells which responses name an attribute; the prompt's words are anybody's."""
    sentences = [words_of(sentence) for sentence in SENTENCE.split(said)]
    return names_attribute(attribute, sentences, words_of(item.payload.get("prompt", "")))


def measure_model(rater: str, rows: list[Row], asked: QuestionLabels) -> Row:
    units = np.array(code_wholes(((row["user"], row["item"]) for row in rows), asked.by_user))
    named = {}
    for place, when in enumerate(("before", "after")):
        told = np.array([row["named"][place] is not None for row in rows])
        said = np.array([bool(row["named"][place]) for row in rows])
        named[when] = write_estimate(estimate_clustered_share(said[told], units[told], NOTHING))
    changed = [row for row in rows if row["before"] != row["after"]]
    # What it changed to people's word comes first.
    shown = sorted(rows, key=lambda row: (row["before"] == row["after"], row["after"] != row["people"]))
    return {
        "rater": rater,
        "n": len(rows),
        "unit": asked.unit,
        "units": len(np.unique(units)),
        "changed": len(changed),
        "changed_to_people": sum(row["after"] == row["people"] for row in changed),
        "named": named,
        "rows": [{name: row[name] for name in row if name not in ("user", "named")} for row in shown[:MOST_SHOWN]],
    }
