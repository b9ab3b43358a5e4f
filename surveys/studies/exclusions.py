"""Exclusions: people and responses left out of the analysis by the study file's rules; the only place that decides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils import timezone

from surveys.models import Flag, Participant, Prompt, Response, Study, StudyVersion
from surveys.reading.checks import NOT_OF_CHOICES, SAME_AGAIN
from surveys.studies.files.definitions import frozen
from surveys.studies.files.schema import CONTEXT, EXCLUSION_KINDS, TYPED, Exclusion
from surveys.studies.perception import outcome_of

# People as an array: PostgreSQL then reads an index in the order of the groups and sorts nothing.
PASTES = """
SELECT participant_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), avg(share_pasted ORDER BY prompt_id)
FROM (
    SELECT participant_id, prompt_id,
           extract(epoch FROM max(submitted_at) FILTER (WHERE accepted) - min(shown_at))::float AS seconds,
           (max(ARRAY[revision, (evidence ->> 'share_pasted')::float]) FILTER (WHERE accepted))[2] AS share_pasted
    FROM surveys_response
    WHERE participant_id = ANY(ARRAY(SELECT id FROM surveys_participant WHERE study_id = %(study)s))
    GROUP BY participant_id, prompt_id
) answers
GROUP BY participant_id
"""


@dataclass(frozen=True)
class Observed:
    """Facts about one person that rules are about; None, or a missing key of the context: not observable."""

    attention_fails: int = 0
    minutes: float | None = None  # from consent to the end, of people who completed
    seconds: float | None = None  # median over prompts, first page shown to answer stored, by the server's clock
    share_pasted: float | None = None  # mean over the answers whose entry was observed
    flags_kept: int = 0
    perception: str = ""  # of the figure in moving dots: right, wrong, unseen; empty if nobody was shown one
    context: Mapping[str, str] = field(default_factory=dict)


def observe_people(study: Study, kinds: set[str]) -> Iterator[tuple[int, Observed]]:
    pastes = observe_pastes(study) if kinds & {"seconds_under", "pasted_under"} else {}
    flags = count_kept_flags(study) if "flags_kept" in kinds else {}
    fields = ("pk", "origin", "state", "consented_at", "finished_at", "checks__attention", "checks__perception")
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
                perception=outcome_of(row["checks__perception"]),
                context=context_of(row),
            ),
        )


def minutes_of(row: Mapping[str, Any]) -> float | None:
    """Minutes from consent to the end; None for people who did not complete, and for imported people."""
    if row["state"] != Participant.State.COMPLETED or row["origin"] == Participant.Origin.IMPORTED:
        return None
    return (row["finished_at"] - row["consented_at"]).total_seconds() / 60


def context_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The person's context; for imported people only product and model, as in their file: `unknown` is no answer."""
    keys = ("product", *TYPED) if row["origin"] == Participant.Origin.IMPORTED else CONTEXT
    return {key: answer for key in keys if (answer := row[f"context__{key}"])}


def observe_pastes(study: Study) -> dict[int, tuple[float | None, float | None]]:
    """Median seconds per prompt and mean share pasted, by participant."""
    with connection.cursor() as cursor:
        cursor.execute(PASTES, {"study": study.pk})
        return {person: (seconds, share) for person, seconds, share in cursor.fetchall()}


def kept_flags(study: Study) -> QuerySet[Flag]:
    """The kept flags, without those on choices by checks that now leave choices alone."""
    kept = Flag.objects.filter(participant__study=study, outcome=Flag.Outcome.KEPT).order_by()
    return kept.exclude(prompt__kind=Prompt.Kind.CHOICE, check_name__in=NOT_OF_CHOICES)


def count_kept_flags(study: Study) -> dict[int, int]:
    """Count by participant how often they kept an answer that a check had questioned.

    Signs of an agent question nothing, and the same answer on another occasion may be right, so neither counts.
    """
    return dict(
        kept_flags(study)
        .exclude(check_name__in=("agent", SAME_AGAIN))
        .values_list("participant")
        .annotate(n=Count("id"))
    )


