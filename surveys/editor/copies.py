"""Working copies: begun from a file or a study, saved without overwriting another window, made a study or version."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os.path import commonprefix
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F
from django.utils import timezone

import surveys.studies
from surveys.editor.documents import to_file
from surveys.models import Study, WorkingCopy
from surveys.studies.differences import VersionDifference, differences
from surveys.studies.files.definitions import (
    LARGEST_FILE,
    Definition,
    StudyFault,
    StudyFileError,
    decoded,
    parse_study,
    read_study,
)
from surveys.studies.lifecycle import StudyError, definition_of, with_benchmark_items
from surveys.studies.members import change_study, create_study, misfits_of_new, misfits_of_version

SHIPPED = Path(surveys.studies.__path__[0])
NEAR = 30  # characters that stand around what changed of a long text


def templates() -> dict[str, Definition]:
    """The studies that come with the platform, by name."""
    return {path.stem: read_study(path) for path in sorted(SHIPPED.glob("*.toml"))}


def file_of(definition: Definition) -> str:
    """The file of a study: the shipped one with its comments where it says the same, else one written anew."""
    shipped = SHIPPED / f"{definition.slug}.toml"
    same = shipped.is_file() and with_benchmark_items(read_study(shipped)) == definition
    return shipped.read_text(encoding="utf-8") if same else to_file(definition)


def begin(owner: AbstractBaseUser, content: bytes, origin: str, study: Study | None = None) -> WorkingCopy:
    """A working copy of this file, as it is; StudyFileError where it is no text that could be edited."""
    decoded(content[: LARGEST_FILE + 1])
    if len(content) > LARGEST_FILE or b"\0" in content:
        raise StudyFileError([StudyFault("file", None, f"is no text of at most {LARGEST_FILE:,} bytes")])
    return WorkingCopy.objects.create(owner=owner, study=study, origin=origin, text=content.decode())


def copy_of(study: Study, account: AbstractBaseUser) -> WorkingCopy:
    """The account's own working copy of a study; with no changes of its own it is that of the current version."""
    found = WorkingCopy.objects.filter(owner=account, study=study).first()
    current = definition_of(study.current_id)
    if found is None:
        origin = f"{study.slug}, version {study.current.number}"
        text = file_of(current)
        found, _ = WorkingCopy.objects.get_or_create(
            owner=account, study=study, defaults={"origin": origin, "text": text}
        )
    elif (mine := check(found).definition) and is_older(study, mine):
        save(found, found.revision, file_of(current))
    return found


def is_older(study: Study, definition: Definition) -> bool:
    document = with_benchmark_items(definition).to_document()
    return document != study.current.document and study.versions.filter(document=document).exists()


def save(copy: WorkingCopy, revision: int, text: str) -> bool:
    """Whether it was saved: not when another window saved after this one had read."""
    if len(text.encode()) > LARGEST_FILE or "\0" in text:
        raise StudyError(f"The file would have more than {LARGEST_FILE:,} bytes, or characters that no file can hold.")
    if text == copy.text:
        return revision == copy.revision
    mine = WorkingCopy.objects.filter(pk=copy.pk, revision=revision)
    changed = mine.update(text=text, revision=F("revision") + 1, saved_at=timezone.now())
    copy.refresh_from_db()
    return bool(changed)


@dataclass(frozen=True)
class Checked:
    definition: Definition | None  # where the file's own rules are kept
    faults: list[StudyFault]

    @property
    def is_readable(self) -> bool:
        """Whether it is TOML at all, so that forms can show it."""
        return not any(fault.place == "file" for fault in self.faults)


def check(copy: WorkingCopy, text: str | None = None) -> Checked:
    """All that is wrong with it: what an upload by its owner would be told."""
    if copy.study:
        also = partial(misfits_of_version, copy.study, account=copy.owner)
    else:
        also = partial(misfits_of_new, account=copy.owner)
    content = (copy.text if text is None else text).encode()
    try:
        return Checked(parse_study(content, also=also), [])
    except StudyFileError as error:
        # What it says may be whole where only its name is taken: then its pages can be shown.
        return Checked(parsed(content), error.faults)


def parsed(content: bytes) -> Definition | None:
    with suppress(StudyFileError):
        return parse_study(content)
    return None


def make(copy: WorkingCopy, account: AbstractBaseUser, amendment: str) -> tuple[Study, str]:
    """The study of a working copy, new or with a new version, and which of the two; StudyError where it cannot be."""
    checked = check(copy)
    definition = checked.definition
    if definition is None or checked.faults:
        raise StudyError("There is something left to fix.")
    if copy.study:
        return copy.study, change_study(copy.study, definition, account, amendment)
    study = create_study(definition, account)
    WorkingCopy.objects.filter(pk=copy.pk).update(study=study)
    return study, "created"


# What a new version changes --------------------------------------------------------------------------------------


def changes_of(copy: WorkingCopy, definition: Definition) -> list[VersionDifference]:
    """Against the current version of its study."""
    if not copy.study or not copy.study.current:
        return []
    found = differences(copy.study.current.document, with_benchmark_items(definition).to_document())
    return [VersionDifference(place, *_around(before, after)) for place, before, after in found]


def _around(old: str, new: str) -> tuple[str, str]:
    """Of long texts the part that differs, with a little before and after it."""
    if max(len(old), len(new)) <= 4 * NEAR:
        return old, new
    start = max(0, len(commonprefix([old, new])) - NEAR)
    behind = len(commonprefix([old[start:][::-1], new[start:][::-1]]))
    end = max(0, behind - NEAR)
    shown = [text[start : len(text) - end] for text in (old, new)]
    first, second = (f"{'…' if start else ''}{text}{'…' if end else ''}" if text else "" for text in shown)
    return first, second
