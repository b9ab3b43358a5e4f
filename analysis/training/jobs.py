"""Training as a job: planned, one at a time on a machine, stopped and resumed, saved only when complete."""

import json
import logging
import platform
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from celery import shared_task
from django.db import transaction
from django.utils import timezone

from analysis.models import ExampleSet, TrainedModel
from analysis.models.training import TrainingTask
from analysis.people.corpora.embeddings import EmbeddingError
from analysis.stats.detection import Scored
from analysis.training import fitting
from analysis.training.cards import write_card
from analysis.training.evaluation import BASE, Row, cases_of, say_unread, tested_row, threshold_row, without_texts
from analysis.training.examples import (
    Labelled,
    TrainingError,
    came_with_split,
    count_parts,
    fill_split,
    hash_labels,
    hash_split,
    load_set,
    split_by,
)
from analysis.training.fitting import TrainingSettings
from analysis.training.folders import (
    CARD,
    FROZEN,
    KEPT,
    folder_of,
    hash_folder,
    make_work_folder,
    remove_left_over,
    remove_work,
    writing_folder,
)
from analysis.training.own_users import user_gains
from analysis.training.study_labels import Before, groups_learned, label_of, study_examples
from analysis.training.tiers.encoders import EncoderTrial, find_base, keep_encoder, train_encoder
from analysis.training.tiers.frozen import embed_texts, features_of, find_embedder
from analysis.training.tiers.programs import check_installed
from analysis.training.tiers.reasoning import ReasonerTrial, check_reasoning, keep_reasoner, reply_rows, train_reasoner
from analysis.training.using import label_study
from surveys.models import Study, locks

log = logging.getLogger(__name__)
SECONDS = 1.0  # between two notes of progress
EMBEDDED = 0.2  # share of a training that comes before its network
State, Tier = TrainedModel.State, TrainedModel.Tier
Show = Callable[[float, int], None]


class TrainingStopped(Exception):
    """A training was stopped; started again, it goes on from there."""


def why_tested(model: TrainedModel) -> str:
    """Say how the model's test part was chosen."""
    if by := model.settings.get("split", ""):
        return f"they were divided anew by {by}"
    if model.examples and came_with_split(load_set(model.examples)):
        return "they came with this split"
    return "the hash of their groups divides them"


def examples_for(model: TrainedModel) -> list[Labelled]:
    found = study_examples(model.study, model.task) if model.study else fill_split(load_set(model.examples))
    by = model.settings.get("split", "")
    return split_by(found, by) if by else found


# --- progress ---------------------------------------------------------------


class Progress:
    """Notes a training's progress about once a second, and ends the training if it was stopped."""

    def __init__(self, model: TrainedModel, show: Show) -> None:
        self.model, self.show, self.before = model, show, model.seconds
        self.began = self.noted = time.monotonic()

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.began

    def note(self, share: float, curve: list[Row] | None = None) -> None:
        """Note the share, once a second or with a `curve`. Raises TrainingStopped."""
        if curve is None and time.monotonic() - self.noted < SECONDS:
            return
        self.noted = time.monotonic()
        changes: dict[str, Any] = {"share": min(share, 1.0), "seconds": self.seconds}
        if curve is not None:
            changes["curve"] = curve
        if not TrainedModel.objects.filter(pk=self.model.pk, state=State.RUNNING).update(**changes):
            raise TrainingStopped(f"{self.model.name} was stopped.")
        self.show(share, round(100 * share))

    def part(self, start: float, end: float) -> Callable[[float], None]:
        return lambda share: self.note(start + (end - start) * share)


# --- the training ---


