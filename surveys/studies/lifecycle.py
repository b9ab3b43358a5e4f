"""Load, launch, amend, pause and close studies, whose versions never change once written; erase ids at last."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import CharField, Count, F, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from surveys.models import (
    AnonymousExit,
    BenchmarkItem,
    Participant,
    Payment,
    Place,
    ProlificGroup,
    ProlificMessage,
    ProlificStudy,
    Prompt,
    QuotaCell,
    Session,
    Slot,
    Study,
    StudyVersion,
    Submission,
    TeamRequest,
    locks,
)
from surveys.models.hashes import fingerprint
from surveys.reading.answers import RULES_VERSION
from surveys.studies import audit, second_person
from surveys.studies.files.definitions import Definition, choice_text, in_language, letters, prompt_text, read_study
from surveys.studies.files.hypotheses import TESTS_VERSION
from surveys.studies.files.languages import PAGE_LANGUAGES
from surveys.studies.files.matrix import Matrix, SetQuestion, set_misfits
from surveys.studies.files.schema import AnnotationWork, PromptDefinition

State = Study.State
SHIPPED = Path(__file__).parent
# Follow "The study is".
STATE_WORDS = {"draft": "a draft", "pilot": "in its pilot", "live": "live", "paused": "paused", "closed": "closed"}


class StudyError(Exception):
    """A step that the study's state does not allow; the message says what to do."""


@lru_cache(maxsize=256)
def definition_of(version_id: int) -> Definition:
    """The definition of a version, kept in memory: versions never change."""
    return Definition.from_document(StudyVersion.objects.values_list("document", flat=True).get(pk=version_id))


def annotation_of(study: Study) -> AnnotationWork | None:
    """The annotators' work in a study; None if it has no version yet, or people paste answers."""
    return definition_of(study.current_id).annotation if study.current_id else None


@lru_cache(maxsize=256)
def prompts_of(version_id: int) -> dict[str, Prompt]:
    """The prompts of a version by slug, in the file's order, kept in memory."""
    return {prompt.slug: prompt for prompt in Prompt.objects.filter(version_id=version_id)}


@lru_cache(maxsize=256)
def definition_in(version_id: int, language: str) -> Definition:
    """The definition of a version in this language, or in the file's own if the version does not have it."""
    return in_language(definition_of(version_id), language)


@lru_cache(maxsize=256)
def prompts_in(version_id: int, language: str) -> dict[str, Prompt]:
    """The prompts of a version in this language, by slug; to read, never to save."""
    return {slug: prompt.in_language(language) for slug, prompt in prompts_of(version_id).items()}


@lru_cache(maxsize=1)
def interface_hash() -> str:
    """SHA-256 over the files that make up the participant's pages: templates, styles, scripts, translations."""
    root = Path(settings.BASE_DIR)
    templates = tuple(f"templates/{room}" for room in ("annotation", "participation", "pasting"))
    folders = (*templates, "surveys/static/surveys", "surveys/locale")
    files = [path for folder in folders for path in sorted((root / folder).rglob("*")) if path.is_file()]
    digest = hashlib.sha256()
    for path in [root / "templates" / "base.html", *files]:
        # Researchers' own styles and scripts are in the same folder; participants never see them.
        if not path.name.startswith("console.") and path.suffix in (".html", ".css", ".js", ".json", ".po"):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def load_definition(definition: Definition, actor: str, amendment: str = "") -> tuple[Study, str]:
    """Make or update the study; return it with `created`, `unchanged`, `updated` or `amended`.

    Raises StudyError if the study is launched, the definition differs and no amendment says why.
    """
    definition = with_benchmark_items(definition)
    document = definition.to_document()
    with transaction.atomic():
        study, created = Study.objects.select_for_update().get_or_create(
            slug=definition.slug, defaults={"title": definition.title}
        )
        if study.current and study.current.document == document:
            return study, "unchanged"
        if study.is_launched and not amendment:
            raise StudyError(
                f"{study.slug} was launched on {study.launched_at:%d %B %Y} and can't be changed silently. "
                "Say why with an amendment; people who began keep the version they saw."
            )
        keep_second_person(study, definition)
        write_version(study, document, actor, amendment if study.is_launched else "")
        arrange_places(study, definition)
        outcome = "created" if created else "amended" if study.is_launched else "updated"
        audit.record(study, actor, outcome, f"version {study.current.number}", amendment=amendment)
        return study, outcome


