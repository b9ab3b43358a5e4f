"""Training before the work and gold items within it: right labels, feedback, and when somebody has learnt enough."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from surveys.annotation.slots import work_for
from surveys.models import Annotation, AnnotationItem, Participant, Study
from surveys.study_files.kinds import KINDS, PART, turn_back

Purpose, State = AnnotationItem.Purpose, Annotation.State
TRIES = 2  # of each training item, as Prolific asks of checks before the work


@dataclass(frozen=True)
class Feedback:
    """One field of a training item: what was said, what is right, and whether it is."""

    field: str
    question: str
    given: str
    right: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.given in self.right


@dataclass(frozen=True)
class Training:
    """How far somebody has come: `due` is the training item to answer next, None when it is passed or failed."""

    total: int
    answered: int
    right: int
    due: AnnotationItem | None
    failed: bool

    @property
    def passed(self) -> bool:
        return self.due is None and not self.failed


def training_of(participant: Participant) -> Training:
    """Read from the annotations. Each item once; below the pass mark the wrong ones once more, then it is failed.

    Without training items it is passed.
    """
    items = list(items_for(participant, Purpose.TRAINING))
    tries = given_by(participant, items)
    right = sum(bool(tries[item.pk]) and is_right(item, tries[item.pk][-1]) for item in items)
    enough = right * 100 >= work_for(participant).pass_mark * len(items)
    due = next((item for item in items if not tries[item.pk]), None)
    if due is None and not enough:
        due = next((i for i in items if len(tries[i.pk]) < TRIES and not is_right(i, tries[i.pk][-1])), None)
    answered = sum(bool(tries[item.pk]) for item in items)
    return Training(len(items), answered, right, due, failed=due is None and not enough)


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
    """What was right and wrong about the labels of an item whose right labels are known."""
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
    """By participant (right, answered) of the gold items mixed into their work; the newest answer to each, if any."""
    items = AnnotationItem.objects.filter(study=study, pilot=pilot, purpose=Purpose.GOLD).defer("payload").in_bulk()
    said = Annotation.objects.filter(item__in=items, participant__isnull=False).order_by("revision")
    newest = {(row.participant_id, row.item_id): row for row in said}
    scores: dict[int, tuple[int, int]] = {}
    for (person, item), annotation in newest.items():
        if annotation.state == State.GIVEN:
            right, answered = scores.get(person, (0, 0))
            scores[person] = right + is_right(items[item], annotation), answered + 1
    return scores
