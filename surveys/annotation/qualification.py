"""Qualification of annotators: training, gold items, and the gate."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Max, Q

from surveys.annotation.slots import work_for
from surveys.models import Annotation, AnnotationItem, GateDecision, GateVerdict, Participant, Study
from surveys.participation.places import release_slots
from surveys.studies import audit
from surveys.studies.files.kinds import KINDS, PART, turn_back
from surveys.studies.labels import annotators_of, kept_people

Purpose, State = AnnotationItem.Purpose, Annotation.State
TRIES = 2  # of each training item, as Prolific asks of checks before the work


@dataclass(frozen=True)
class Feedback:
    """One field of a training item: the label given, the right ones, and whether it is one of them."""

    field: str
    question: str
    given: str
    right: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.given in self.right


@dataclass(frozen=True)
class Training:
    """A person's progress in training: `due` is the item to answer next, None once training is passed or failed.

    Once the wrong items come again (`is_repeated`), `total` and `answered` count these alone.
    """

    total: int
    answered: int
    right: int
    due: AnnotationItem | None
    failed: bool
    is_repeated: bool = False

    @property
    def passed(self) -> bool:
        return self.due is None and not self.failed


def training_of(participant: Participant) -> Training:
    """A person's training, read from their annotations; passed if there are no training items.

    Each item comes once. Below the pass mark, the wrong ones come once more, then the training is failed.
    """
    items = list(items_for(participant, Purpose.TRAINING))
    tries = given_by(participant, items)
    right = sum(bool(tries[item.pk]) and is_right(item, tries[item.pk][-1]) for item in items)
    enough = right * 100 >= work_for(participant).pass_mark * len(items)
    due = next((item for item in items if not tries[item.pk]), None)
    round_ = 1
    if due is None and not enough:
        due = next((i for i in items if len(tries[i.pk]) < TRIES and not is_right(i, tries[i.pk][-1])), None)
        round_ = TRIES if due else 1
    asked = [item for item in items if round_ == 1 or not is_right(item, tries[item.pk][0])]
    answered = sum(len(tries[item.pk]) >= round_ for item in asked)
    failed = due is None and not enough
    return Training(len(asked), answered, right, due, failed=failed, is_repeated=round_ > 1)


def items_for(participant: Participant, purpose: str) -> Iterable[AnnotationItem]:
    items = AnnotationItem.objects.filter(study=participant.study_id, pilot=participant.pilot, purpose=purpose)
    return items.select_related("history").defer("history__conversations").order_by("position")


def given_by(participant: Participant, items: list[AnnotationItem]) -> defaultdict[int, list[Annotation]]:
    """This person's answers by item, oldest first."""
    found: defaultdict[int, list[Annotation]] = defaultdict(list)
    rows = Annotation.objects.filter(participant=participant, item__in=items, state=State.GIVEN) if items else []
    for row in rows:
        found[row.item_id].append(row)
    return found


def gold_left(participant: Participant) -> tuple[list[AnnotationItem], int]:
    """Gold items that this person has not met yet, and how many they have; in the order of import."""
    items = list(items_for(participant, Purpose.GOLD))
    met = set(Annotation.objects.filter(participant=participant, item__in=items).values_list("item", flat=True))
    return [item for item in items if item.pk not in met], len(met)


# --- right and wrong --------------------------------------------------------


def feedback_on(item: AnnotationItem, annotation: Annotation) -> tuple[Feedback, ...]:
    """The labels of an item beside the right ones, field by field."""
    questions = {question.name: question for question in KINDS[item.kind].questions}
    found = []
    for name, right in item.gold.items():
        question = questions[name.split(PART)[0]]
        given = turn_back(question, annotation.labels.get(name, ""), annotation.left)
        found.append(Feedback(name, question.text, given, tuple(right)))
    return tuple(found)


def is_right(item: AnnotationItem, annotation: Annotation) -> bool:
    return all(field.ok for field in feedback_on(item, annotation))


def gold_scores(study: Study, *, pilot: bool = False) -> dict[int, tuple[int, int]]:
    """(right, answered) by participant over the gold items in their work; the newest answer to each counts, if any."""
    items = AnnotationItem.objects.filter(study=study, pilot=pilot, purpose=Purpose.GOLD).defer("payload").in_bulk()
    said = Annotation.objects.filter(item__in=items, participant__isnull=False).order_by("revision")
    newest = {(row.participant_id, row.item_id): row for row in said}
    scores: dict[int, tuple[int, int]] = {}
    for (person, item), annotation in newest.items():
        if annotation.state == State.GIVEN:
            right, answered = scores.get(person, (0, 0))
            scores[person] = right + is_right(items[item], annotation), answered + 1
    return scores


# --- the gate: people kept, decided once, with the rule and the reason ------


@dataclass(frozen=True)
class Verdict:
    """The decision about one person; `note` says why if it differs from the rule."""

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
    """Freeze verdicts by pseudonym; the slots of people excluded reopen for others.

    Their annotations stay and do not count. A later decision may keep a person excluded before, whose slots are gone
    by then. Raises GateError.
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
    """Lock the people in one order, and before any slot, as everywhere. Raises GateError for unknown pseudonyms."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one decision at a time
    worked = annotators_of(study, pilot).values("pk")
    found = Participant.objects.filter(Q(pilot=pilot) | Q(pk__in=worked), study=study, pseudonym__in=pseudonyms)
    people = list(found.select_for_update(of=("self",)).order_by("pk"))
    if missing := pseudonyms - {person.pseudonym for person in people}:
        part = "the pilot" if pilot else "the main study"
        raise GateError(f"{', '.join(sorted(missing))}: no annotator in {part} of {study.slug} has that name.")
    return people


def list_invited(study: Study, actor: str) -> list[str]:
    """Prolific ids of the people kept, for a participant group there; the export is recorded."""
    with transaction.atomic():
        pids = list(kept_people(study).filter(origin=Participant.Origin.PROLIFIC).values_list("pid", flat=True))
        audit.record(study, actor, "Prolific ids exported", "people kept by the gate", people=len(pids))
    return pids


def is_invited(participant: Participant) -> bool:
    """Whether the study is open to this person: to everybody, or the study that it invites from has kept them.

    If that is the study itself, only its main study asks this. People not from Prolific need no invitation.
    """
    slug = work_for(participant).invited_from
    is_pilot_of_it = participant.pilot and slug == participant.study.slug
    if not slug or is_pilot_of_it or participant.origin != Participant.Origin.PROLIFIC:
        return True
    before = Study.objects.filter(slug=slug).first()
    return before is not None and kept_people(before).filter(pid=participant.pid).exists()
