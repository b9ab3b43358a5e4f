"""Reviewing readings: the answers that wait for a person, decisions about them, and undoing."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf

from analysis.models import Answer, AnswerDecision
from surveys.models import Participant, Prompt, Response, Study, base_slug
from surveys.reading.answers import normalise_item
from surveys.studies import audit

LETTERS = "ABCDEFGH"
MOST_ITEMS = 20
LONGEST_ITEM = 300
WORDS = CharField()


class ReviewError(Exception):
    """An impossible decision; its message is for the person who tried to make it."""


class SeenTooEarly(ReviewError):
    """Another decision about the answer was made after the page."""


def answers_of(study: Study) -> QuerySet[Answer]:
    """Answers that count: of the newest accepted responses, without previews, and of the study's completions.

    Each is annotated with `prompt_slug`, `kind`, `source` and `model`.
    """
    field = Q(response__participant__study=study) & ~Q(response__participant__origin=Participant.Origin.PREVIEW)
    return Answer.objects.filter(field & ~superseded("response__") | Q(completion__run__study=study)).annotate(
        prompt_slug=Coalesce(
            base_slug("response__prompt__"), "completion__prompt__slug", "completion__item__item", output_field=WORDS
        ),
        kind=Coalesce(
            "response__prompt__kind", "completion__prompt__kind", Value(Prompt.Kind.CHOICE), output_field=WORDS
        ),
        source=Coalesce(
            NullIf("completion__run__imported_source", Value("")),
            "completion__run__condition",
            Value("field"),
            output_field=WORDS,
        ),
        model=Coalesce(
            "completion__run__endpoint__model",
            NullIf("completion__run__imported_model", Value("")),
            "response__participant__cell__chatbot",
            Value(""),
            output_field=WORDS,
        ),
    )


def superseded(response: str = "", **among: int) -> Exists:
    """Whether a newer revision was accepted, of all or `among` some; `response` is the lookup's prefix."""
    same = {name: OuterRef(f"{response}{name}") for name in ("participant", "prompt")}
    newer = Response.objects.filter(**same, accepted=True, revision__gt=OuterRef(f"{response}revision"))
    return Exists(newer.filter(**among))


