"""Uses of a trained model: scores of examples, items and replies, and its test on other examples."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from analysis.models import Completion, ExampleSet, ReplyScore, Run, TrainedModel
from analysis.models.training import TrainingTask, hash_reply
from analysis.people.corpora.embeddings import Embedder
from analysis.stats.detection import Scored
from analysis.training.evaluation import (
    EARLIER,
    MEASURES,
    Row,
    chosen_part,
    evaluate,
    say_unread,
    suspicious_baselines,
    tested_row,
)
from analysis.training.examples import Labelled, TrainingError, load_set
from analysis.training.fitting import TrainingSettings, score_baselines
from analysis.training.folders import FROZEN, folder_of, read_kept
from analysis.training.study_labels import Before, store_labels, unseen
from analysis.training.tiers.encoders import encoder_logits, score_with_encoder
from analysis.training.tiers.frozen import VERSION, Frozen, Texts, embed_texts, features_of, find_embedder, load_frozen
from analysis.training.tiers.reasoning import score_by_reasoning
from surveys.models import BenchmarkItem, Study


def find_model(name: str) -> TrainedModel:
    found = TrainedModel.objects.filter(name=name).first()
    if found is None:
        done = TrainedModel.objects.filter(state=TrainedModel.State.DONE).order_by("name")
        known = ", ".join(done.values_list("name", flat=True)) or "none yet"
        raise TrainingError(f"There is no model called {name}. Models: {known}. `train` makes one.")
    return found


class OpenModel(NamedTuple):
    """A model with the data that its folder keeps."""

    model: TrainedModel
    kept: Row
    fit: Frozen

    def embedder(self, endpoint: str) -> Embedder:
        """Find the embedder whose vectors it learned from; `endpoint` must be the same one. Raises TrainingError."""
        return find_embedder(endpoint, self.kept.get("vectors", ""))

    def texts(self, examples: Sequence[Labelled], endpoint: str, *, keep: bool = True) -> Texts:
        return embed_texts(self.model.task, examples, self.embedder(endpoint), keep=keep)

    def score(self, examples: Sequence[Labelled], texts: Texts) -> tuple[Scored, list[str]]:
        """Score how probable it is that each is supported, relevant, or that its first response is preferred.

        Also return the replies of a model that reasons; empty for others.
        """
        model, kept, replies = self.model, self.kept, [""] * len(examples)
        if model.tier == TrainedModel.Tier.GRPO:
            settings = TrainingSettings(**kept["asked"], tokens=kept["tokens"], threads=kept["threads"])
            scores, replies = score_by_reasoning(model.task, folder_of(model.name), examples, settings)
            return Scored(scores, kept["threshold"]), replies
        scores = self.fit.score(features_of(model.task, examples, texts))
        if model.tier == TrainedModel.Tier.ENCODER:
            frozen = None if kept.get("plain") else scores
            scores = score_with_encoder(folder_of(model.name), examples, frozen, kept["tokens"], kept["threads"])
        return Scored(scores, kept["threshold"]), replies

    def like(self, each: Sequence[Labelled], texts: Texts) -> np.ndarray:
        """Score each response by itself, (responses,): of two the difference is the logit of preferring the first.

        With an encoder beside tier A, the difference is larger than that if tier A is surer of a pair than SUREST.
        """
        model, kept = self.model, self.kept
        plain = kept.get("plain")
        scores = np.zeros(len(each)) if plain else self.fit.logits(features_of(model.task, each, texts))
        if model.tier == TrainedModel.Tier.ENCODER:
            scores = scores + encoder_logits(folder_of(model.name), each, kept["tokens"], kept["threads"])
        return scores


def open_model(model: TrainedModel, examples: ExampleSet | None = None) -> OpenModel:
    """Open a model. Raises TrainingError if its files have changed, or if these examples are for another task."""
    if examples and examples.task != model.task:
        raise TrainingError(
            f"{model.name} is a model of the task {model.task}; the examples {examples.name} are for {examples.task}."
        )
    kept = read_kept(model)
    if kept["features"] != VERSION:
        raise TrainingError(f"{model.name} was trained by an older version of the platform: train it again.")
    return OpenModel(model, kept, load_frozen(folder_of(model.name) / FROZEN))


def evaluate_model(model: TrainedModel, examples: ExampleSet, *, everything: bool = False, endpoint: str = "") -> Row:
    """Test on all of a set that came without a split, or on the test part of one that did or that it learned from.

    `everything`: on all of a set that it did not learn from. Raises TrainingError.
    """
    opened = open_model(model, examples)
    kept, own = opened.kept, model.examples_id == examples.pk
    rows = load_set(examples)
    if own and everything:
        raise TrainingError(f"{model.name} learned from {examples.name}: only its test part says anything.")
    if own and (by := model.settings.get("split")):
        raise TrainingError(
            f"{model.name} was trained with --split {by}; its test on {examples.name} stands in its own figures."
        )
    part, why = chosen_part(rows, own, everything)
    if not part:
        raise TrainingError(f"{examples.name} has no test part.")
    tested = tested_row(part, len(rows), why)
    texts = opened.texts(part, endpoint)
    scored, _ = opened.score(part, texts)
    baselines = score_baselines(kept, model.task, part, texts, opened.fit)
    positive = kept.get("positive", EARLIER[model.task])
    result = evaluate(model.task, part, scored, baselines, kept["seen"], positive)
    result["warnings"] += suspicious_baselines(model.task, result)
    result["warnings"] += say_unread(model.task, part, kept["tokens"] if model.tier == TrainedModel.Tier.ENCODER else 0)
    found = {
        "model": model.name,
        "task": model.task,
        "tier": model.tier,
        "version": model.sha256,
        "examples": examples.name,
        "part": tested["part"],
        "tested": tested,
        **result,
        **({"threshold_by": kept["threshold_by"]} if "threshold_by" in kept else {}),
    }
    if not own:
        keep_elsewhere(model, found)
    return found


MOST_ELSEWHERE = 20  # sets whose figures a model keeps, the latest ones


def keep_elsewhere(model: TrainedModel, found: Row) -> None:
    """Keep the test on a set that it did not learn from, with the baselines there, for the model's page."""
    kept = {"n": found["n"], "groups": found["groups"], "tested": found["tested"], "baselines": found["baselines"]}
    kept |= {name: found[name] for name in (*MEASURES[model.task], "ci") if name in found}
    with transaction.atomic():
        row = TrainedModel.objects.select_for_update().get(pk=model.pk)
        others = {name: each for name, each in row.metrics.get("elsewhere", {}).items() if name != found["examples"]}
        last = dict(list(others.items())[1 - MOST_ELSEWHERE :])
        row.metrics["elsewhere"] = last | {found["examples"]: kept}
        row.save(update_fields=["metrics"])