def keep_second_person(study: Study, definition: Definition) -> None:
    """Raise StudyError if a frozen version wants a second person for something and the new one does not."""
    frozen = study.versions.filter(frozen_at__isnull=False).values_list("pk", flat=True)
    wanted = {what for version in frozen for what in definition_of(version).second_person}
    if gone := sorted(wanted - {*definition.second_person}):
        raise StudyError(f"`second_person` names {', '.join(gone)}; people have come under it, so it stays.")


def with_benchmark_items(definition: Definition) -> Definition:
    """Put imported benchmark items in place of the defaults, and the set's questions into the matrix."""
    if matrix := definition.matrix:
        definition = replace(definition, matrix=replace(matrix, questions=questions_of(matrix)))
    wanted = {(prompt.benchmark, prompt.item) for prompt in definition.prompts if prompt.item}
    rows = BenchmarkItem.objects.filter(item__in=[item for _, item in wanted])
    rows = rows.values("benchmark", "item", "question", "choices", "answer")
    items = {row["item"]: row for row in rows if (row["benchmark"], row["item"]) in wanted}
    return fill_benchmark_items(definition, items)


def fill_benchmark_items(definition: Definition, items: Mapping[str, Mapping[str, Any]]) -> Definition:
    """Replace default items with the benchmark's if `items` (by id) has them.

    A default stays if variants of it, or its words in another language, ask for another letter or have another number
    of choices than the item.
    """

    def fits(prompt: PromptDefinition) -> bool:
        item = items[prompt.item]
        wanted = (len(item["choices"]), item["answer"])
        variants = [variant for variant in definition.prompts if variant.variant_of == prompt.slug]
        variants += [prompt] if definition.languages else []
        return all((len(variant.choices), variant.answer) == wanted for variant in variants)

    prompts = [
        _filled(prompt, items[prompt.item]) if prompt.item in items and fits(prompt) else prompt
        for prompt in definition.prompts
    ]
    return replace(definition, prompts=tuple(prompts))


def _filled(prompt: PromptDefinition, item: Mapping[str, Any]) -> PromptDefinition:
    choices, answer = tuple(item["choices"]), item["answer"]
    filled = replace(prompt, question=item["question"], choices=choices, answer=answer, imported=True)
    if len(filled.answer) != 1 or filled.answer not in letters(filled):
        raise ValueError(f"The answer {filled.answer!r} of the item {prompt.item} is not the letter of any choice.")
    return filled


def labels_of(study: Study, definition: Definition) -> tuple[int, int]:
    """Count the labels given in the main study, and those wanted: before there are items, all that places can give."""
    assert definition.annotation is not None
    slots = Slot.objects.filter(item__study=study, item__pilot=False)
    wanted = slots.count() or definition.planned_people * definition.annotation.quota
    return slots.filter(done_at__isnull=False).count(), wanted


def questions_of(matrix: Matrix) -> tuple[SetQuestion, ...]:
    """The set's current questions; raises StudyError if there are none, too few or too many."""
    fields = ("item", "subject", "question", "choices", "answer")
    rows = BenchmarkItem.objects.filter(benchmark=matrix.set).order_by("id").values(*fields)
    found = tuple(SetQuestion(**row | {"choices": tuple(row["choices"])}) for row in rows)
    sizes = {matrix.set: len(found)} if found else {}
    for place, fault in set_misfits({"matrix": {"set": matrix.set, "each": matrix.each}}, sizes):
        raise StudyError(f"{place} {fault}")
    return found


def benchmark_sizes() -> dict[str, int]:
    """The number of questions of each imported benchmark."""
    return dict(BenchmarkItem.objects.order_by().values_list("benchmark").annotate(n=Count("id")))