def train_model(model: TrainedModel, progress: Progress) -> tuple[Row, Before]:
    """Train and save it; return its report, and the untrained model's answers on the test part, if it was asked."""
    settings = TrainingSettings(**model.settings)
    parts = fitting.divide(model.task, examples_for(model), settings.folds)
    note_hashes(model, parts.all)
    embedder, is_public = find_embedder(settings.embedder), model.study is None
    texts = embed_texts(model.task, parts.all, embedder, progress.part(0.0, EMBEDDED), keep=is_public)
    features = features_of(model.task, parts.all, texts)
    is_frozen = model.tier == Tier.FROZEN
    trials = fitting.fit_seeds(model.task, parts, features, settings.seeds if is_frozen else 1, settings)
    kept = fitting.keep(model.task, parts, texts, trials[0], settings)
    network = None if is_frozen else _fit_network(model, parts, features, trials[0], settings, progress)
    all_scored = network.scored if network else [Scored(trial.scores, trial.threshold) for trial in trials]
    valid = network.valid if network else [trial.valid for trial in trials]
    best = network.best if network else 0
    scored = [Scored(each.scores[parts.test], each.threshold) for each in all_scored]
    baselines = fitting.score_baselines(kept, model.task, parts.of(parts.test), texts, trials[0].fit)
    if isinstance(network, ReasonerTrial):
        baselines[BASE] = Scored(network.before.scores[parts.test], network.before.threshold)
    report = fitting.report_on(model.task, parts, kept, scored, valid, best, baselines)
    report["warnings"] += say_unread(model.task, parts.all, settings.tokens if model.tier == Tier.ENCODER else 0)
    if settings.per_user:
        report["per_user"] = user_gains(model.task, parts.all, features, trials[0].fit.strength, settings)
    if model.task != TrainingTask.REWARD:
        on = all_scored[best].scores[parts.valid], cases_of(parts.of(parts.valid))
        report["threshold_by"] = kept["threshold_by"] = threshold_row(
            model.task, scored[best].threshold, settings.aim, *on
        )
    kept |= {"threshold": scored[best].threshold, "tokens": settings.tokens, "threads": settings.threads}
    kept |= {"groups": groups_learned(parts.all), "vectors": embedder.name, "plain": settings.plain}
    kept["asked"] = {name: getattr(settings, name) for name in ("rollouts", "batch", "reply", "kl", "lora")}
    if network:
        report["timing"] = network.timing
    else:
        report["learning_curve"] = fitting.learning_curve(
            model.task, parts, features, trials[0], settings.seeds, settings
        )
    if settings.folds:
        report["cross_validation"] = fitting.cross_validate(
            model.task, parts.all, features, settings.folds, settings, texts
        )
    before: Before = {}
    if isinstance(network, ReasonerTrial):
        before = said_before(model.task, parts, network)
        if not model.study:  # a study's model keeps nothing that people wrote
            report["reasoning"] = reply_rows(parts, network)
    return finish(model, progress, parts, kept, trials[0], report, best), before


def said_before(task: str, parts: fitting.Parts, trial: ReasonerTrial) -> Before:
    """Return the untrained model's label and reply, by item and part."""
    before = trial.before
    return {
        (parts.all[place].key, parts.all[place].part): (
            label_of(task, float(before.scores[place]), before.threshold), trial.replies[place][0],
        )
        for place in parts.test.tolist()
    }  # fmt: skip


def _fit_network(
    model: TrainedModel,
    parts: fitting.Parts,
    features: np.ndarray,
    trial: fitting.FrozenTrial,
    settings: TrainingSettings,
    progress: Progress,
) -> EncoderTrial | ReasonerTrial:
    def note(share: float, curve: list[Row]) -> None:
        progress.note(EMBEDDED + (1 - EMBEDDED) * share, curve)

    work = make_work_folder(model.name)
    if model.tier == Tier.GRPO:
        return train_reasoner(model.task, parts, settings, work, note)
    return train_encoder(model.task, parts, features, trial, settings, work, note)


def note_hashes(model: TrainedModel, examples: list[Labelled]) -> None:
    """Store the hashes of labels and split; remove work that was begun with others."""
    labels, split = hash_labels(examples), hash_split(examples)
    if model.labels_sha256 and (model.labels_sha256, model.split_sha256) != (labels, split):
        remove_work(model.name)
    model.labels_sha256, model.split_sha256 = labels, split
    model.save(update_fields=["labels_sha256", "split_sha256"])


