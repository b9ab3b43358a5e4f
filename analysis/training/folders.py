"""Folders of trained models: each is put in its place once complete, and known by the hash of its files.

They are in the store of kept files; if that is not a folder of this host, models are copied to this host for use.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from django.conf import settings
from django.db.models.signals import post_delete
from django.dispatch import receiver

from analysis.models import TrainedModel
from analysis.people.corpora.kept import bring_folder, folder_in_store, remove_kept, send_folder
from analysis.training.examples import TrainingError

MODELS = "models"
KEPT = "model.json"
FROZEN = "frozen.npz"
ENCODER = "encoder"
REASONER = "reasoner"
CARD = "README.md"
UNFINISHED = ".part"
DONE = TrainedModel.State.DONE


def folder_of(name: str) -> Path:
    """Return the model's folder on this host: in the store, or that of its copy."""
    return folder_in_store(f"{MODELS}/{name}") or copies_folder() / name


def copies_folder() -> Path:
    return Path(settings.VAR_FOLDER) / MODELS


def work_folder(name: str) -> Path:
    """Return the folder for checkpoints and other files of a running training, which only its owner may read.

    It is on the host that trains, so another host that resumes the training starts anew.
    """
    return works_folder() / name


def works_folder() -> Path:
    return Path(settings.VAR_FOLDER) / "training"


def make_work_folder(name: str) -> Path:
    path = work_folder(name)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def remove_work(name: str) -> None:
    shutil.rmtree(work_folder(name), ignore_errors=True)


@contextmanager
def writing_folder(name: str) -> Iterator[Path]:
    """Yield a folder to fill, then put it in its place and send it to the store. Raises TrainingError."""
    place = folder_of(name)
    unfinished = place.with_name(f"{name}{UNFINISHED}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(mode=0o700, parents=True)
        yield unfinished
        shutil.rmtree(place, ignore_errors=True)
        unfinished.replace(place)
        _send(name)
    except OSError as error:
        raise TrainingError(
            f"{name} could not be saved: {error.strerror or error}. Nothing of it was kept; make room and train again."
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _send(name: str) -> None:
    if folder_in_store(MODELS):
        return
    try:
        send_folder(folder_of(name), f"{MODELS}/{name}")
    except Exception as error:  # of whatever kind the store's client has
        raise TrainingError(f"{name} could not be kept: {error}. Train again when the store answers.") from error


def bring_copy(model: TrainedModel) -> None:
    """Copy a model's files here from the store, then remove what is left over. Raises TrainingError."""
    copies_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(dir=copies_folder(), prefix=f"{model.name}.", suffix=UNFINISHED))
    try:
        bring_folder(f"{MODELS}/{model.name}", unfinished)
        if hash_folder(folder_of(model.name)) != model.sha256:  # unless another process was quicker
            shutil.rmtree(folder_of(model.name), ignore_errors=True)
            unfinished.replace(folder_of(model.name))
    except Exception as error:  # of whatever kind the store's client has
        raise TrainingError(f"The files of {model.name} could not be fetched: {error}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    remove_left_over()


def remove_left_over() -> None:
    """Remove copies of models that other hosts deleted, and work on models that they finished or deleted."""
    models = dict(TrainedModel.objects.values_list("name", "state"))
    if not folder_in_store(MODELS) and copies_folder().is_dir():
        for path in copies_folder().iterdir():
            if path.suffix != UNFINISHED and path.name not in models:
                shutil.rmtree(path, ignore_errors=True)
    if works_folder().is_dir():
        for path in works_folder().iterdir():
            if models.get(path.name, DONE) == DONE:
                shutil.rmtree(path, ignore_errors=True)


def hash_folder(folder: Path) -> str:
    """Hash all files with their names."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            whole.update(f"{path.relative_to(folder)} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def read_kept(model: TrainedModel) -> dict[str, Any]:
    """Read a finished model's `model.json`. Raises TrainingError if its files are gone or have changed."""
    folder = folder_of(model.name)
    if model.state != DONE:
        raise TrainingError(f"{model.name} is {model.get_state_display().lower()}, not done.")
    found = hash_folder(folder)
    if found != model.sha256 and not folder_in_store(MODELS):
        bring_copy(model)
        found = hash_folder(folder)
    if not (folder / KEPT).is_file():
        where = folder if folder_in_store(MODELS) else f"{MODELS}/{model.name} of the store"
        raise TrainingError(f"The files of {model.name} are not in {where}: bring them back, or train it again.")
    if found != model.sha256:
        raise TrainingError(f"The files of {model.name} are not those that were trained: train it again.")
    return json.loads((folder / KEPT).read_text())


@receiver(post_delete, sender=TrainedModel)
def remove_files(instance: TrainedModel, **facts: Any) -> None:
    remove_work(instance.name)
    shutil.rmtree(folder_of(instance.name), ignore_errors=True)
    remove_kept(f"{MODELS}/{instance.name}")
