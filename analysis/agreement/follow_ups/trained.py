"""Trained models beside the best prompted judge, and reasoning models' words before and after they learned."""

import numpy as np

from analysis.agreement.annotations import Measuring, QuestionLabels, code_wholes, number
from analysis.agreement.follow_ups.doubted import chosen_items
from analysis.agreement.follow_ups.mention_rule import SENTENCE, names_attribute, words_of
from analysis.stats.agreement.agreement import Row, write_estimate
from analysis.stats.agreement.estimates import estimate_clustered_share
from analysis.stats.detection import Cases, Scored, compare_scores, measure_scores
from analysis.stats.intervals import Bools, Floats, Ints, t_quantile, tail_p
from analysis.stats.simultaneous import LEVEL, Family, reach, strength_of, student_p
from surveys.models import Annotation, AnnotationItem
from surveys.studies.files.kinds import PART
from surveys.studies.labels import TRAINED, newest
from surveys.studies.wording import INTERVAL, decimal, plural, sized

FEWEST = 20  # units that both labelled
SWAPS = 2_000
NOT_TOLD = "not told apart"


def measure_trained(asked: QuestionLabels) -> list[Row]:
    """Measure each trained model's F1 (of the positive label; accuracy without one) minus the best judge's.

    Both are compared with people's majority on the same units; the best judge is chosen by its value there, which
    favours the judges.
    """
    kinds = {row.rater: (row.is_model, row.is_baseline, row.is_trained) for row in asked.rows}
    trained = [rater for rater, kind in kinds.items() if kind[2]]
    judges = [rater for rater, kind in kinds.items() if kind[0] and not kind[1]]
    if not trained or not judges:
        return []
    people = {unit: label for unit, label in asked.majorities(asked.voters).items() if label}
    found = []
    for rater in trained:
        if known := [row for judge in judges if (row := compare_with_judge(asked, rater, judge, people))]:
            best = max(known, key=lambda row: row["judges"]["value"] or 0.0)
            found.append(best | {"compared": len(known)})
    return found


def compare_with_judge(asked: QuestionLabels, rater: str, judge: str, people: dict[str, str]) -> Row | None:
    """Compare a trained model with a judge; None if they share fewer than FEWEST units."""
    said = asked.said
    units = [unit for unit in people if rater in said[unit] and judge in said[unit]]
    if len(units) < FEWEST:
        return None
    positive, wholes = asked.question.positive, asked.wholes
    codes = number(wholes[unit] for unit in units)
    groups = np.array([codes[wholes[unit]] for unit in units], np.int64)
    truth = np.array([people[unit] == positive if positive else True for unit in units])
    mine, theirs = (
        Scored(np.array([said[u][name] == (positive or people[u]) for u in units], float), 0.5)
        for name in (rater, judge)
    )
    measure = "f1" if positive else "accuracy"
    cases = Cases(truth, groups, groups)
    difference = compare_scores(cases, mine, theirs, {measure: measure})[measure]
    own, its = (measure_scores(cases, scored, [measure])[measure] for scored in (mine, theirs))
    return {
        "rater": rater,
        "judge": judge,
        "measure": measure,
        "n": len(units),
        "unit": asked.unit,
        "units": len(codes),
        "own": write_estimate(own),
        "judges": write_estimate(its),
        "difference": write_estimate(difference),
        "p": swapped_p(truth, mine.called, theirs.called, groups, bool(positive)),
        "beats": NOT_TOLD,
    }


def swapped_p(truth: Bools, mine: Bools, theirs: Bools, groups: Ints, is_f1: bool) -> float | None:
    """Compute the two-sided p of a difference by swapping the raters' labels within random groups.

    Arrays of shape (cases,); the score is F1 with `is_f1`, else accuracy. If few draws are as large, `tail_p` is finer
    than one in all draws.
    """
    m = int(groups.max()) + 1

    def tally(said: Bools) -> Floats:
        """Count true positives, false positives and false negatives by group, shape (3, m)."""
        return np.array([np.bincount(groups, one, m) for one in (said & truth, said & ~truth, ~said & truth)])

    def score(counts: Floats) -> Floats:
        right, wrong, missed = counts
        whole = 2 * right + wrong + missed if is_f1 else right + missed
        return np.divide((1 + is_f1) * right, whole, out=np.zeros_like(right), where=whole > 0)

    one, other = tally(mine), tally(theirs)
    kept = np.random.default_rng(0).integers(0, 2, (m, SWAPS))
    drawn = score(one @ kept + other @ (1 - kept)) - score(one @ (1 - kept) + other @ kept)
    seen = float(score(one.sum(axis=1)) - score(other.sum(axis=1)))
    return tail_p(abs(seen), np.abs(drawn), 2.0 ** min(m, 1000))


def claims_of(questions: list[Row]) -> list[Row]:
    """Claim which trained models differ significantly from the best judge, corrected for all their pairs with judges.

    Also set `beats` in their rows.
    """
    rows = [(question["question"], row) for question in questions for row in question.get("trained", ())]
    pairs = sum(row["compared"] for _, row in rows)
    family, claims = Family(pairs, (), 1.0), []
    for question, row in rows:
        value, ends, freedom = row["difference"]["value"], row["difference"]["ci"], row["units"] - 1
        if not ends or row["p"] is None or ends[1] <= ends[0]:
            continue
        error = (ends[1] - ends[0]) / 2 / float(t_quantile(freedom))
        p = family.p(strength_of(max(student_p(value, error, freedom), row["p"])))
        if p >= LEVEL:
            continue
        row["beats"] = "yes" if value > 0 else "no"
        half = error * reach(family.critical, freedom)
        low, high = sorted((abs(value) - half, abs(value) + half))
        sentence = (
            f"{row['rater']} is {'above' if value > 0 else 'below'} {row['judge']}, the best prompted judge, in "
            f"{'F1' if row['measure'] == 'f1' else 'accuracy'} against people’s majority: {decimal(abs(value))} "
            f"(simultaneous {INTERVAL} {decimal(low)}–{decimal(high)}, {sized(row['n'])})."
        )
        claims.append(
            {
                "page": "agreement",
                "kind": "trained",
                "family": plural(pairs, "pair of a trained model and a judge", "pairs of a trained model and a judge"),
                "sentence": sentence,
                **{"measure": row["measure"], "estimate": value, "ci": [value - half, value + half], "n": [row["n"]]},
                **{"p": p, "question": question, "rater": row["rater"], "judge": row["judge"]},
            }
        )
    return claims


MOST_SHOWN = 20  # per model
NOTHING = "the rule decides of no reasoning"


def measure_reasonings(measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """Compare models' reasoning before and after they learned, and how often it names the attribute."""
    rows = newest(Annotation.objects.filter(judge__startswith=f"{TRAINED} ", detail__has_key="reasoning"))
    rows = rows.filter(item__in=chosen_items(measuring), state=Annotation.State.GIVEN)
    by_model: dict[str, list[Row]] = {}
    people = asked.majorities({row.rater for row in asked.rows if not row.is_model})
    keys = set(asked.items)
    for row in rows.select_related("item").order_by("judge", "item__position"):
        for part in row.detail["reasoning"]:
            if part["said_before"] and row.item.key in keys:
                by_model.setdefault(row.judge, []).append(reasoning_row(asked, row, part, people))
    return [measure_model(rater, told, asked) for rater, told in by_model.items()]


def reasoning_row(asked: QuestionLabels, row: Annotation, part: Row, people: dict[str, str]) -> Row:
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
    """Whether the reasoning names the attribute by the rule for responses, without words of the prompt."""
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
    # First the labels that changed to people's.
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