def finish(
    model: TrainedModel,
    progress: Progress,
    parts: fitting.Parts,
    kept: Row,
    trial: fitting.FrozenTrial,
    report: Row,
    best: int,
) -> Row:
    """Save the folder with its card, then mark the model as done."""
    tested = tested_row(parts.of(parts.test), len(parts.all), why_tested(model))
    report = {
        "model": model.name,
        "task": model.task,
        "tier": model.tier,
        "trained_on": model.examples.name if model.examples else model.study.slug,
        "labels_sha256": model.labels_sha256,
        "split_sha256": model.split_sha256,
        "settings": model.settings,
        "parts": count_parts(parts.all)["parts"],
        "tested": tested,
        **report,
        "seconds": round(progress.seconds, 1),
    }
    if model.study:
        report["warnings"] = without_texts(report["warnings"])
    with writing_folder(model.name) as folder:
        trial.fit.save(folder / FROZEN)
        if model.tier == Tier.ENCODER:
            keep_encoder(make_work_folder(model.name), folder, best)
        elif model.tier == Tier.GRPO:
            keep_reasoner(make_work_folder(model.name), folder)
        (folder / KEPT).write_text(json.dumps(kept))
        (folder / CARD).write_text(write_card(report))
    report["sha256"] = hash_folder(folder_of(model.name))
    with transaction.atomic():
        end_as(model, State.DONE, progress, share=1.0, metrics=report, sha256=report["sha256"])
    remove_work(model.name)
    return report


def end_as(model: TrainedModel, state: str, progress: Progress, **changes: Any) -> None:
    TrainedModel.objects.filter(pk=model.pk).update(
        state=state, ended_at=timezone.now(), seconds=progress.seconds, **changes
    )


ACTOR = "command line"
OPEN = (State.WAITING, State.RUNNING)
BOOTED = Path("/proc/sys/kernel/random/boot_id")
BUSY = "Another model is being trained on this machine. {name} waits, and begins when a worker is free."


# --- what there is to train on ----------------------------------------------


def plan(
    name: str, task: str, tier: str, source: ExampleSet | Study, settings: TrainingSettings, actor: str = ACTOR
) -> TrainedModel:
    """Make a model to train, or plan the unfinished one of this name again. Raises TrainingError."""
    where = {"study": source} if isinstance(source, Study) else {"examples": source}
    if isinstance(source, ExampleSet) and source.task != task:
        raise TrainingError(f"The examples {source.name} are for the task {source.task}, not {task}.")
    check_machine(tier, settings)
    given = {"task": task, "tier": tier, "settings": asdict(settings), **where}
    known = TrainedModel.objects.filter(name=name).first()
    if known is None:
        return TrainedModel.objects.create(name=name, started_by=actor, **given)
    if known.state == State.DONE:
        raise TrainingError(f"There is a model called {name} already; give this one another name.")
    # Models begun by an earlier version have fewer settings; the others get their defaults.
    before = {field: getattr(known, field) for field in given} | {
        "settings": asdict(TrainingSettings(**known.settings))
    }
    if before != given:
        remove_work(name)
        known.curve, known.share, known.seconds = [], 0.0, 0.0
        for field, value in ({"study": None, "examples": None} | given).items():
            setattr(known, field, value)
    known.state, known.reason = State.WAITING, ""
    known.save()
    return known


def check_machine(tier: str, settings: TrainingSettings) -> None:
    """Raise TrainingError if this machine lacks packages or weights for the training."""
    find_embedder(settings.embedder)
    if tier == TrainedModel.Tier.ENCODER:
        check_installed()
        find_base(settings.base)
    elif tier == TrainedModel.Tier.GRPO:
        check_reasoning(settings)


def look(source: ExampleSet | Study, task: str, settings: TrainingSettings) -> Row:
    """Count what would be trained on, without training. Raises TrainingError if it is not enough."""
    where = {"study": source} if isinstance(source, Study) else {"examples": source}
    examples = examples_for(TrainedModel(task=task, settings=asdict(settings), **where))
    parts = fitting.divide(task, examples, settings.folds)
    return {
        "task": task,
        **count_parts(parts.all),
        "labels_sha256": hash_labels(parts.all),
        "split_sha256": hash_split(parts.all),
    }


# --- one at a time ----------------------------------------------------------


def alone() -> AbstractContextManager[bool]:
    """Hold this machine's lock for trainings; yield whether it was free."""
    return locks.alone_in_process(f"training on {machine()}")


def machine() -> str:
    """Return one name for all containers of a computer, which share its processors."""
    try:
        return BOOTED.read_text().strip()
    except OSError:
        return platform.node()


