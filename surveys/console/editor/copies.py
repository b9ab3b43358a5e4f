"""Working copies: begun from a file or study, saved without overwriting another window, made a study or version.

An existing study is written as a study file, the inverse of reading one.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from surveys.console.editor.sections import keys_of_entry
from surveys.console.editor.writing import CannotWriteError, Literal, as_toml, literal
from surveys.models import Study, WorkingCopy
from surveys.studies.files.definitions import (
    LARGEST_FILE,
    Definition,
    StudyFault,
    StudyFileError,
    decoded,
    file_error,
    parse_study,
    refuse_blank,
)
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import LISTS, MAY_BE_ABSENT, TABLES, Key, StudyHead, keys_of
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
    """The file of a study: the shipped one with its comments if it says the same, else one written anew."""
    shipped = shipped_studies().get(definition.slug)
    same = shipped and with_benchmark_items(shipped) == definition
    return text_of(definition.slug).decode() if same else to_file(definition)


def text_of(name: str) -> bytes:
    """The file of a study that comes with the platform."""
    return (SHIPPED / f"{name}.toml").read_bytes()


def begin(owner: AbstractBaseUser, content: bytes, origin: str, study: Study | None = None) -> WorkingCopy:
    """Make a working copy of this file, unchanged. Raises StudyFileError if it is no text that can be edited."""
    refuse_blank(content)
    if len(content) > LARGEST_FILE:
        raise file_error(f"is larger than {LARGEST_FILE:,} bytes, the limit for a study")
    decoded(content)
    if b"\0" in content:
        raise file_error("is not a text; choose a study file (TOML)")
    return WorkingCopy.objects.create(owner=owner, study=study, origin=origin, text=content.decode())


def copy_of(study: Study, account: AbstractBaseUser) -> WorkingCopy:
    """The account's own working copy of a study; renewed from the current version if it has no changes of its own."""
    found = WorkingCopy.objects.filter(owner=account, study=study).first()
    current = definition_of(study.current_id)
    if found is None:
        begun = {"origin": origin_of(study), "text": file_of(current)}
        found, _ = WorkingCopy.objects.get_or_create(owner=account, study=study, defaults=begun)
    elif (mine := check(found).definition) and is_untouched(found, mine) and is_behind(found):
        save(found, found.revision, file_of(current))
        begin_anew(found, study)
    return found


def is_untouched(copy: WorkingCopy, definition: Definition) -> bool:
    """Whether the copy, which holds this definition, still says what it was begun from."""
    with suppress(StudyError):  # it names a set of questions that is not here
        return with_benchmark_items(definition).to_document() == begun_from(copy)
    return False


def save(copy: WorkingCopy, revision: int, text: str) -> bool:
    """Save the text; False if another window has saved another one. Raises StudyError if no file can hold it."""
    if len(text.encode()) > LARGEST_FILE or "\0" in text:
        raise StudyError(f"The file would have more than {LARGEST_FILE:,} bytes, or characters that no file can hold.")
    if text == copy.text:
        return revision == copy.revision
    mine = WorkingCopy.objects.filter(pk=copy.pk, revision=revision)
    changed = mine.update(text=text, revision=F("revision") + 1, saved_at=timezone.now())
    copy.refresh_from_db()
    return bool(changed) or copy.text == text


@dataclass(frozen=True)
class Checked:
    definition: Definition | None  # None if the file breaks rules of its own
    faults: list[StudyFault]

    @property
    def is_readable(self) -> bool:
        """Whether it is TOML at all, so that forms can show it."""
        return not any(fault.place == "file" for fault in self.faults)


def check(copy: WorkingCopy, text: str | None = None) -> Checked:
    """Find all faults of the copy, as an upload by its owner would."""
    if copy.study:
        also = partial(misfits_of_version, copy.study, account=copy.owner)
    else:
        also = partial(misfits_of_new, account=copy.owner)
    content = (copy.text if text is None else text).encode()
    definition, faults = None, list[StudyFault]()
    try:
        definition = parse_study(content, also=also)
    except StudyFileError as error:
        faults = error.faults
        with suppress(StudyFileError):  # without faults if, say, only its name is taken: its pages can be shown
            definition = parse_study(content)
    return Checked(definition, faults)