def predict(model: TrainedModel, examples: ExampleSet, endpoint: str = "") -> Iterator[dict[str, Any]]:
    """Yield `id`, for pairs `attribute`, and `score` of every example, in their order."""
    opened, rows = open_model(model, examples), load_set(examples)
    scored, _ = opened.score(rows, opened.texts(rows, endpoint))
    for each, value in zip(rows, np.asarray(scored.scores).tolist(), strict=True):
        yield {"id": each.key, **({"attribute": each.part} if each.part else {}), "score": value}


def label_study(model: TrainedModel, study: Study, before: Before | None = None, endpoint: str = "") -> int:
    """Store the model's labels of a study's items as a rater's; return the number of items. `before`: the untrained
    model's answers on some.

    In the study that it learned from, label only items of groups that it did not learn from.
    """
    opened = open_model(model)
    learned = set(opened.kept["groups"]) if model.study_id == study.pk else set()
    pairs = unseen(study, model, learned)
    if not pairs:
        raise TrainingError(f"{study.slug} has no items that {model.name} could label.")
    scored, replies = opened.score(pairs, opened.texts(pairs, endpoint, keep=False))
    said = list(zip(scored.scores.tolist(), replies, strict=True))
    return store_labels(study, model, pairs, said, scored.threshold, before)


BATCH = 1_000  # replies that are scored and kept together
Ask = Callable[[BenchmarkItem], str]


def score_replies(
    model: TrainedModel,
    study: Study,
    ask: Ask,
    show: Callable[[int, int], None] = lambda done, total: None,
    endpoint: str = "",
) -> tuple[int, int]:
    """Score each distinct reply in the study's benchmark runs once; return how many there are and how many are new.

    `ask` writes a question as the model reads it. Scores are kept batch by batch. Raises TrainingError.
    """
    check_scores(model, study)
    opened, replies = open_model(model), replies_of(study, ask)
    if not replies:
        raise TrainingError(f"{study.slug} has no replies to questions of a benchmark.")
    known = set(model.reply_scores.values_list("sha256", flat=True))
    new = [each for key, each in replies.items() if key not in known]
    embedder = opened.embedder(endpoint)
    for start in range(0, len(new), BATCH):
        some = new[start : start + BATCH]
        values = opened.like(some, embed_texts(model.task, some, embedder, keep=True))
        rows = [
            ReplyScore(model=model, sha256=each.key, value=value)
            for each, value in zip(some, values.tolist(), strict=True)
        ]
        ReplyScore.objects.bulk_create(rows, ignore_conflicts=True)
        show(start + len(some), len(new))
    return len(replies), len(new)


def check_scores(model: TrainedModel, study: Study) -> None:
    """Raise TrainingError unless the model scores a response by itself and is of the study or shared with it."""
    if model.task != TrainingTask.REWARD:
        raise TrainingError(f"{model.name} is a model of the task {model.task}; only a reward model scores replies.")
    if model.tier == TrainedModel.Tier.GRPO:
        raise TrainingError(
            f"{model.name} reasons about two responses and has no score of one: train it as frozen or encoder."
        )
    if not TrainedModel.objects.of_study(study).filter(pk=model.pk).exists():
        raise TrainingError(f"{model.name} is neither of {study.slug} nor shared with it, so no report would show it.")


def replies_of(study: Study, ask: Ask) -> dict[str, Labelled]:
    """Return each distinct reply with its question, by hash."""
    runs = Run.objects.of_study(study).exclude(benchmark="")
    calls = Completion.objects.filter(run__in=runs, item__isnull=False, status=Completion.Status.DONE)
    rows = calls.exclude(reply="").order_by("item_id", "reply").values_list("item_id", "reply").distinct()
    items = BenchmarkItem.objects.in_bulk({item for item, _ in rows})
    asked = {pk: ask(item) for pk, item in items.items()}
    keys = [hash_reply(items[pk].question, items[pk].choices, reply) for pk, reply in rows]
    return {key: Labelled(key, "", "", "", asked[pk], reply) for key, (pk, reply) in zip(keys, rows, strict=True)}
