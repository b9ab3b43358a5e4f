"""What was observed of people while they took part, as far as rules about leaving them out ask for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count, OuterRef, Subquery

from surveys.models import Flag, Participant, Response, Study
from surveys.study_files.schema import CONTEXT

PASTES = """
SELECT participant_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), avg(share_pasted)
FROM (
    SELECT response.participant_id,
           extract(epoch FROM max(submitted_at) FILTER (WHERE accepted) - min(shown_at))::float AS seconds,
           (array_agg((evidence ->> 'share_pasted')::float ORDER BY revision DESC) FILTER (WHERE accepted))[1]
               AS share_pasted
    FROM surveys_response response JOIN surveys_participant participant ON participant.id = response.participant_id
    WHERE participant.study_id = %(study)s
    GROUP BY response.participant_id, response.prompt_id
) answers
GROUP BY participant_id
"""


@dataclass(frozen=True)
class Observed:
    """What is known of one person. None, or a missing key of the context, is what nobody could observe."""

    attention_fails: int = 0
    minutes: float | None = None  # from consent to the end, of people who completed
    seconds: float | None = None  # median over prompts, first page shown to answer stored, by the server's clock
    share_pasted: float | None = None  # mean over the answers whose entry was observed
    flags_kept: int = 0
    context: Mapping[str, str] = field(default_factory=dict)


def observe_people(study: Study, kinds: set[str]) -> Iterator[tuple[int, Observed]]:
    pastes = observe_pastes(study) if kinds & {"seconds_under", "pasted_under"} else {}
    flags = count_kept_flags(study) if "flags_kept" in kinds else {}
    fields = ("pk", "origin", "state", "consented_at", "finished_at", "checks__attention")
    people = Participant.objects.filter(study=study).order_by()
    for row in people.values(*fields, *(f"context__{key}" for key in CONTEXT)):
        seconds, share = pastes.get(row["pk"], (None, None))
        yield (
            row["pk"],
            Observed(
                attention_fails=sum(not given["passed"] for given in (row["checks__attention"] or {}).values()),
                minutes=minutes_of(row),
                seconds=seconds,
                share_pasted=share,
                flags_kept=flags.get(row["pk"], 0),
                context=context_of(row),
            ),
        )


def minutes_of(row: Mapping[str, Any]) -> float | None:
    """Of the whole part. Nobody saw imported people begin or end, whatever their rows say."""
    if row["state"] != Participant.State.COMPLETED or row["origin"] == Participant.Origin.IMPORTED:
        return None
    return (row["finished_at"] - row["consented_at"]).total_seconds() / 60


def context_of(row: Mapping[str, Any]) -> dict[str, str]:
    """What the person answered. The `unknown` of imported people is no answer; their chatbot is in the file."""
    keys = ("product",) if row["origin"] == Participant.Origin.IMPORTED else CONTEXT
    return {key: answer for key in keys if (answer := row[f"context__{key}"])}


def observe_pastes(study: Study) -> dict[int, tuple[float | None, float | None]]:
    """By participant the median seconds a prompt and the mean share that was pasted."""
    with connection.cursor() as cursor:
        cursor.execute(PASTES, {"study": study.pk})
        return {person: (seconds, share) for person, seconds, share in cursor.fetchall()}


def count_kept_flags(study: Study) -> dict[int, int]:
    kept = Flag.objects.filter(participant__study=study, outcome=Flag.Outcome.KEPT).order_by()
    return dict(kept.values_list("participant").annotate(n=Count("id")))


def find_flagged(study: Study, checks: set[str]) -> dict[int, set[str]]:
    """By answer those of the checks whose flag was kept on it."""
    answers = Response.objects.filter(participant=OuterRef("participant"), prompt=OuterRef("prompt"), accepted=True)
    kept = Flag.objects.filter(participant__study=study, outcome=Flag.Outcome.KEPT, check_name__in=checks).order_by()
    kept = kept.annotate(answer=Subquery(answers.order_by("-revision").values("pk")[:1])).filter(answer__isnull=False)
    flagged: dict[int, set[str]] = {}
    for answer, check in kept.values_list("answer", "check_name"):
        flagged.setdefault(answer, set()).add(check)
    return flagged