def write_version(study: Study, document: dict, actor: str, amendment: str = "") -> StudyVersion:
    newest = study.versions.order_by("-number").first()
    interface = interface_hash()
    version = StudyVersion.objects.create(
        study=study,
        number=newest.number + 1 if newest else 1,
        document=document,
        interface_sha256=interface,
        sha256=version_hash(document, interface),
        amendment=amendment,
        created_by=actor,
        frozen_at=timezone.now() if study.is_launched else None,
    )
    definition = Definition.from_document(document)
    prompts = {prompt.slug: (place, prompt) for place, prompt in enumerate(definition.prompts)}
    Prompt.objects.bulk_create(
        Prompt(
            version=version,
            position=position,
            slug=asking.slug,
            asks="" if asking.is_first else asking.prompt,
            arm=asking.arm,
            occasion=asking.occasion,
            kind=prompt.kind,
            title=prompt.title,
            text=prompt_text(prompt),
            items=prompt.items,
            choices=list(prompt.choices),
            answer=prompt.answer or "",
            benchmark=prompt.benchmark or "",
            benchmark_item=prompt.item or "",
            languages=words_in_each(definition, place),
        )
        for position, asking in enumerate(definition.askings, 1)
        for place, prompt in [prompts[asking.prompt]]
    )
    Prompt.objects.bulk_create(drawn_prompts(version, definition))
    if study.current is None or study.title == study.current.document["title"]:  # else it was renamed in the console
        study.title = definition.title
    study.current = version
    study.save(update_fields=["title", "current"])
    return version


def version_hash(document: dict, interface: str) -> str:
    return fingerprint({"document": document, "interface": interface})


def drawn_prompts(version: StudyVersion, definition: Definition) -> Iterator[Prompt]:
    """Yield a prompt for each question of the study's set, positioned after all others."""
    matrix = definition.matrix
    if matrix is None:
        return
    worded = {code: in_language(definition, code).matrix for code in definition.languages}
    for position, (slug, asked) in enumerate(matrix.by_slug.items(), len(definition.askings) + 1):
        words = {
            code: {"title": said.title, "text": choice_text(asked.question, asked.choices, said.request)}
            for code, said in worded.items()
            if said
        }
        yield Prompt(
            version=version,
            position=position,
            slug=slug,
            kind=Prompt.Kind.CHOICE,
            title=matrix.title,
            text=choice_text(asked.question, asked.choices, matrix.request),
            choices=list(asked.choices),
            answer=asked.answer,
            benchmark=matrix.set,
            benchmark_item=asked.item,
            is_drawn=True,
            languages=words,
        )


def words_in_each(definition: Definition, place: int) -> dict[str, dict[str, object]]:
    """Title, text and choices of a prompt in each further language."""
    asked = {code: in_language(definition, code).prompts[place] for code in definition.languages}
    return {
        code: {"title": prompt.title, "text": prompt_text(prompt), "choices": list(prompt.choices)}
        for code, prompt in asked.items()
    }


def arrange_places(study: Study, definition: Definition) -> None:
    """Make cells and places match the definition; raises StudyError rather than take away a place that is held."""
    wanted = [(bot, cell) for bot in definition.branches for cell in definition.cells]
    there = {(row.chatbot, row.slug): row for row in QuotaCell.objects.filter(study=study)}
    new: list[tuple[QuotaCell, int]] = []
    for position, ((chatbot, name), cell) in enumerate(wanted):
        row = there.pop((chatbot, cell.slug), None)
        known = row or QuotaCell(study=study, chatbot=chatbot, slug=cell.slug)
        known.name, known.position = f"{name} · {cell.name}" if name else cell.name, position
        if row:
            row.save(update_fields=["name", "position"])
            set_capacity(row, cell.places)
        else:
            new.append((known, cell.places))
    # New cells, in which nobody can hold a place yet, with their places: two statements for all.
    QuotaCell.objects.bulk_create(cell for cell, _ in new)
    Place.objects.bulk_create(Place(cell=cell, number=number) for cell, places in new for number in range(places))
    for row in there.values():
        set_capacity(row, 0)
        if not row.participants.exists():
            row.delete()