def make(
    copy: WorkingCopy, account: AbstractBaseUser, amendment: str, revision: int, against: str
) -> tuple[Study, str]:
    """Make the copy a study or a new version; return the study and which of the two. Raises StudyError if it cannot.

    `revision` of the copy and hash of the version `against` which its changes were listed: nothing else is made.
    Without `against` it is a new study, `present` if it has come meanwhile (a double click).
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
    """Make the copy one of the study's current version from here on."""
    WorkingCopy.objects.filter(pk=copy.pk).update(study=study, origin=origin_of(study), made_at=timezone.now())


def origin_of(study: Study) -> str:
    return f"{study.slug}, version {study.current.number}"


def begun_from(copy: WorkingCopy) -> dict[str, Any] | None:
    """The document of the study's version from which the copy was begun."""
    return copy.study.versions.filter(created_at__lte=copy.made_at).values_list("document", flat=True).last()


def is_behind(copy: WorkingCopy) -> bool:
    """Whether the study's current version has changed since the copy was begun."""
    if not copy.study or not copy.study.current:
        return False
    return begun_from(copy) not in (None, copy.study.current.document)


# --- a study written as a file

EVERYBODY = {"slug": "annotators", "name": "Annotators", "where": {}}


def to_file(definition: Definition) -> str:
    """A file that says exactly what the definition says. Raises CannotWriteError if there is none."""
    text = "\n".join(_lines(_raw(definition)))
    try:
        if parse_study(text.encode()) == as_in_file(definition):
            return text
    except StudyFileError as fault:
        raise CannotWriteError(f"{definition.slug} cannot be written as a study file: {fault}") from fault
    raise CannotWriteError(f"{definition.slug} holds more than a study file can say.")


def as_in_file(definition: Definition) -> Definition:
    """The definition without the server's benchmark items, added when it was loaded."""
    prompts = tuple(replace(prompt, imported=False) for prompt in definition.prompts)
    matrix = definition.matrix and replace(definition.matrix, questions=())
    return replace(definition, prompts=prompts, matrix=matrix)


def _raw(definition: Definition) -> dict[str, Any]:
    """The file's tables and lists; in a definition, tables of one key are plain fields."""
    raw: dict[str, Any] = asdict(definition)
    raw["places"] = {"lease_minutes": definition.lease_minutes}
    later = {"settings": "after-first-prompt"} if definition.settings_later else {}
    raw["order"] = {"scheme": definition.order_scheme} | later
    raw["checks"] = {"paste": definition.paste_checks}
    raw["debrief"] = {"text": definition.debrief}
    raw["team"] = {"second_person": definition.second_person}
    raw["recruiting"] = {"description": definition.description, "blocked_from": definition.blocked_from}
    if work := raw["annotation"]:
        raw |= dict.fromkeys(("order", "checks", "chatbot_question"))
        raw["wordings"] = work["wordings"]
        first, *more = raw["cells"]
        if not more and first.items() >= EVERYBODY.items():
            work["annotators"], raw["cells"] = first["places"], ()
    return raw


def _lines(raw: Mapping[str, Any]) -> Iterator[str]:
    yield from _assignments(keys_of(StudyHead), raw)
    for name, table in TABLES.items():
        said = list(_assignments(keys_of(table), raw[name])) if raw.get(name) else []
        if said or (raw.get(name) and name in MAY_BE_ABSENT):
            yield from ("", f"[{name}]", *said)
    for name in LISTS:
        for entry in raw.get(name) or ():
            yield from ("", f"[[{name}]]", *_assignments(keys_of_entry(name, entry), entry))
    for code, texts in raw["languages"].items():
        yield from _level(f"languages.{code}", texts)
    yield ""


def _level(place: str, texts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"[{place}]")
    yield from (
        f"{join_place('', key)} = {_written(said)}" for key, said in texts.items() if not isinstance(said, dict)
    )
    for key, inner in texts.items():
        if isinstance(inner, dict):
            yield from _level(join_place(place, key), inner)


def _assignments(keys: Mapping[str, Key], table: Mapping[str, Any]) -> Iterator[str]:
    for name, key in keys.items():
        if key.required or table.get(name) not in (key.default, "", (), {}, None):
            yield f"{name} = {_written(table[name])}"


def _written(value: Any) -> str:
    if isinstance(value, tuple | list):
        return literal([_entry(entry) for entry in value])
    return literal(_entry(value))


def _entry(value: Any) -> str:
    if isinstance(value, str):
        return value
    return Literal(as_toml(_thawed(value)))


def _thawed(value: Any) -> Any:
    """A table of options as files write it: a single option without brackets."""
    if isinstance(value, dict):
        return {key: _thawed(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value