def find_flagged(study: Study, checks: set[str]) -> dict[int, set[str]]:
    """Which of the checks have a kept flag on each answer, by answer."""
    answers = Response.objects.filter(participant=OuterRef("participant"), prompt=OuterRef("prompt"), accepted=True)
    kept = (
        kept_flags(study)
        .filter(check_name__in=checks)
        .annotate(answer=Subquery(answers.order_by("-revision").values("pk")[:1]))
        .filter(answer__isnull=False)
    )
    flagged: dict[int, set[str]] = {}
    for answer, check in kept.values_list("answer", "check_name"):
        flagged.setdefault(answer, set()).add(check)
    return flagged


@dataclass(frozen=True)
class ExclusionRule:
    """A rule of the current version, and when it was declared.

    `version` and `day` are those of the amendment that added it after the launch; None if it was there before.
    """

    slug: str
    text: str
    kind: str  # one of EXCLUSION_KINDS; empty for a rule in words, which leaves nothing out here
    threshold: Any
    scope: str  # person, response, or empty like the kind
    version: int | None = None
    day: date | None = None

    @property
    def is_later(self) -> bool:
        return self.version is not None

    @property
    def declared(self) -> str:
        if self.version is None or self.day is None:
            return "before launch"
        return f"later: version {self.version}, {self.day.day} {self.day:%B %Y}"

    @property
    def words(self) -> str:
        """The condition as applied, in a few words; `text` is the researcher's own."""
        return WORDS[self.kind](self.threshold) if self.kind else "in words only"


WORDS: dict[str, Callable[[Any], str]] = {
    "attention_fails": lambda least: f"{least} or more attention checks failed",
    "minutes_under": lambda limit: f"less than {limit:g} minutes in all",
    "seconds_under": lambda limit: f"median below {limit:g} seconds a prompt",
    "pasted_under": lambda limit: f"less than {100 * limit:g} % pasted on average",
    "flags": lambda checks: f"flag kept ({' or '.join(checks)})",
    "flags_kept": lambda least: f"{least} or more flags kept",
    "perception": lambda outcomes: f"figure in moving dots {' or '.join(outcomes)}",
    "context": lambda wanted: ", ".join(f"{key} {' or '.join(wanted[key])}" for key in CONTEXT if key in wanted),
}

# When a rule was declared ----------------------------------------------------------------------------------


IN_WORDS = ("", None)  # the effect of a rule in words only


class Stage(NamedTuple):
    """The rules of one version of a study file; an amendment is a version written after the launch."""

    number: int
    is_amendment: bool
    written_at: datetime
    exclusions: tuple[Exclusion, ...]


def rules_of(study: Study) -> list[ExclusionRule]:
    """The rules of the newest version, in the file's order."""
    stages = [
        Stage(number, bool(amendment), at, tuple(Exclusion(**frozen(entry)) for entry in entries or ()))
        for number, amendment, at, entries in StudyVersion.objects.filter(study=study)
        .order_by("-number")
        .values_list("number", "amendment", "created_at", "document__exclusions")
    ]
    return date_rules(stages)


def date_rules(stages: Sequence[Stage]) -> list[ExclusionRule]:
    """Date the rules of the first of these versions, which come newest first.

    A rule of the version that was launched is never a later one, whatever amendments did to it since. Any other dates
    from the amendment since which it has been there without a break; a new threshold makes a new rule.
    """
    rules = []
    for exclusion in stages[0].exclusions if stages else ():
        came = find_amendment(exclusion, stages)
        kind, threshold = effect_of(exclusion)
        rules.append(
            ExclusionRule(
                slug=exclusion.slug,
                text=exclusion.text,
                kind=kind,
                threshold=threshold,
                scope=EXCLUSION_KINDS.get(kind, ""),
                version=came.number if came else None,
                day=timezone.localdate(came.written_at) if came else None,
            )
        )
    return rules