def set_capacity(cell: QuotaCell, places: int) -> None:
    surplus = cell.places.filter(number__gte=places)
    if last := surplus.filter(participant__isnull=False).order_by("number").last():
        least = last.number + 1
        raise StudyError(
            f"{cell.name}: only the last places can be taken away. Place {least} is held, so it keeps at least {least}."
        )
    surplus.delete()
    there = set(cell.places.values_list("number", flat=True))
    Place.objects.bulk_create(Place(cell=cell, number=n) for n in range(places) if n not in there)


def start_pilot(study: Study, actor: str) -> None:
    change_state(study, actor, "pilot started", State.PILOT, {State.DRAFT})


def end_pilot(study: Study, actor: str) -> None:
    change_state(study, actor, "pilot ended", State.DRAFT, {State.PILOT})


LAUNCHED = "launched"


def launch(study: Study, actor: str, second: TeamRequest | None = None) -> None:
    """Launch, recording the analysis versions that the plan was made for; `second`: the confirmed request, if any."""
    versions = {"rules": RULES_VERSION, "tests": TESTS_VERSION}
    change_state(study, actor, LAUNCHED, State.LIVE, {State.DRAFT, State.PILOT}, second, **versions)


# Words that name an institution, in the languages of the pages.
INSTITUTION = re.compile(
    r"universit|instit|college|school|hochschule|hospital|akademie|academy|laborator|\bInc\b|GmbH", re.I
)


def launch_warnings(definition: Definition) -> list[str]:
    """Warn of leftovers from examples, and of omissions, in a study about to go live."""
    found = []
    known = {code for example in shipped_studies().values() for code in example.codes.values()}
    if copied := sorted({*definition.codes.values()} & known):
        found.append(f"These completion codes are those of an example: {', '.join(copied)}. Anybody can read them.")
    for language in definition.offered:
        if not INSTITUTION.search(in_language(definition, language).consent.text):
            which = f" in the language {language}" if definition.languages else ""
            found.append(f"The consent text{which} names no institution.")
    if definition.language not in PAGE_LANGUAGES:
        found.append(f"The pages do not speak {definition.language}: around the study's texts they are in English.")
    wanted = {prompt.item: prompt.slug for prompt in definition.prompts if prompt.item}
    imported = set(BenchmarkItem.objects.filter(item__in=wanted).values_list("item", flat=True))
    if missing := ", ".join(slug for item, slug in wanted.items() if item not in imported):
        found.append(f"These prompts stand in for benchmark items that are not imported: {missing}.")
    if not definition.prolific_study_ids:
        found.append("No Prolific study id is given, so that people of any study are let in.")
    return found


@lru_cache(maxsize=1)
def shipped_studies() -> Mapping[str, Definition]:
    """The studies that come with the platform, by name."""
    return {path.stem: read_study(path) for path in sorted(SHIPPED.glob("*.toml"))}


def pause(study: Study, actor: str) -> None:
    change_state(study, actor, "paused", State.PAUSED, {State.LIVE})


def resume(study: Study, actor: str) -> None:
    change_state(study, actor, "resumed", State.LIVE, {State.PAUSED})


def close(study: Study, actor: str) -> None:
    """Close the study to new people; those inside may finish and are paid."""
    change_state(study, actor, "closed", State.CLOSED, {State.LIVE, State.PAUSED})


def change_state(
    study: Study,
    actor: str,
    action: str,
    state: str,
    allowed: set[str],
    second: TeamRequest | None = None,
    **detail: int,
) -> None:
    with transaction.atomic():
        study = lock_study(study)
        if study.archived_at:
            raise StudyError(f"{study.slug} is in the archive. Take it back first.")
        if study.state not in allowed:
            *pilot, done = action.split()
            what = "its pilot" if pilot else "it"
            raise StudyError(f"{study.slug} is {STATE_WORDS[study.state]}, so {what} can't be {done} now.")
        if action == LAUNCHED and study.current:
            second_person.require(definition_of(study.current.pk).second_person, "launch", study, second)
            if second and second.detail != what_is_launched(study):
                raise StudyError("The study or its pages have changed since it was asked for. It has to be asked anew.")
        if state in (State.PILOT, State.LIVE):
            freeze(study, actor)
        study.state = state
        if state == State.LIVE and not study.launched_at:
            study.launched_at = timezone.now()
        if state == State.CLOSED:
            study.closed_at = timezone.now()
        study.save()
        audit.record(study, actor, action, f"version {study.current.number}", sha256=study.current.sha256, **detail)