def waiting(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    """Undecided answers in doubt, people's own first."""
    return answers.filter(~Q(doubt=""), decided=False).order_by(F("response").asc(nulls_last=True), "pk")


# --- deciding ---------------------------------------------------------------


def decide(
    study: Study, key: int, actor: str, *, seen: int, names: Sequence[str] = (), letter: str = ""
) -> AnswerDecision:
    """Record what a person reads in the text: `names` as written, or a letter; neither is `unknown`.

    `seen` is the answer's last decision when the page was made, 0 without one. Raises SeenTooEarly if that is no longer
    the last, ReviewError for an impossible answer.
    """
    with transaction.atomic():
        answer = lock(study, key)
        if last_decision(answer) != seen:
            raise SeenTooEarly("Somebody has decided about this answer in the meantime. It is shown as it is now.")
        names = check_names(answer, names)
        check_letter(answer, letter)
        items = [normalise_item(name) for name in names]
        kept = [place for place, item in enumerate(items) if item and item not in items[:place]]
        made = AnswerDecision.objects.create(
            answer=answer,
            items=[items[place] for place in kept],
            names=[names[place] for place in kept],
            letter=letter,
            before=state_of(answer),
            decided_by=actor,
        )
        write(answer, made.items, made.names, made.letter, decided=True)
        note(study, actor, "answer decided", made)
        return made


def undo_last(study: Study, actor: str) -> AnswerDecision:
    """Undo this person's newest decision in force and restore the answer."""
    mine = AnswerDecision.objects.filter(decided_by=actor, undoes__isnull=True, undone_by__isnull=True)
    made = mine.filter(answer__in=answers_of(study).values("pk")).order_by("-pk").first()
    if made is None:
        raise ReviewError("There is no decision of yours to undo.")
    return undo(study, made.pk, actor)


def undo(study: Study, number: int, actor: str) -> AnswerDecision:
    """Undo decision `number`. Raises SeenTooEarly unless it is the answer's last, ReviewError if there is none."""
    made = AnswerDecision.objects.filter(pk=number).first()
    if made is None:
        raise ReviewError(f"There is no decision {number}.")
    with transaction.atomic():
        answer = lock(study, made.answer_id)
        if last_decision(answer) != made.pk or made.undoes_id:
            raise SeenTooEarly("Somebody decided about this answer later; that decision stands.")
        before = made.before
        back = AnswerDecision.objects.create(
            answer=answer,
            items=before["items"],
            names=before["names"],
            letter=before["letter"],
            before=state_of(answer),
            undoes=made,
            decided_by=actor,
        )
        answer.rules_version = before["rules_version"]
        write(answer, back.items, back.names, back.letter, decided=before["decided"])
        note(study, actor, "answer decision undone", back)
        return back


def lock(study: Study, key: int) -> Answer:
    """The answer, locked against other decisions and re-reading. Raises ReviewError if it is gone."""
    is_one = answers_of(study).filter(pk=key).exists()
    answer = Answer.objects.select_for_update().filter(pk=key).first() if is_one else None
    if answer is None:
        raise ReviewError("This answer is gone: the person withdrew, or sent a new one.")
    return answer


def last_decision(answer: Answer) -> int:
    """Number of the latest decision or undoing; 0 without one."""
    return answer.decisions.order_by("-pk").values_list("pk", flat=True).first() or 0


def check_names(answer: Answer, names: Sequence[str]) -> list[str]:
    tidy = [" ".join(name.replace("\x00", " ").split()) for name in names]
    tidy = [name for name in tidy if name]
    if tidy and asked_kind(answer) == Prompt.Kind.CHOICE:
        raise ReviewError("This prompt asks for a letter, not for items.")
    if len(tidy) > MOST_ITEMS:
        raise ReviewError(f"{len(tidy)} items are too many; the limit is {MOST_ITEMS}.")
    if too_long := [name for name in tidy if len(name) > LONGEST_ITEM]:
        raise ReviewError(f"{too_long[0][:60]}… is longer than {LONGEST_ITEM} characters.")
    return tidy


def check_letter(answer: Answer, letter: str) -> None:
    if not letter:
        return
    if asked_kind(answer) != Prompt.Kind.CHOICE:
        raise ReviewError("This prompt asks for items, not for a letter.")
    letters = LETTERS[: len(asked_of(answer).choices)]
    if letter not in letters or len(letter) != 1:
        raise ReviewError(f"{letter[:20]!r} is not an option here; the options are {', '.join(letters)}.")


def asked_kind(answer: Answer) -> str:
    asked = asked_of(answer)
    return asked.kind if isinstance(asked, Prompt) else Prompt.Kind.CHOICE


def asked_of(answer: Answer) -> Any:
    """The prompt, in the language shown, or benchmark item that the text answers."""
    if answer.response_id:
        return answer.response.prompt.in_language(answer.response.language)
    return answer.completion.prompt or answer.completion.item


def text_of(answer: Answer) -> str:
    return answer.response.text if answer.response_id else answer.completion.reply


def state_of(answer: Answer) -> dict[str, Any]:
    return {
        "items": answer.items,
        "names": answer.names,
        "letter": answer.letter,
        "rules_version": answer.rules_version,
        "decided": answer.decided,
    }


def write(answer: Answer, items: list[str], names: list[str], letter: str, decided: bool) -> None:
    answer.items, answer.names, answer.letter, answer.decided = items, names, letter, decided
    answer.save(update_fields=["items", "names", "letter", "decided", "rules_version"])


def note(study: Study, actor: str, action: str, made: AnswerDecision) -> None:
    answer = made.answer
    subject = f"response {answer.response_id}" if answer.response_id else f"completion {answer.completion_id}"
    # By number only: its content goes with the person whose text it is about, but an audit event stays for good.
    audit.record(study, actor, action, subject, decision=made.pk)
