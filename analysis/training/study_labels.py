"""A study's own labels as examples, and a trained model's answers about its items as another rater's labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.models import TrainedModel
from analysis.models.training import TrainingTask
from analysis.training.examples import TEST, Labelled, TrainingError, fill_split, regroup
from surveys.models import AnnotationItem, Study
from surveys.models.hashes import hash_text
from surveys.studies.files.kinds import GENERIC, PERSONALISED, PREFERENCE, QUALITY, RELEVANCE, LabelQuestion
from surveys.studies.labels import TRAINED, iter_labels, questions_of, record_judgement

LONGEST_NAME = 150
# By task, the kind of items that it learns from, and their question.
SOURCES: dict[str, tuple[str, LabelQuestion]] = {
    TrainingTask.VERIFIER: ("attribute", QUALITY),
    TrainingTask.RELEVANCE: ("relevance", RELEVANCE),
    TrainingTask.REWARD: ("preference", PREFERENCE),
}


def study_examples(study: Study, task: str) -> list[Labelled]:
    """Return every item that people of the study labelled, with the share of yes, or the mean of several ratings.

    Divided by user for a verifier, by prompt otherwise. Leave out items on which people are split evenly, and models'
    revisions, which nobody extracted. Raises TrainingError.
    """
    rows = [each for each in study_pairs(study, task, revised=False) if each.ratings]
    if not rows:
        kind = SOURCES[task][0]
        raise TrainingError(f"Nobody has labelled {kind} items of {study.slug}, from which a {task} model learns.")
    return fill_split(row for row in rows if row.label != 0.5)


def study_pairs(study: Study, task: str, *, revised: bool = True) -> list[Labelled]:
    """Return every pair of texts of the study's items, labelled or not. `user` is the item's cluster.

    An item has one attribute, so a `turn` is all that was asked about one prompt and user.
    """
    kind, question = SOURCES[task]
    said: dict[str, list[tuple[str, float]]] = defaultdict(list)
    if question.name in {asked.name for asked in questions_of(study)}:
        for label in iter_labels(study):
            if label.question == question.name and not label.is_model:
                said[label.unit].append((label.rater, value_of(question, label.value)))
    items = AnnotationItem.objects.filter(
        study=study, kind=kind, pilot=False, purpose=AnnotationItem.Purpose.WORK
    ).order_by("position")
    if not revised:
        items = items.exclude(payload__has_key="before")
    found = []
    for item in items.only("key", "payload", "cluster", "corpus", "position"):
        for part, first, second, third in texts_of(task, item.payload):
            ratings = tuple(said.get(f"{item.key}/{part}" if part else item.key, ()))
            share = sum(value for _, value in ratings) / len(ratings) if ratings else 0.0
            group = (item.cluster or item.key) if task == TrainingTask.VERIFIER else hash_text(item.payload["prompt"])
            found.append(
                Labelled(
                    *(item.key, part, group, "", first, second, third),
                    label=share,
                    ratings=ratings,
                    user=item.cluster,
                    corpus=item.corpus,
                    turn=f"{group} {item.cluster}" if task == TrainingTask.RELEVANCE else "",
                )
            )
    return found


def value_of(question: LabelQuestion, value: str) -> float:
    """Map a label to a number: 0 for the first of the scale, 1 for the last; Maybe is 0.5, 1 to 5 are quarters."""
    return question.values.index(value) / (len(question.values) - 1)


def texts_of(task: str, payload: dict[str, Any]) -> Iterable[tuple[str, str, str, str]]:
    """Yield part, first, second and third text."""
    if task == TrainingTask.VERIFIER:
        yield "", "\n".join(each["quote"] for each in payload["evidence"]), payload["attribute"], ""
    elif task == TrainingTask.RELEVANCE:
        yield "", payload["prompt"], payload["attribute"], ""
    else:
        for part in payload["attributes"]:
            yield part["id"], f"{payload['prompt']}\n{part['text']}", payload[PERSONALISED], payload[GENERIC]


# --- as a rater -------------------------------------------------------------


def unseen(study: Study, model: TrainedModel, learned: set[str]) -> list[Labelled]:
    """Return the pairs that the model may label: of groups, as its split names them, that it did not learn from."""
    pairs = regroup(study_pairs(study, model.task), model.settings.get("split", ""))
    return [each for each in pairs if hash_text(each.group)[:16] not in learned]


def groups_learned(examples: Iterable[Labelled]) -> list[str]:
    """Hash the groups that a model learned from or was chosen on."""
    return sorted({hash_text(each.group)[:16] for each in examples if each.split != TEST})


def rater_name(model: TrainedModel) -> str:
    """Name the model as a rater; another training under the same name is another rater."""
    return f"{TRAINED} {model.name} {model.sha256[:8]}"[:LONGEST_NAME]


Said = tuple[float, str]  # a score and, if the model reasons, its reply
Before = Mapping[tuple[str, str], tuple[str, str]]  # by item and part, the untrained model's label and reply


def store_labels(
    study: Study,
    model: TrainedModel,
    pairs: Sequence[Labelled],
    said: Sequence[Said],
    threshold: float,
    before: Before | None = None,
) -> int:
    """Store the model's labels, one judgement with all parts per item. Return the number of items."""
    question = SOURCES[model.task][1]
    by_item: dict[str, list[tuple[Labelled, Said]]] = defaultdict(list)
    for each, told in zip(pairs, said, strict=True):
        by_item[each.key].append((each, told))
    items = AnnotationItem.objects.filter(study=study, pilot=False, key__in=list(by_item))
    kept = 0
    for item in items.select_related("study__current").order_by("position"):
        rows = by_item[item.key]
        labels = {
            f"{question.name}/{each.part}" if each.part else question.name: label_of(model.task, score, threshold)
            for each, (score, _) in rows
        }
        detail: dict[str, Any] = {
            **{"model": model.name, "tier": model.tier, "version": model.sha256, "threshold": threshold},
            "scores": [score for _, (score, _) in rows],
        }
        if any(reply for _, (_, reply) in rows):
            known = [(before or {}).get((each.key, each.part), ("", "")) for each, _ in rows]
            detail["reasoning"] = [
                {"part": each.part, "said": reply, "before": label, "said_before": first}
                for (each, (_, reply)), (label, first) in zip(rows, known, strict=True)
            ]
        left = PERSONALISED if model.task == TrainingTask.REWARD else ""
        record_judgement(item, rater_name(model), labels, detail=detail, only=(question.name,), left=left)
        kept += 1
    return kept


def label_of(task: str, score: float, threshold: float) -> str:
    """Turn a score into a label: yes from the threshold on; for a reward the nearest rating, personalised at left."""
    if task == TrainingTask.REWARD:
        values = PREFERENCE.values
        return values[len(values) - 1 - round(score * (len(values) - 1))]
    return "yes" if score >= threshold else "no"