def lock_study(study: Study) -> Study:
    """Lock the study, but not against foreign keys to it: people who answer or withdraw never wait for this."""
    return Study.objects.select_for_update(of=("self",), no_key=True).select_related("current").get(pk=study.pk)


def what_is_launched(study: Study) -> dict[str, str]:
    """The detail that a second person confirms: the hash that a launch now would freeze."""
    return {"sha256": version_hash(study.current.document, interface_hash())}


def freeze(study: Study, actor: str) -> None:
    """Freeze the version that participants see from now on, with today's pages."""
    if not study.current:
        raise StudyError(f"{study.slug} has no definition yet. Load its study file first.")
    if not study.is_launched and study.current.interface_sha256 != interface_hash():
        write_version(study, study.current.document, actor)
    if study.current.frozen_at is None:
        StudyVersion.objects.filter(pk=study.current.pk).update(frozen_at=timezone.now())


# --- erasing ids, and withdrawals -------------------------------------------

ERASED = "erased-"


def erase_prolific_ids(study: Study, actor: str) -> int:
    """Replace every Prolific id of a closed study; return how many people had one. It can't be undone.

    Nobody can resume, withdraw by id or be paid by this list afterwards, hence only after closing, and not while a
    payment is on its way.
    """
    with transaction.atomic():
        study = lock_study(study)
        if study.state != Study.State.CLOSED:
            raise StudyError(f"{study.slug} is not closed. Close it and settle all payments first.")
        payments = Payment.objects.filter(submission__remote__study=study)
        if payments.exclude(state__in=[Payment.State.PAID, *Payment.UNPAID]).exists():
            raise StudyError(f"Payments of {study.slug} are on their way. Wait until Paying shows them done.")
        people = Participant.objects.filter(study=study).exclude(pid__startswith=ERASED)
        count = people.update(pid=Concat(Value(ERASED), F("pseudonym")))
        Session.objects.filter(study=study).exclude(session_id__startswith=ERASED).update(
            session_id=Concat(Value(ERASED), Cast("pk", CharField())), prolific_study_id=""
        )
        Submission.objects.filter(remote__study=study).exclude(submission_id__startswith=ERASED).update(
            submission_id=Concat(Value(ERASED), Cast("pk", CharField())), pid=""
        )
        erase_notes(study, Submission.objects.filter(remote__study=study))
        ProlificMessage.objects.filter(study=study).update(note="")
        audit.record(study, actor, "Prolific ids erased", people=count)
        return count


# Withdrawals share this lock of the study and take it before any other. Code that stores something about several people
# takes it exclusively, then checks who is still there; withdrawals wait until its transaction ends.


def share_withdrawals(study_id: int) -> None:
    """Take the lock for a withdrawal, which others may share."""
    locks.hold("withdrawals", study_id, shared=True)


def hold_withdrawals(study: Study) -> None:
    """Keep everybody from withdrawing until the transaction ends."""
    locks.hold("withdrawals", study.pk)


def withdrawals(study: Study) -> int:
    """Number of withdrawals. A result begun before one may still contain that person's answers."""
    return AnonymousExit.objects.filter(version__study=study, kind=AnonymousExit.Kind.WITHDRAWN).count()


def erase_notes(study: Study, submissions: QuerySet[Submission]) -> None:
    """Erase Prolific's words about failed calls, which may name the people concerned."""
    Payment.objects.filter(submission__in=submissions).update(note="")
    for kind in (ProlificStudy, ProlificGroup):  # the next call that fails says so again
        kind.objects.filter(study=study).exclude(fault="").update(fault="")
