"""Files that every host must find: in a folder that all hosts share, or in a store that speaks S3's protocol."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import Storage, storages


def kept_files() -> Storage:
    return storages["kept"]


def folder_in_store(name: str) -> Path | None:
    """The path of this folder of the store, or None if the store is no folder of this host."""
    try:
        return Path(kept_files().path(name))
    except NotImplementedError:
        return None


def send_folder(folder: Path, name: str) -> None:
    """Copy all files below `folder` to the store, replacing what it has under this name."""
    remove_kept(name)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            kept_files().save(f"{name}/{path.relative_to(folder)}", File(file))


def bring_folder(name: str, folder: Path) -> None:
    """Copy all files of this name in the store to `folder`."""
    for path in list_kept(name):
        place = folder / Path(path).relative_to(name)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with kept_files().open(path) as kept, place.open("wb") as file:
            shutil.copyfileobj(kept, file)


def remove_kept(name: str) -> None:
    if folder := folder_in_store(name):
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in list(list_kept(name)):
        kept_files().delete(path)


def list_kept(name: str) -> Iterator[str]:
    """Yield the files below a folder of the store."""
    folders, files = listed(name)
    yield from (f"{name}/{file}" for file in files if file)
    for folder in folders:
        yield from list_kept(f"{name}/{folder}")


def listed(name: str) -> tuple[list[str], list[str]]:
    """The folders and files in a folder of the store; none if it does not exist."""
    try:
        return kept_files().listdir(name)
    except FileNotFoundError:
        return [], []
