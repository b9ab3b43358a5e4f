"""The gate after a pilot, or at any time: who is kept as an annotator, decided once, with the rule and the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Max, OuterRef, QuerySet, Subquery

from surveys.access import audit
from surveys.annotation.slots import work_for
from surveys.models import GateDecision, GateVerdict, Participant, Study
from surveys.participation.places import release_slots

VERDICTS = GateVerdict.objects.filter(participant=OuterRef("pk")).order_by("-decision__number")
NEWEST_VERDICT = Subquery(VERDICTS.values("kept")[:1])


@dataclass(frozen=True)
class Verdict:
    """What is decided about one person; `note` says why, where it is not what the rule says."""

    kept: bool
    figures: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


class GateError(ValueError):
    """A decision that can't be taken; the message says what is missing."""


def decide_gate(
    study: Study,
    actor: str,
    verdicts: Mapping[str, Verdict],
    *,
    pilot: bool,
    rule: str,
    thresholds: Mapping[str, Any],
    reason: str,
) -> GateDecision:
    """Freeze who is kept and who is not, by pseudonym; the slots of those who are not reopen for others.

    Their annotations stay and do not count. Somebody excluded before may be kept by a later decision; their slots
    are gone by then. Raises GateError.
    """
    if not verdicts or not reason.strip() or not rule.strip():
        raise GateError("A decision needs people, the rule in words and a reason.")
    with transaction.atomic():
        people = lock_annotators(study, pilot, set(verdicts))
        last = GateDecision.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        decision = GateDecision.objects.create(
            study=study,
            number=last + 1,
            pilot=pilot,
            rule=rule.strip(),
            thresholds=dict(thresholds),
            reason=reason.strip(),
            decided_by=actor,
        )
        GateVerdict.objects.bulk_create(
            GateVerdict(decision=decision, participant=person, kept=v.kept, figures=dict(v.figures), note=v.note[:500])
            for person in people
            for v in [verdicts[person.pseudonym]]
        )
        excluded = [person for person in people if not verdicts[person.pseudonym].kept]
        reopened = release_slots(excluded)
        audit.record(
            study,
            actor,
            "annotators chosen",
            f"decision {decision.number}",
            kept=len(people) - len(excluded),
            excluded=sorted(person.pseudonym for person in excluded),
            reopened=reopened,
            reason=reason.strip(),
        )
    return decision


def lock_annotators(study: Study, pilot: bool, pseudonyms: set[str]) -> list[Participant]:
    """Person after person in one order, and before any slot, as everywhere."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one decision at a time
    found = Participant.objects.filter(study=study, pilot=pilot, pseudonym__in=pseudonyms)
    people = list(found.select_for_update(of=("self",)).order_by("pk"))
    if missing := pseudonyms - {person.pseudonym for person in people}:
        part = "the pilot" if pilot else "the main part"
        raise GateError(f"{', '.join(sorted(missing))}: no annotator of {part} of {study.slug} is called so.")
    return people


def annotators_of(study: Study, pilot: bool) -> QuerySet[Participant]:
    """Everybody who has labelled something, each with `kept` by the newest decision about them (None: none yet)."""
    people = Participant.objects.filter(study=study, pilot=pilot, annotations__isnull=False)
    return people.exclude(origin=Participant.Origin.PREVIEW).distinct().annotate(kept=NEWEST_VERDICT).order_by("id")


def kept_people(study: Study) -> QuerySet[Participant]:
    """Whom the newest decision about them keeps, of the pilot or the main part: those to invite again."""
    return Participant.objects.filter(study=study).annotate(kept=NEWEST_VERDICT).filter(kept=True).order_by("id")


def list_invited(study: Study, actor: str) -> list[str]:
    """Prolific ids of the people kept, for a participant group there; that they left the platform is recorded."""
    with transaction.atomic():
        pids = list(kept_people(study).filter(origin=Participant.Origin.PROLIFIC).values_list("pid", flat=True))
        audit.record(study, actor, "Prolific ids exported", "people kept by the gate", people=len(pids))
    return pids


def is_invited(participant: Participant) -> bool:
    """Whether the study is open to everybody, or this person was kept in the study that its people come from."""
    slug = work_for(participant).invited_from
    if not slug or participant.origin != Participant.Origin.PROLIFIC:
        return True
    before = Study.objects.filter(slug=slug).first()
    return before is not None and kept_people(before).filter(pid=participant.pid).exists()
