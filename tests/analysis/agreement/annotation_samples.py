"""Annotated studies for tests of agreement: people and judges with labels that can be counted by hand."""

from collections.abc import Mapping

from surveys.annotation.labels import LabelSubmission, submit
from surveys.annotation.work import open_task, seal_task
from surveys.models import AnnotationItem, Participant, Study
from surveys.studies.labels import record_judgement
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, tasks_of

# What each of three people, and a judge, says about eight items.
SAID = ("yyyynnnn", "yyyynnny", "yyynnnnn")
JUDGED = "yyyyyyyn"
WORDS = {"y": "yes", "n": "no"}


def label_all(person: Participant, said: str) -> None:
    """Give each item the letter at its number in `said`, in whatever order items come."""
    for task in tasks_of(person):
        shown = open_task(person, seal_task(person, task))
        submit(person, shown, LabelSubmission({"relevance": WORDS[said[number_of(task.item)]]}, active_ms=12_000))


def annotate_all(person: Participant, question: str, said: Mapping[str, str]) -> None:
    """Answer every task of this person by its item in `said`; for a preference that is the rating as it is kept."""
    for task in tasks_of(person):
        value = said[task.item.key]
        is_turned = question.startswith("preference") and task.left == "personalised"
        annotate(person, task, **{question: str(6 - int(value)) if is_turned else value})


def number_of(item: AnnotationItem) -> int:
    return int(item.key.removeprefix("item-"))


def make_annotated(state: str = "live", slug: str = "teas", said: tuple[str, ...] = SAID) -> tuple[Study, list[str]]:
    """A study of relevance with eight items, three people and the judge `mini`; returns the people's pseudonyms too."""
    study = make_annotation_study(state, slug, overlap=len(said))
    make_items(study, 8, pilot=state == "pilot", corpus="real", tags={"about": "tea"})
    people = [make_annotator(study) for _ in said]
    for person, letters in zip(people, said, strict=True):
        label_all(person, letters)
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini", {"relevance": WORDS[JUDGED[number_of(item)]]})
    return study, pseudonyms_of(study)


def pseudonyms_of(study: Study) -> list[str]:
    """The pseudonyms of the study's people, in order of arrival."""
    return list(study.participants.order_by("pk").values_list("pseudonym", flat=True))
