"""How much a reward model likes each reply to the questions of benchmarks, from which a report takes the best of n."""

from collections.abc import Callable, Sequence

import numpy as np

from analysis.models import Completion, ReplyScore, Run, TrainedModel
from analysis.models.training import TrainingTask, hash_reply
from analysis.training.evaluation import Shape
from analysis.training.examples import Labelled, TrainingError
from analysis.training.features import Texts, embed_texts, features_of, find_embedder
from analysis.training.folders import folder_of
from analysis.training.tiers.encoders import encoder_logits
from analysis.training.tiers.frozen import Frozen
from analysis.training.using import open_model
from surveys.models import BenchmarkItem, Study

BATCH = 1_000  # replies that are scored and kept together
Ask = Callable[[BenchmarkItem], str]


def score_replies(
    model: TrainedModel,
    study: Study,
    ask: Ask,
    show: Callable[[int, int], None] = lambda done, total: None,
    endpoint: str = "",
) -> tuple[int, int]:
    """Score each different reply in the study's benchmark runs once; returns how many there are and how many are new.

    `ask` writes a question as the model reads it. What was scored before a stop is kept. Raises TrainingError.
    """
    check_scores(model, study)
    kept, fit = open_model(model)
    replies = replies_of(study, ask)
    if not replies:
        raise TrainingError(f"{study.slug} has no replies to questions of a benchmark.")
    known = set(model.reply_scores.values_list("sha256", flat=True))
    new = [each for key, each in replies.items() if key not in known]
    embedder = find_embedder(endpoint, kept.get("vectors", ""))
    for start in range(0, len(new), BATCH):
        some = new[start : start + BATCH]
        values = like(model, kept, fit, some, embed_texts(model.task, some, embedder, keep=True))
        rows = [
            ReplyScore(model=model, sha256=each.key, value=value)
            for each, value in zip(some, values.tolist(), strict=True)
        ]
        ReplyScore.objects.bulk_create(rows, ignore_conflicts=True)
        show(start + len(some), len(new))
    return len(replies), len(new)


def check_scores(model: TrainedModel, study: Study) -> None:
    """Raises TrainingError unless it has a score of a response by itself and is of the study or shared with it."""
    if model.task != TrainingTask.REWARD:
        raise TrainingError(f"{model.name} is a model of the task {model.task}; only a reward model scores replies.")
    if model.tier == TrainedModel.Tier.GRPO:
        raise TrainingError(
            f"{model.name} reasons about two responses and has no score of one: train it as frozen or encoder."
        )
    if not TrainedModel.objects.of_study(study).filter(pk=model.pk).exists():
        raise TrainingError(f"{model.name} is neither of {study.slug} nor shared with it, so no report would show it.")


def replies_of(study: Study, ask: Ask) -> dict[str, Labelled]:
    """Each different reply with its question, by their hash."""
    runs = Run.objects.of_study(study).exclude(benchmark="")
    calls = Completion.objects.filter(run__in=runs, item__isnull=False, status=Completion.Status.DONE)
    rows = calls.exclude(reply="").order_by("item_id", "reply").values_list("item_id", "reply").distinct()
    items = BenchmarkItem.objects.in_bulk({item for item, _ in rows})
    asked = {pk: ask(item) for pk, item in items.items()}
    keys = [hash_reply(items[pk].question, items[pk].choices, reply) for pk, reply in rows]
    return {key: Labelled(key, "", "", "", asked[pk], reply) for key, (pk, reply) in zip(keys, rows, strict=True)}


def like(model: TrainedModel, kept: Shape, fit: Frozen, each: Sequence[Labelled], texts: Texts) -> np.ndarray:
    """(responses,) the model's score of each by itself: of two the difference is the logit of preferring the first.

    Beside tier A an encoder's differences are larger than that where tier A is surer of a pair than SUREST, its bound.
    """
    scores = np.zeros(len(each)) if kept.get("plain") else fit.logits(features_of(model.task, each, texts))
    if model.tier == TrainedModel.Tier.ENCODER:
        scores = scores + encoder_logits(folder_of(model.name), each, kept["tokens"], kept["threads"])
    return scores
