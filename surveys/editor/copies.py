"""Working copies: begun from a file or a study, saved without overwriting another window, made a study or version."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from surveys.editor.documents import to_file
from surveys.models import Study, WorkingCopy
from surveys.studies.files.definitions import LARGEST_FILE, Definition, StudyFault, StudyFileError, decoded, parse_study
from surveys.studies.lifecycle import (
    SHIPPED,
    StudyError,
    definition_of,
    lock_study,
    shipped_studies,
    with_benchmark_items,
)
from surveys.studies.members import change_study, create_study, misfits_of_new, misfits_of_version


def file_of(definition: Definition) -> str:
    """The file of a study: the shipped one with its comments where it says the same, else one written anew."""
    shipped = shipped_studies().get(definition.slug)
    same = shipped and with_benchmark_items(shipped) == definition
    return text_of(definition.slug).decode() if same else to_file(definition)


def text_of(name: str) -> bytes:
    """The file of a study that comes with the platform."""
    return (SHIPPED / f"{name}.toml").read_bytes()


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
        begun = {"origin": origin_of(study), "text": file_of(current)}
        found, _ = WorkingCopy.objects.get_or_create(owner=account, study=study, defaults=begun)
    elif (mine := check(found).definition) and is_older(study, mine):
        save(found, found.revision, file_of(current))
        begin_anew(found, study)
    return found


def is_older(study: Study, definition: Definition) -> bool:
    with suppress(StudyError):  # it names a set of questions that is not here
        document = with_benchmark_items(definition).to_document()
        return document != study.current.document and study.versions.filter(document=document).exists()
    return False


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


def make(
    copy: WorkingCopy, account: AbstractBaseUser, amendment: str, revision: int, against: str
) -> tuple[Study, str]:
    """The study of a working copy, new or with a new version, and which of the two; StudyError where it cannot be.

    `revision` of the copy and hash of the version `against` which its changes were listed: nothing else is made.
    Without `against` a new study is wanted; where it has come meanwhile (a double click) it is `present`.
    """
    with transaction.atomic():
        study = lock_study(copy.study) if copy.study else None
        copy = WorkingCopy.objects.select_for_update(of=("self",)).get(pk=copy.pk)
        if copy.study and not against:
            return copy.study, "present"
        if copy.revision != revision:
            raise StudyError("The working copy was saved again since you looked. Look at it as it is now.")
        if study and study.current and study.current.sha256 != against:
            raise StudyError(f"Version {study.current.number} has come since you looked. Look at the changes to it.")
        checked = check(copy)
        definition = checked.definition
        if definition is None or checked.faults:
            raise StudyError("There is something left to fix.")
        if study:
            outcome = change_study(study, definition, account, amendment)
            study.refresh_from_db()
        else:
            study, outcome = create_study(definition, account), "created"
        begin_anew(copy, study)
        return study, outcome


def begin_anew(copy: WorkingCopy, study: Study) -> None:
    """From here on it is one of the study's current version."""
    WorkingCopy.objects.filter(pk=copy.pk).update(study=study, origin=origin_of(study), made_at=timezone.now())


def origin_of(study: Study) -> str:
    return f"{study.slug}, version {study.current.number}"


def is_behind(copy: WorkingCopy) -> bool:
    """Whether its study has another current version than when it was begun."""
    if not copy.study or not copy.study.current:
        return False
    before = copy.study.versions.filter(created_at__lte=copy.made_at).values_list("document", flat=True).last()
    return before not in (None, copy.study.current.document)