def effect_of(exclusion: Exclusion) -> tuple[str, Any]:
    """The kind and the threshold of a rule; IN_WORDS for a rule in words only."""
    return next(((kind, given) for kind in EXCLUSION_KINDS if (given := getattr(exclusion, kind))), IN_WORDS)


def find_amendment(exclusion: Exclusion, stages: Sequence[Stage]) -> Stage | None:
    launched = next((stage for stage in stages if not stage.is_amendment), None)
    if launched and stands_in(exclusion, launched):
        return None
    came = stages[0]
    for stage in stages:
        if not stands_in(exclusion, stage):
            break
        came = stage
    return came


def stands_in(exclusion: Exclusion, stage: Stage) -> bool:
    """Whether the version has a rule of the same effect, under any name; rules in words are matched by name."""
    kind, threshold = effect_of(exclusion)

    def is_alike(other: Exclusion) -> bool:
        as_there, limit = effect_of(other)
        return (as_there, unordered(limit)) == (kind, unordered(threshold))

    return any(is_alike(other) and (kind or other.slug == exclusion.slug) for other in stage.exclusions)


def unordered(threshold: Any) -> Any:
    """A threshold without the order in which its options are written, which leaves nobody out."""
    if isinstance(threshold, Mapping):
        return {key: unordered(options) for key, options in threshold.items()}
    return frozenset(threshold) if isinstance(threshold, tuple) else threshold


# People and responses left out -----------------------------------------------------------------------------


def is_under(value: float | None, limit: float) -> bool:
    return value is not None and value < limit


def is_answered(given: str | None, key: str, answers: Sequence[str]) -> bool:
    """Whether an answer is one of `answers`; typed answers are matched as patterns, ignoring case."""
    if key not in TYPED:
        return given in answers
    return given is not None and any(fnmatchcase(given.strip().casefold(), one.casefold()) for one in answers)


LEAVES_OUT: dict[str, Callable[[Observed, Any], bool]] = {
    "attention_fails": lambda seen, least: seen.attention_fails >= least,
    "minutes_under": lambda seen, limit: is_under(seen.minutes, limit),
    "seconds_under": lambda seen, limit: is_under(seen.seconds, limit),
    "pasted_under": lambda seen, limit: is_under(seen.share_pasted, limit),
    "flags_kept": lambda seen, least: seen.flags_kept >= least,
    "perception": lambda seen, outcomes: seen.perception in outcomes,
    "context": lambda seen, wanted: all(
        is_answered(seen.context.get(key), key, answers) for key, answers in wanted.items()
    ),
}


def rules_met(rules: Sequence[ExclusionRule], seen: Observed) -> tuple[str, ...]:
    """The slugs of all rules that leave this person out."""
    return tuple(rule.slug for rule in rules if rule.scope == "person" and LEAVES_OUT[rule.kind](seen, rule.threshold))


def excluded_people(study: Study, rules: Sequence[ExclusionRule] | None = None) -> dict[int, tuple[str, ...]]:
    """The rules that leave each person out, by participant; pilots and previews by the same rules as everybody.

    Takes at most four queries, however many people there are.
    """
    rules = rules_of(study) if rules is None else rules
    kinds = {rule.kind for rule in rules if rule.scope == "person"}
    met = {person: rules_met(rules, seen) for person, seen in observe_people(study, kinds)} if kinds else {}
    return {person: slugs for person, slugs in met.items() if slugs}


def excluded_responses(study: Study, rules: Sequence[ExclusionRule] | None = None) -> dict[int, tuple[str, ...]]:
    """The rules that leave out a single response, by response; the person's other responses stay.

    Only answers (the newest accepted revisions) are named, also those of people who are left out entirely.
    """
    rules = [rule for rule in (rules_of(study) if rules is None else rules) if rule.scope == "response"]
    flagged = find_flagged(study, {check for rule in rules for check in rule.threshold}) if rules else {}
    return {
        response: tuple(rule.slug for rule in rules if checks & set(rule.threshold))
        for response, checks in flagged.items()
    }
