"""What pages count of all answers of a study, kept until one of them changes: to look is a fifth of counting them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.core.cache import cache
from django.db import connection, transaction

from analysis.answers.withdrawals import withdrawals
from analysis.models import MetricValue
from analysis.models.runs import ASIDE
from surveys.models import Study
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
