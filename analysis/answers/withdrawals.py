"""What was computed from a person's answers goes with them: kept results, and spellings that nobody else has."""

from itertools import chain
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from analysis.answers.aliases import lock, rebuild
from analysis.models import AliasDecision, Answer, AnswerDecision, MetricValue
from surveys.models import AnonymousExit, Participant, Study

# Whoever keeps a result shares this lock of the study, whoever withdraws has it alone.
KEEPING = "SELECT pg_advisory_xact_lock_shared(hashtext('kept results'), %s)"
WITHDRAWING = "SELECT pg_advisory_xact_lock(hashtext('kept results'), %s)"


def withdrawals(study: Study) -> int:
    """Grows with each. A result that was begun before one of them may hold what somebody has taken back."""
    return AnonymousExit.objects.filter(version__study=study, kind=AnonymousExit.Kind.WITHDRAWN).count()


def hold_withdrawals(study: Study) -> None:
    """Nobody withdraws from here to the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(KEEPING, [study.pk])


@receiver(pre_delete, sender=Participant)
def forget(instance: Participant, **_: Any) -> None:
    """Part of the withdrawal's transaction, while the answers are still there."""
    study = instance.study
    with connection.cursor() as cursor:
        cursor.execute(WITHDRAWING, [study.pk])
    MetricValue.objects.filter(study=study).delete()
    forget_spellings(instance)


def forget_spellings(person: Participant) -> None:
    """Take spellings that only this person's answers have out of decisions and table; the decisions stay, by number."""
    own = names_of(person)
    theirs = Q(spellings__overlap=sorted(own)) | Q(item__in=own)
    rows = list(AliasDecision.objects.filter(theirs, study=person.study)) if own else []
    if not rows:
        return
    lock(person.study)
    others = Answer.objects.filter(items__overlap=sorted(own)).exclude(response__participant=person)
    gone = own - {*chain.from_iterable(others.values_list("items", flat=True))}
    for row in rows:
        left = [name for name in (row.item, *row.spellings) if name not in gone]
        row.item, row.spellings = (left[0], left[1:]) if left else ("", [])
    with connection.cursor() as cursor:  # the database refuses to change them; what names them is looked at in the end
        cursor.execute("DELETE FROM analysis_aliasdecision WHERE id = ANY(%s)", [[row.pk for row in rows]])
    AliasDecision.objects.bulk_create(rows)
    for prompt in {row.prompt for row in rows}:
        rebuild(person.study, prompt)


def names_of(person: Participant) -> set[str]:
    """What the person's answers name, as it was read and as it was decided."""
    answers = Answer.objects.filter(response__participant=person).values_list("items", "names")
    decided = AnswerDecision.objects.filter(answer__response__participant=person).values_list("items", "names")
    return {*chain.from_iterable(chain.from_iterable((*answers, *decided)))}
