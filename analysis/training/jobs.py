"""Training as a job: planned, one at a time on a machine, stopped and resumed, saved whole or not at all."""

import platform
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from analysis.corpora.embeddings import EmbeddingError
from analysis.models import ExampleSet, TrainedModel
from analysis.training import fitting
from analysis.training.evaluation import Shape
from analysis.training.examples import TrainingError, count_parts, hash_labels, hash_split
from analysis.training.features import find_embedder
from analysis.training.fitting import TrainingSettings
from analysis.training.folders import remove_left_over, remove_work
from analysis.training.making import (
    Progress,
    Show,
    State,
    TrainingStopped,
    end_as,
    examples_for,
    train_model,
)
from analysis.training.tiers.encoders import find_base
from analysis.training.tiers.programs import check_installed
from analysis.training.tiers.reasoning import check_reasoning
from analysis.training.using import label_study
from surveys.models import Study, locks

ACTOR = "command line"
OPEN = (State.WAITING, State.RUNNING)
BOOTED = Path("/proc/sys/kernel/random/boot_id")
BUSY = "Another model is being trained on this machine. {name} waits, and begins when a worker is free."


# --- what there is to train on ----------------------------------------------


def plan(
    name: str, task: str, tier: str, source: ExampleSet | Study, settings: TrainingSettings, actor: str = ACTOR
) -> TrainedModel:
    """A model to train, or the one of this name that did not come to its end. Raises TrainingError."""
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
    # What was begun by an earlier version has fewer settings; the others are as they were.
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
    """Raises TrainingError where packages or weights that it takes are not on this machine."""
    find_embedder(settings.embedder)
    if tier == TrainedModel.Tier.ENCODER:
        check_installed()
        find_base(settings.base)
    elif tier == TrainedModel.Tier.GRPO:
        check_reasoning(settings)


def look(source: ExampleSet | Study, task: str, settings: TrainingSettings) -> Shape:
    """What would be trained on, without training. Raises TrainingError where it can't be."""
    where = {"study": source} if isinstance(source, Study) else {"examples": source}
    examples = examples_for(TrainedModel(task=task, settings=asdict(settings), **where))
    parts = fitting.divide(task, examples)
    return {
        "task": task,
        **count_parts(parts.all),
        "labels_sha256": hash_labels(parts.all),
        "split_sha256": hash_split(parts.all),
    }


# --- one at a time ----------------------------------------------------------


def alone() -> AbstractContextManager[bool]:
    """Whether nothing else is trained on this machine; while this is held nothing else is begun."""
    return locks.alone_in_process(f"training on {machine()}")


def machine() -> str:
    """One name for all containers of a computer, which share its processors."""
    try:
        return BOOTED.read_text().strip()
    except OSError:
        return platform.node()


def is_worked_on(model: TrainedModel) -> bool:
    """Whether somebody trains it now: what says `running` otherwise was ended in the middle."""
    return locks.is_held("training", model.pk)


def stop(model: TrainedModel) -> bool:
    """Ask whoever trains it to stop; returns whether there was anything to stop."""
    return bool(TrainedModel.objects.filter(pk=model.pk, state__in=OPEN).update(state=State.STOPPED))


def resume(model: TrainedModel) -> bool:
    """Let it wait for a worker again; returns whether it was stopped, had failed or was ended in the middle."""
    over = [State.STOPPED, State.FAILED, *([] if is_worked_on(model) else [State.RUNNING])]
    return bool(TrainedModel.objects.filter(pk=model.pk, state__in=over).update(state=State.WAITING, reason=""))


def next_waiting() -> TrainedModel | None:
    """What was ended in the middle comes first, then what waits longest; of it what this machine can train."""
    rows = TrainedModel.objects.filter(state__in=OPEN).order_by("began_at")
    ended = [row for row in rows if row.state == State.RUNNING and not is_worked_on(row)]
    return next(filter(can_train, [*ended, *(row for row in rows if row.state == State.WAITING)]), None)


def can_train(model: TrainedModel) -> bool:
    """Whether this machine can; where not, the model says what it waits for, until one begins with it."""
    try:
        check_machine(model.tier, TrainingSettings(**model.settings))
    except TrainingError as error:
        reason = f"It waits for a machine that can train it. {platform.node()}: {error}"
        TrainedModel.objects.filter(pk=model.pk, state=State.WAITING).update(reason=reason)
        return False
    return True


# --- doing it ---------------------------------------------------------------


def train(model: TrainedModel, show: Show = lambda share, number: None) -> Shape:
    """Train it and keep it with its figures, or say why that failed. Raises TrainingError, TrainingStopped."""
    with alone() as free, locks.alone("training", model.pk) as mine:
        if not (free and mine):
            raise TrainingError(BUSY.format(name=model.name))
        remove_left_over()
        TrainedModel.objects.filter(pk=model.pk).update(state=State.RUNNING, reason="")
        model.refresh_from_db()
        progress = Progress(model, show)
        try:
            report, before = train_model(model, progress)
            if model.study:
                model.refresh_from_db()
                report["labelled"] = label_study(model, model.study, before=before)
            return report
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
