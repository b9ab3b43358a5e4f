"""Results computed from all answers of a study, kept until one changes: to check takes a fifth of the time of counting.

They are dropped with any person whose answers they rest on, and so are spellings that nobody else has.
"""

import json
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver

from analysis.answers.aliases import lock, rebuild
from analysis.models import AliasDecision, Answer, AnswerDecision, MetricValue
from analysis.models.runs import ASIDE
from surveys.models import Participant, Study
from surveys.models.hashes import hash_text
from surveys.reading.answers import RULES_VERSION
from surveys.studies.lifecycle import hold_withdrawals, withdrawals

# Row counts and newest keys show whether answers or revisions were added, decided about, re-read or erased, or replies
# came in. PostgreSQL reads them from indexes alone: for the server's people, the study's completions, and what was
# re-read and decided of either.
SERVER = """
SELECT
  json_build_array((SELECT count(*) FROM analysis_answer WHERE response_id IS NOT NULL),
    (SELECT max(response_id) FROM analysis_answer), (SELECT max(id) FROM surveys_readback),
    (SELECT count(*) FROM surveys_response), (SELECT max(id) FROM surveys_response)),
  json_build_array((SELECT count(*) FROM analysis_answer WHERE completion_id IS NOT NULL),
    (SELECT max(completion_id) FROM analysis_answer),
    (SELECT json_agg(json_build_array(run_id, status, calls) ORDER BY run_id, status) FROM (
      SELECT run_id, status, count(*) AS calls FROM analysis_completion
      WHERE run_id = ANY(ARRAY(
        SELECT id FROM analysis_run
        WHERE (study_id = %(study)s OR study_id IS NULL) AND condition <> ALL(%(aside)s)))
      GROUP BY run_id, status) AS counted)),
  (SELECT count(*) FROM analysis_answer WHERE rules_version < %(rules)s OR rules_version > %(rules)s),
  (SELECT max(id) FROM analysis_answerdecision)
"""


# The same for one study, at the cost of looking at each of its answers.
STUDY = """
WITH given AS (
  SELECT response.id FROM surveys_response response
  JOIN surveys_participant person ON person.id = response.participant_id
  WHERE person.study_id = %(study)s AND response.accepted
), replied AS (
  SELECT completion.id, run_id, status FROM analysis_completion completion JOIN analysis_run run ON run.id = run_id
  WHERE (study_id = %(study)s OR study_id IS NULL) AND condition <> ALL(%(aside)s)
), answers AS (
  SELECT id, read_at, decided, rules_version FROM analysis_answer WHERE response_id IN (SELECT id FROM given)
  UNION ALL
  SELECT id, read_at, decided, rules_version FROM analysis_answer WHERE completion_id IN (SELECT id FROM replied)
)
SELECT (SELECT json_build_array(count(*), max(id)) FROM given),
  (SELECT json_agg(json_build_array(run_id, status, calls) ORDER BY run_id, status) FROM (
    SELECT run_id, status, count(*) AS calls FROM replied GROUP BY run_id, status) AS counted),
  (SELECT json_build_array(count(*), max(id), max(read_at), count(*) FILTER (WHERE decided),
    count(*) FILTER (WHERE rules_version <> %(rules)s)) FROM answers),
  (SELECT json_build_array(count(*), max(id)) FROM analysis_answerdecision WHERE answer_id IN (SELECT id FROM answers)),
  (SELECT json_build_array(count(*), max(id)) FROM surveys_readback WHERE response_id IN (SELECT id FROM given))
"""


def answer_stamp(study: Study) -> str:
    """Fingerprint that changes as soon as a text of the study arrives, is read, is decided about or goes."""
    server = hash_of(ask(SERVER, study))
    return cache.get_or_set(f"answers-{study.pk}-{server}", lambda: hash_of(ask(STUDY, study)))


def side_stamps(study: Study) -> tuple[str, str]:
    """Fingerprints of people's answers and of completions, server-wide; a decision changes only the first."""
    field, models, *both = ask(SERVER, study)
    return hash_of([field, *both]), hash_of([models, both[0]])


def ask(statement: str, study: Study) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, "rules": RULES_VERSION, "aside": list(ASIDE)})
        found: tuple[Any, ...] = cursor.fetchone()
    return found


def hash_of(found: Sequence[Any]) -> str:
    return hash_text(json.dumps([RULES_VERSION, *found], default=str))


def keep(study: Study, name: str, stamp: str, compute: Callable[[], Any]) -> Any:
    """The result kept under this name and stamp; otherwise compute it and replace the one kept before."""
    kept = MetricValue.objects.filter(study=study, name=name)
    found = kept.filter(fingerprint=stamp).values_list("value", flat=True).first()
    if found is None:
        before = withdrawals(study)
        found = compute()
        with transaction.atomic():
            hold_withdrawals(study)
            if withdrawals(study) == before:  # otherwise it may contain what somebody has withdrawn
                kept.delete()
                # Two callers may get here at the same time.
                row = MetricValue(study=study, name=name, fingerprint=stamp, value=found, seconds=0)
                MetricValue.objects.bulk_create([row], ignore_conflicts=True)
    return found


# --- what goes with a person --------------------------------------------------

MARK = "~"  # in a kept result's name, around the number of each other study that it rests on


@receiver(pre_delete, sender=Participant)
def note_names(instance: Participant, **_: Any) -> None:
    """Note the person's spellings and answers before they are deleted."""
    instance.named = names_of(instance)
    instance.answers = list(Answer.objects.filter(response__participant=instance).values_list("pk", flat=True))


@receiver(post_delete, sender=Participant)
def forget(instance: Participant, **_: Any) -> None:
    """Drop kept results, last in the withdrawal's transaction, since others wait for these rows. A plan goes only if it
    rests on a pilot and the person was in it.
    """
    of_others = Q(name__contains=f"{MARK}{instance.study_id}{MARK}")
    without = [False] if instance.pilot else [False, True]
    plans = MetricValue.objects.filter(study=instance.study_id, name="plan", value__has_pilot__in=without)
    MetricValue.objects.filter(Q(study=instance.study_id) | of_others).exclude(pk__in=plans).delete()
    forget_spellings(instance.study, instance.named, instance.answers)


def forget_spellings(study: Study, own: set[str], answers: list[int]) -> None:
    """Remove spellings found only in these answers from decisions and table; decisions keep their numbers.

    `answers` are named because Django may delete a person before their answers.
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
        if row.item in gone and row.action != AliasDecision.Action.ACCEPT:
            left = []  # what is not the lost item may still be one thing
        row.item, row.spellings = (left[0], left[1:]) if left else ("", [])
    with connection.cursor() as cursor:  # the database refuses updates, and checks references only at the end
        cursor.execute("DELETE FROM analysis_aliasdecision WHERE id = ANY(%s)", [[row.pk for row in rows]])
    AliasDecision.objects.bulk_create(rows)
    for prompt in {row.prompt for row in rows}:
        rebuild(study, prompt)


def names_of(person: Participant) -> set[str]:
    """Items and names in the person's answers, as read and as decided."""
    answers = Answer.objects.filter(response__participant=person).values_list("items", "names")
    decided = AnswerDecision.objects.filter(answer__response__participant=person).values_list("items", "names")
    return {*chain.from_iterable(chain.from_iterable((*answers, *decided)))}