def is_worked_on(model: TrainedModel) -> bool:
    """Whether a process trains it now; if none does, a model in the state `running` was interrupted."""
    return locks.is_held("training", model.pk)


def stop(model: TrainedModel) -> bool:
    """Ask the process that trains it to stop; return whether there was anything to stop."""
    return bool(TrainedModel.objects.filter(pk=model.pk, state__in=OPEN).update(state=State.STOPPED))


def resume(model: TrainedModel) -> bool:
    """Let it wait for a worker again; return whether it was stopped, failed or interrupted."""
    over = [State.STOPPED, State.FAILED, *([] if is_worked_on(model) else [State.RUNNING])]
    return bool(TrainedModel.objects.filter(pk=model.pk, state__in=over).update(state=State.WAITING, reason=""))


def next_waiting() -> TrainedModel | None:
    """Find the next model that this machine can train: first interrupted ones, then the longest waiting."""
    rows = TrainedModel.objects.filter(state__in=OPEN).order_by("began_at")
    ended = [row for row in rows if row.state == State.RUNNING and not is_worked_on(row)]
    return next(filter(can_train, [*ended, *(row for row in rows if row.state == State.WAITING)]), None)


@shared_task(name="analysis.training.tasks.train_next")
def train_next() -> None:
    """Train the next model, if nothing else is trained on this machine; one that fails keeps the reason."""
    model = next_waiting()
    if model is None:
        return
    try:
        train(model)
    except (TrainingError, TrainingStopped) as error:
        log.info("%s", error)


def can_train(model: TrainedModel) -> bool:
    """Whether this machine can train it; if not, store what it waits for as its reason."""
    try:
        check_machine(model.tier, TrainingSettings(**model.settings))
    except TrainingError as error:
        reason = f"It waits for a machine that can train it. {platform.node()}: {error}"
        TrainedModel.objects.filter(pk=model.pk, state=State.WAITING).update(reason=reason)
        return False
    return True


# --- doing it ---------------------------------------------------------------


def train(model: TrainedModel, show: Show = lambda share, number: None) -> Row:
    """Train it and save it with its report, or store why that failed. Raises TrainingError, TrainingStopped."""
    with alone() as free, locks.alone("training", model.pk) as mine:
        if not (free and mine):
            raise TrainingError(BUSY.format(name=model.name))
        remove_left_over()
        TrainedModel.objects.filter(pk=model.pk).update(state=State.RUNNING, reason="")
        model.refresh_from_db()
        progress = Progress(model, show)
        try:
            report, before = train_model(model, progress)
        except TrainingStopped:
            raise
        except KeyboardInterrupt:
            end_as(model, State.STOPPED, progress)
            raise TrainingStopped(f"{model.name} was stopped; the same command goes on with it.") from None
        except (TrainingError, EmbeddingError) as error:
            end_as(model, State.FAILED, progress, reason=str(error))
            raise TrainingError(str(error)) from None
        except OSError as error:
            reason = f"{model.name} could not be trained: {error.strerror or error}. Nothing of it was kept."
            end_as(model, State.FAILED, progress, reason=reason)
            raise TrainingError(reason) from None
        except MemoryError:
            reason = f"{model.name} needs more memory than there is: take a smaller batch (--batch) or fewer tokens."
            end_as(model, State.FAILED, progress, reason=reason)
            raise TrainingError(reason) from None
        except Exception as error:
            end_as(model, State.FAILED, progress, reason=repr(error))
            raise
        return report | (label_own(model, report["warnings"], before) if model.study else {})


def label_own(model: TrainedModel, warnings: list[str], before: Before) -> Row:
    """Label the study that the model learned from; a failure is only one more warning, since the model is kept."""
    model.refresh_from_db()
    try:
        return {"labelled": label_study(model, model.study, before=before)}
    except (TrainingError, EmbeddingError, OSError, MemoryError, KeyboardInterrupt) as error:
        again = f"manage.py predict {model.name} --study {model.study.slug}"
        warnings = [*warnings, f"It has not labelled the study’s items ({str(error) or repr(error)}): {again}."]
        TrainedModel.objects.filter(pk=model.pk).update(metrics=model.metrics | {"warnings": warnings})
        return {"labelled": 0, "warnings": warnings}
