"""Where trained models lie: a folder each, written whole or not at all and known by the hash of its files.

It lies among the kept files. Where those are no folder of this host, it is copied to this host when it is used.
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
    """On this host: where it is kept, or where a copy of what is kept elsewhere lies."""
    return folder_in_store(f"{MODELS}/{name}") or copies_folder() / name


def copies_folder() -> Path:
    return Path(settings.VAR_FOLDER) / MODELS


def work_folder(name: str) -> Path:
    """Checkpoints and whatever else a training needs while it runs; nobody but its owner may read it.

    They lie on the host that trains: another one that goes on with it begins anew.
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
    """A folder to fill, which stands in its place and is kept when all is written. Raises TrainingError."""
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
    """Copy its files here from the store, beside those of other models that still are."""
    copies_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(dir=copies_folder(), prefix=f"{model.name}.", suffix=UNFINISHED))
    try:
        bring_folder(f"{MODELS}/{model.name}", unfinished)
        if hash_folder(folder_of(model.name)) != model.sha256:  # nobody was quicker
            shutil.rmtree(folder_of(model.name), ignore_errors=True)
            unfinished.replace(folder_of(model.name))
    except Exception as error:  # of whatever kind the store's client has
        raise TrainingError(f"The files of {model.name} could not be fetched: {error}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    remove_left_over()


def remove_left_over() -> None:
    """What other hosts have made superfluous here: copies of models that are gone, work on some that are finished."""
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
    """Of all files with their names."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            whole.update(f"{path.relative_to(folder)} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def read_kept(model: TrainedModel) -> dict[str, Any]:
    """What a finished model knows of itself. Raises TrainingError when its files are gone or are not what they were."""
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
