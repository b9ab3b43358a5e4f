"""What was computed from a person's answers goes with them: kept results, and spellings that nobody else has."""

from itertools import chain
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver

from analysis.answers.aliases import lock, rebuild
from analysis.models import AliasDecision, Answer, AnswerDecision, MetricValue
from surveys.models import AnonymousExit, Participant, Study

MARK = "~"  # round the number of each other study that a kept result rests on, in its name


def withdrawals(study: Study) -> int:
    """Grows with each. A result that was begun before one of them may hold what somebody has taken back."""
    return AnonymousExit.objects.filter(version__study=study, kind=AnonymousExit.Kind.WITHDRAWN).count()


@receiver(pre_delete, sender=Participant)
def note_names(instance: Participant, **_: Any) -> None:
    """While the answers are still there."""
    instance.named = names_of(instance)
    instance.answers = list(Answer.objects.filter(response__participant=instance).values_list("pk", flat=True))


@receiver(post_delete, sender=Participant)
def forget(instance: Participant, **_: Any) -> None:
    """The end of the withdrawal's transaction: what it changes here others wait for. Plans rest on the pilot, if on
    anybody.
    """
    of_others = Q(name__contains=f"{MARK}{instance.study_id}{MARK}")
    without = [False] if instance.pilot else [False, True]
    plans = MetricValue.objects.filter(study=instance.study_id, name="plan", value__has_pilot__in=without)
    MetricValue.objects.filter(Q(study=instance.study_id) | of_others).exclude(pk__in=plans).delete()
    forget_spellings(instance.study, instance.named, instance.answers)


def forget_spellings(study: Study, own: set[str], answers: list[int]) -> None:
    """Take spellings that only these answers have out of decisions and table; the decisions stay, by number.

    Django may delete a person before their answers.
    """
    lock(study)
    theirs = Q(spellings__overlap=sorted(own)) | Q(item__in=own)
    rows = list(AliasDecision.objects.filter(theirs, study=study)) if own else []
    if not rows:
        return
    others = Answer.objects.filter(items__overlap=sorted(own)).exclude(pk__in=answers)
    gone = own - {*chain.from_iterable(others.values_list("items", flat=True))}
    for row in rows:
        left = [name for name in (row.item, *row.spellings) if name not in gone]
        row.item, row.spellings = (left[0], left[1:]) if left else ("", [])
    with connection.cursor() as cursor:  # the database refuses to change them; what names them is looked at in the end
        cursor.execute("DELETE FROM analysis_aliasdecision WHERE id = ANY(%s)", [[row.pk for row in rows]])
    AliasDecision.objects.bulk_create(rows)
    for prompt in {row.prompt for row in rows}:
        rebuild(study, prompt)


def names_of(person: Participant) -> set[str]:
    """What the person's answers name, as it was read and as it was decided."""
    answers = Answer.objects.filter(response__participant=person).values_list("items", "names")
    decided = AnswerDecision.objects.filter(answer__response__participant=person).values_list("items", "names")
    return {*chain.from_iterable(chain.from_iterable((*answers, *decided)))}
