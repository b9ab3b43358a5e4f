"""The demo: the shipped studies, a log-in and simulated people, built by the rules for real ones."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db import transaction

from surveys.annotation.items import import_items
from surveys.annotation.labels import LabelSubmission, submit
from surveys.annotation.work import admit, next_tasks, open_task, seal_task
from surveys.models import ChatbotContext, Membership, Participant, Study
from surveys.participation import recruitment
from surveys.participation.pasting import capture
from surveys.participation.pasting.read_back import UNREACHED, ReadReply, read_reply
from surveys.participation.prolific import Visit
from surveys.participation.steps import answered_slugs, minutes_for
from surveys.simulation.annotating import Rater, draw_labels
from surveys.simulation.answering import rate, reply_to_reading
from surveys.simulation.answers import Taste, write_lifelike
from surveys.simulation.people import Person, first_answers, make_people
from surveys.studies import lifecycle
from surveys.studies.access import let_make_studies
from surveys.studies.files.definitions import Definition, read_study
from surveys.studies.files.schema import AnnotationWork, AttentionCheck, settings_asked
from surveys.studies.labels import questions_for
from surveys.studies.members import let_invite

USERNAME = "demo"
PASSWORD = "field-study-demo"
FILES = Path(__file__).resolve().parents[1] / "studies"
ACTOR = "demo"
SMALL, LARGE = "demo", "field-13"
# Share of the large study's people who come, by stage; `empty` leaves it a draft. Half of them are enough to compare
# with models, which the stage `analysed` adds. `people` adds a corpus and conclusions from it.
STAGES = {"empty": 0.0, "recruiting": 0.45, "collected": 1.0, "annotated": 0.45, "analysed": 0.5, "people": 0.5}
# In these stages, simulated annotators have judged the items of `profiles`.
JUDGED = ("annotated", "analysed", "people")
# In these stages, models have answered, and people of `demo` too.
COMPARED = ("analysed", "people")
# How far a person's own chatbot is from everybody's, by whether it remembers earlier chats.
SPREAD = {"on": 0.95, "off": 0.6, "unknown": 0.75}
SKEW = 0.95
# Of a hundred people, how many fail both attention checks, and how many type instead of pasting.
INATTENTIVE, TYPING = 3, 2

Step = Participant.Step


class NotADemo(Exception):
    """The demo has a known password, so it is refused where real people could reach it."""


def build_demo(stage: str = "empty", seed: int = 1, progress: Callable[[int, int], None] | None = None) -> Study:
    """Build the three shipped studies and the demo account; `demo` and `profiles` are live and wait for you.

    From the stage `recruiting` on, `field-13` is launched and has people marked as simulated. All have finished in
    `collected` (at every place) and from `analysed` on (at half of them); otherwise some still work. From `analysed`
    on, people who are asked one prompt twice also take half of `demo`'s places. Running it again adds nobody.
    """
    if not settings.DEBUG:
        raise NotADemo("The demo has a published password. It runs with DEBUG=true only; make an owner instead.")
    with transaction.atomic():
        user = demo_user()
        for slug in (SMALL, LARGE):
            study = shipped_study(slug)
            Membership.objects.get_or_create(study=study, user=user, defaults={"role": Membership.Role.OWNER})
        study = open_study(SMALL)
        import_items(shipped_study(PROFILES), FILES / f"{PROFILES}-items.jsonl", ACTOR)
        profiles = open_study(PROFILES)
        Membership.objects.get_or_create(study=profiles, user=user, defaults={"role": Membership.Role.OWNER})
    show = progress or (lambda done, total: None)
    if STAGES[stage]:
        fill(open_study(LARGE), STAGES[stage], seed, show, all_finish=stage in ("collected", "analysed", "people"))
    if stage in COMPARED:
        fill(study, STAGES[stage], seed, show, all_finish=True)
    if stage in JUDGED:
        annotate_demo(profiles, seed, show)
    return study


def demo_user() -> AbstractUser:
    user, created = get_user_model().objects.get_or_create(username=USERNAME)
    if created:
        user.set_password(PASSWORD)
        user.save()
        let_make_studies(user)
        let_invite(user)
    return user


def shipped_study(slug: str) -> Study:
    """The study of a shipped file; one that is launched already stays as it was launched."""
    study = Study.objects.filter(slug=slug).first()
    if study is None or not study.is_launched:
        study, _ = lifecycle.load_definition(read_study(FILES / f"{slug}.toml"), ACTOR)
    return study


def open_study(slug: str) -> Study:
    study = Study.objects.get(slug=slug)
    if study.state == Study.State.DRAFT:
        lifecycle.launch(study, ACTOR)
    return Study.objects.select_related("current").get(slug=slug)


def fill(study: Study, share: float, seed: int, progress: Callable[[int, int], None], all_finish: bool = False) -> None:
    """Add simulated people for this share of the places; unless all are to finish, every seventh still works."""
    definition = lifecycle.definition_of(study.current_id)
    wanted = round(definition.planned_people * share)
    there = study.participants.filter(origin=Participant.Origin.SIMULATED).count()
    people = make_people(definition, wanted, faults=False, seed=seed)[there:]
    for number, person in enumerate(people, there + 1):
        with transaction.atomic():
            take_part(study, definition, person, finishes=all_finish or number % 7 != 0)
        progress(number, wanted)


def take_part(study: Study, definition: Definition, person: Person, finishes: bool) -> Participant:
    participant = recruitment.give_consent(study, person.visit(), Participant.Origin.SIMULATED)
    given = {name.removeprefix("q-"): answer for name, answer in first_answers(definition, person)}
    participant = recruitment.screen(participant, given.pop("chatbot"), given)
    if participant.has_ended:
        return participant
    context = describe_chatbot(participant, person.rng)
    # They take no time here, so they are given some; otherwise the monitor would show thousands of dollars an hour.
    minutes = minutes_for(definition, len(participant.order)) * person.rng.lognormvariate(0, 0.3)
    came = participant.consented_at - timedelta(minutes=minutes)
    Participant.objects.filter(pk=participant.pk).update(
        step=Step.PROMPTS, checks=answered_checks(definition, person.rng), consented_at=came
    )
    participant.refresh_from_db()
    taste = Taste(participant.cell.chatbot, SKEW, SPREAD[context.memory], participant.pseudonym, participant.cell.slug)
    count = len(participant.order) if finishes else person.stops_at - 1
    answer_prompts(participant, person, taste, count)
    return recruitment.complete(participant) if finishes else participant


def describe_chatbot(participant: Participant, rng: Random) -> ChatbotContext:
    definition = lifecycle.definition_of(participant.version_id)
    bot = next(bot for bot in definition.chatbots if bot.slug == participant.cell.chatbot)
    drawn = {
        "plan": rng.choice(("free", "free", "free", "paid")),
        "memory": rng.choice(("on", "on", "off", "unknown")),
        "personalisation": rng.choice(("on", "off", "off", "unknown")),
    }
    return ChatbotContext.objects.create(
        participant=participant,
        product=bot.slug,
        model_shown=bot.model,
        **drawn | settings_asked(definition.questions, participant.answers),
        chat="new",
        chat_language="English",
        device=rng.choice(("computer", "computer", "phone")),
    )


def answered_checks(definition: Definition, rng: Random) -> dict[str, object]:
    fails = rng.randrange(100) < INATTENTIVE
    attention = {
        check.slug: {"answer": wrong_option(check) if fails else check.answer, "passed": not fails}
        for check in definition.attention
    }
    understood = {check.slug: check.answer for check in definition.comprehension}
    return {"attention": attention, "comprehension": [understood]} if definition.comprehension else {}


def wrong_option(check: AttentionCheck) -> str:
    return next(option for option in check.options if option not in (check.answer, *check.also))


def answer_prompts(participant: Participant, person: Person, taste: Taste, count: int) -> None:
    """Answer prompts; in an arm that they can reach, people get the answers of those without a memory."""
    prompts, answered, rng = lifecycle.prompts_of(participant.version_id), answered_slugs(participant), person.rng
    rating, types = lifecycle.definition_of(participant.version_id).rating, rng.randrange(100) < TYPING
    asked = [prompts[slug] for slug in participant.order[:count] if slug not in answered]
    forgetful = replace(taste, spread=SPREAD["off"])
    texts = [write_lifelike(prompt, rng, forgetful if prompt.arm else taste) for prompt in asked]
    for prompt, text in zip(asked, texts, strict=True):
        if prompt.arm in person.cannot_reach:
            capture.submit_paste(participant, capture.PasteSubmission(prompt, "", reply=ReadReply(no_answer=UNREACHED)))
            continue
        reply = read_reply(reply_to_reading(prompt, text, rng))
        evidence = evidence_of(text, types)
        rated = rate(rng) if rating and rating.is_asked_of(prompt.base) else ""
        submission = capture.PasteSubmission(prompt, text, evidence=evidence, keep=True, reply=reply, rating=rated)
        capture.submit_paste(participant, submission)


def evidence_of(text: str, types: bool) -> dict[str, object]:
    """The evidence that the page would have noted for pasting, or for typing."""
    entered = {"typed": len(text), "pasted": 0} if types else {"typed": 0, "pasted": len(text)}
    return {"observed": True, **entered, "share_pasted": 0.0 if types else 1.0, "edited_after": types}


# --- the study of annotators: its items and its people ----------------------


PROFILES = "profiles"
ANNOTATORS = 8
# Share of a simulated annotator's labels that are drawn at random.
CONTRARY = 0.18
MINUTES_BEFORE_WORK = 3  # questions, instructions, comprehension check


def annotate_demo(study: Study, seed: int, progress: Callable[[int, int], None]) -> int:
    """Add annotators, marked as simulated, who work to the end; return how many there are now."""
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
    """Work to the end: right answers in training, an opinion of one's own now and then in the work.

    This takes no time, so their arrival is moved back by as long as they were active.
    """
    Participant.objects.filter(pk=person.pk).update(step=Participant.Step.PROMPTS)
    person.refresh_from_db()
    rater, active = Rater(random, CONTRARY), MINUTES_BEFORE_WORK * 60_000
    while tasks := next_tasks(person):
        task = tasks[0]
        shown = open_task(person, seal_task(person, task))
        labels = draw_labels(task.item, questions_for(work), rater, task.left)
        milliseconds = random.randint(4_000, 40_000)
        submit(person, shown, LabelSubmission(labels, active_ms=milliseconds))
        active += milliseconds
    came = person.consented_at - timedelta(milliseconds=active)
    Participant.objects.filter(pk=person.pk).update(consented_at=came)
    recruitment.complete(person)
