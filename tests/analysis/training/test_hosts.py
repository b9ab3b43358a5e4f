"""Hosts that share a store but no disk: one uses what another trained, whole or not at all."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.core.management import CommandError

from analysis.models import ExampleSet, TrainedModel
from analysis.people.corpora import kept
from analysis.people.corpora.kept import list_kept
from analysis.training.folders import folder_of, hash_folder, work_folder
from analysis.training.using import open_model
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, support_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words")]


class Elsewhere(Storage):
    """A store that, like a bucket, has no local path."""

    def __init__(self, location: Path) -> None:
        self.files = FileSystemStorage(location)
        for name in ("_open", "_save", "delete", "exists", "listdir"):
            setattr(self, name, getattr(self.files, name))


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = settings.STORAGES | {
        "kept": {"BACKEND": f"{__name__}.Elsewhere", "OPTIONS": {"location": tmp_path / "store"}}
    }
    settings.VAR_FOLDER = tmp_path / "one host"


def trained(tmp_path: Path, name: str = "model") -> TrainedModel:
    if not ExampleSet.objects.exists():
        import_rows(tmp_path, support_rows(120))
    command("train", "--examples", "set", "--task", "verifier", "--name", name)
    return TrainedModel.objects.get(name=name)


def test_a_model_is_used_where_it_was_not_trained(tmp_path: Path, settings: Any) -> None:
    model = trained(tmp_path)
    assert hash_folder(folder_of("model")) == model.sha256
    settings.VAR_FOLDER = tmp_path / "another host"
    assert not folder_of("model").exists()
    assert command("evaluate", "model", "--examples", "set")["auroc"] == model.metrics["auroc"]
    assert hash_folder(folder_of("model")) == model.sha256
    assert [path.name for path in folder_of("model").parent.iterdir()] == ["model"]


def test_a_copy_that_is_not_what_was_trained_is_fetched_again(tmp_path: Path) -> None:
    model = trained(tmp_path)
    (folder_of("model") / "model.json").write_text("{}")
    (folder_of("model") / "more").write_text("")
    open_model(model)
    assert hash_folder(folder_of("model")) == model.sha256


def test_what_the_store_has_is_checked(tmp_path: Path) -> None:
    model = trained(tmp_path)
    shutil.rmtree(folder_of("model"))
    storages["kept"].delete("models/model/model.json")
    storages["kept"].save("models/model/model.json", ContentFile(b"{}"))
    with pytest.raises(CommandError, match="The files of model are not those that were trained"):
        command("evaluate", "model", "--examples", "set")
    for name in list(list_kept("models/model")):
        storages["kept"].delete(name)
    shutil.rmtree(folder_of("model"))
    with pytest.raises(CommandError, match="are not in models/model of the store: bring them back"):
        command("evaluate", "model", "--examples", "set")
    assert model.state == "done"


def test_a_store_that_fails_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(kept, "File", lambda file: 1 / 0)
        with pytest.raises(CommandError, match="model could not be kept: division by zero. Train again when"):
            trained(tmp_path)
    assert TrainedModel.objects.get().state == "failed"
    assert trained(tmp_path).state == "done"
    assert {name.partition("/model/")[2] for name in list_kept("models/model")} == {
        "README.md",
        "frozen.npz",
        "model.json",
    }


def test_what_is_deleted_goes_from_the_store_and_in_time_from_every_host(tmp_path: Path, settings: Any) -> None:
    model = trained(tmp_path)
    work_folder("model").mkdir(parents=True)  # left by a training that another host resumed
    settings.VAR_FOLDER = tmp_path / "another host"
    open_model(model)
    model.delete()
    assert not list(list_kept("models")) and not folder_of("model").exists()
    settings.VAR_FOLDER = tmp_path / "one host"
    assert folder_of("model").exists() and work_folder("model").exists()
    trained(tmp_path, "next")
    assert [path.name for path in folder_of("model").parent.iterdir()] == ["next"]
    assert not work_folder("model").exists()
