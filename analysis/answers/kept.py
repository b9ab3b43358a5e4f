"""What is computed of all answers of a study, kept until one of them changes: to look is a fifth of counting them.

It goes with each person whose answers it rests on, and so do spellings that nobody else has.
"""

import hashlib
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
from surveys.models import AnonymousExit, Participant, Study
from surveys.reading.answers import RULES_VERSION
from surveys.studies.lifecycle import hold_withdrawals

# Answers and revisions are added, decided about, read by other rules and erased; replies come in. Numbers of rows and
# the newest keys say of each whether it happened, of the whole server, and PostgreSQL reads them from indexes alone:
# of people's answers, of the study's completions, and of what was decided and read anew of either.
SERVER = """
SELECT
  json_build_array(people, (SELECT max(response_id) FROM analysis_answer), (SELECT max(id) FROM surveys_readback),
    (SELECT count(*) FROM surveys_response), (SELECT max(id) FROM surveys_response)),
  json_build_array(everything - people, (SELECT max(completion_id) FROM analysis_answer),
    (SELECT json_agg(json_build_array(run_id, status, calls) ORDER BY run_id, status) FROM (
      SELECT run_id, status, count(*) AS calls FROM analysis_completion
      WHERE run_id IN (
        SELECT id FROM analysis_run
        WHERE (study_id = %(study)s OR study_id IS NULL) AND condition <> ALL(%(aside)s))
      GROUP BY run_id, status) AS counted)),
  (SELECT count(*) FROM analysis_answer WHERE rules_version < %(rules)s OR rules_version > %(rules)s),
  (SELECT max(id) FROM analysis_answerdecision)
FROM (SELECT (SELECT count(*) FROM analysis_answer WHERE response_id IS NOT NULL) AS people,
    (SELECT count(*) FROM analysis_answer) AS everything) AS answers
"""


# The same of one study, which takes a look at each of its answers.
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
    """Another one as soon as a text of the study came, was read or decided about, or is gone."""
    server = hash_of(ask(SERVER, study))
    return cache.get_or_set(f"answers-{study.pk}-{server}", lambda: hash_of(ask(STUDY, study)))


def side_stamps(study: Study) -> tuple[str, str]:
    """The same of people's answers and of completions, on the whole server; a decision changes only the first."""
    field, models, *both = ask(SERVER, study)
    return hash_of([field, *both]), hash_of([models, both[0]])


def ask(statement: str, study: Study) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, "rules": RULES_VERSION, "aside": list(ASIDE)})
        found: tuple[Any, ...] = cursor.fetchone()
    return found


def hash_of(found: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps([RULES_VERSION, *found], default=str).encode()).hexdigest()


def keep(study: Study, name: str, stamp: str, compute: Callable[[], Any]) -> Any:
    """What is kept under this name and stamp; else it is computed, and what was kept before is forgotten."""
    kept = MetricValue.objects.filter(study=study, name=name)
    found = kept.filter(fingerprint=stamp).values_list("value", flat=True).first()
    if found is None:
        before = withdrawals(study)
        found = compute()
        with transaction.atomic():
            hold_withdrawals(study)
            if withdrawals(study) == before:  # else it may hold what somebody has taken back meanwhile
                kept.delete()
                # Two may do so at the same time.
                row = MetricValue(study=study, name=name, fingerprint=stamp, value=found, seconds=0)
                MetricValue.objects.bulk_create([row], ignore_conflicts=True)
    return found


# --- what goes with a person --------------------------------------------------

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
