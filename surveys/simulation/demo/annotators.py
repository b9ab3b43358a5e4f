"""The demo's study of annotators: loaded, its items imported, and, where asked, made-up people who judge them."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

from surveys.annotation.items import import_items
from surveys.annotation.labels import Submission, submit
from surveys.annotation.work import admit, next_tasks, open_task, seal_task
from surveys.models import Participant, Study
from surveys.participation import recruitment
from surveys.participation.prolific import Visit
from surveys.simulation.annotators.rater import Rater, say
from surveys.studies import lifecycle
from surveys.study_files.definitions import read_study
from surveys.study_files.schema import AnnotationWork, questions_for

SLUG = "profiles"
FILES = Path(__file__).resolve().parents[2] / "studies"
ANNOTATORS = 8
# How often a made-up annotator says something else than most would.
CONTRARY = 0.18
MINUTES_BEFORE_WORK = 3  # questions, instructions, comprehension check


def load_annotation_demo(actor: str) -> Study:
    """The shipped study with its items, launched; running it again changes nothing."""
    study = Study.objects.filter(slug=SLUG).first()
    if study is None or not study.is_launched:
        study, _ = lifecycle.load_definition(read_study(FILES / f"{SLUG}.toml"), actor)
    import_items(study, FILES / f"{SLUG}-items.jsonl", actor)
    study.refresh_from_db()
    if study.state == Study.State.DRAFT:
        lifecycle.launch(study, actor)
    return Study.objects.select_related("current").get(slug=SLUG)


def annotate_demo(study: Study, seed: int, progress: Callable[[int, int], None]) -> int:
    """Made-up annotators, marked as simulated, who work to the end; returns how many there are now."""
    definition = lifecycle.definition_of(study.current_id)
    people = Participant.objects.filter(study=study, origin=Participant.Origin.SIMULATED)
    for number in range(people.count(), ANNOTATORS):
        random = Random(f"{seed} annotator {number}")
        visit = Visit(*(uuid.UUID(int=random.getrandbits(128)).hex[:24] for _ in range(3)))
        person = recruitment.give_consent(study, visit, Participant.Origin.SIMULATED)
        asked = [question for question in definition.questions if question.options]
        answers = {question.slug: random.choice(question.accept or question.options) for question in asked}
        person = admit(recruitment.screen(person, "", answers))
        if not person.has_ended:
            label_everything(person, definition.annotation, random)
        progress(number + 1, ANNOTATORS)
    return people.count()


def label_everything(person: Participant, work: AnnotationWork, random: Random) -> None:
    """Work to the end: the right answers in training, an opinion of one's own now and then in the work.

    It takes no time, so they are said to have come as much earlier as they were active.
    """
    Participant.objects.filter(pk=person.pk).update(step=Participant.Step.PROMPTS)
    person.refresh_from_db()
    rater, active = Rater(random, CONTRARY), MINUTES_BEFORE_WORK * 60_000
    while tasks := next_tasks(person):
        task = tasks[0]
        shown = open_task(person, seal_task(person, task))
        labels = say(task.item, questions_for(work), rater, task.left)
        milliseconds = random.randint(4_000, 40_000)
        submit(person, shown, Submission(labels, active_ms=milliseconds))
        active += milliseconds
    came = person.consented_at - timedelta(milliseconds=active)
    Participant.objects.filter(pk=person.pk).update(consented_at=came)
    recruitment.complete(person)
