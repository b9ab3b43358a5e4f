"""Plain builders for tests; people and answers come about by the same rules as in the field."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser

from surveys.annotation import items
from surveys.annotation.labels import LabelOutcome, LabelSubmission, submit
from surveys.annotation.work import AnnotationTask, next_tasks, open_task, seal_task
from surveys.models import AnnotationItem, ChatbotContext, Membership, Participant, Prompt, Response, Slot, Study
from surveys.participation import recruitment
from surveys.participation.pasting import capture
from surveys.participation.prolific import Visit
from surveys.studies import lifecycle
from surveys.studies.files.definitions import Definition, read_study
from surveys.studies.files.hypotheses import Hypothesis
from surveys.studies.files.kinds import KINDS, fields_of
from surveys.studies.files.schema import AnnotationWork, CellDefinition, ChatbotQuestion, Question
from tests.surveys.studies.files.sample_study import SAMPLES

State, Step = Participant.State, Participant.Step
NUMBERS = count(1)
PROLIFIC_STUDY = f"{0xDE30:024x}"
STARTS = {
    "draft": (),
    "pilot": (lifecycle.start_pilot,),
    "live": (lifecycle.launch,),
    "paused": (lifecycle.launch, lifecycle.pause),
    "closed": (lifecycle.launch, lifecycle.close),
}
WAYS_OUT = (State.RETURNED, State.TECHNICAL, State.MISUNDERSTOOD)


@cache
def read_teas() -> Definition:
    return read_study(SAMPLES / "teas.toml")


def make_definition(places: int | None = None, **changes: Any) -> Definition:
    """The small study of teas (two chatbots, two cells, two prompts) with fields replaced."""
    definition = replace(read_teas(), **changes)
    if places is None:
        return definition
    return replace(definition, cells=tuple(replace(cell, places=places) for cell in definition.cells))


def make_study(state: str = "live", definition: Definition | None = None, **changes: Any) -> Study:
    """A study in this state with `places` in each cell; other changes are fields of the definition."""
    study, _ = lifecycle.load_definition(definition or make_definition(**changes), "tests")
    for step in STARTS[state]:
        study.refresh_from_db()
        step(study, "tests")
    return Study.objects.select_related("current").get(pk=study.pk)


def definition_of(study: Study) -> Definition:
    return lifecycle.definition_of(study.current_id)


def make_visit(number: int | None = None, **changes: str) -> Visit:
    """The three ids of person `number` or, without one, of somebody new."""
    number = next(NUMBERS) if number is None else number
    visit = Visit(f"{number:024x}", PROLIFIC_STUDY, f"5e{number:022x}")
    return replace(visit, **changes)


def fitting_answers(definition: Definition, cell: str = "", **changes: str) -> dict[str, str]:
    """All answers of somebody who may take part and belongs to `cell` (default: the first)."""
    where = next(part.where for part in definition.cells if part.slug == cell or not cell)
    return {question.slug: _answer(question, where) for question in definition.questions} | changes


def _answer(question: Question, where: Mapping[str, tuple[str, ...]]) -> str:
    offered = where.get(question.slug) or question.accept or question.options
    return offered[0] if offered else "1"


def make_participant(
    study: Study | None = None,
    at: str = Step.PROMPTS,
    *,
    chatbot: str = "chatgpt",
    cell: str = "",
    visit: Visit | None = None,
    answers: Mapping[str, str] | None = None,
    **consent: Any,
) -> Participant:
    """A participant who has reached `at`: a step, or the state in which their part ended.

    `consent` is passed to `give_consent`: `origin`, `language`.
    """
    study = study or make_study()
    participant = recruitment.give_consent(study, visit or make_visit(), **consent)
    if at == Step.QUESTIONS:
        return participant
    given = fitting_answers(definition_of(study), cell) if answers is None else answers
    participant = recruitment.screen(participant, chatbot, given)
    if at in WAYS_OUT:
        return recruitment.stop(participant, at, "made by a test")
    if participant.has_ended or at == Step.INSTRUCTIONS:
        return participant
    if at in (Step.BACKGROUND, Step.COMPREHENSION):
        return advance(participant, at)
    return finish(participant) if at in (State.COMPLETED, Step.END) else reach(participant, at)


def reach(participant: Participant, step: str) -> Participant:
    """Go on from the instructions to the context, the prompts or, with everything answered, the debrief."""
    advance(participant, Step.CONTEXT)
    if step == Step.CONTEXT:
        return participant
    make_context(participant)
    advance(participant, Step.PROMPTS)
    if step == Step.DEBRIEF:
        answer_all(participant)
        pass_attention(participant)
    return participant


def pass_attention(participant: Participant) -> Participant:
    """Answer every attention check correctly, stored as the page stores it."""
    checks = lifecycle.definition_of(participant.version_id).attention
    noted = {check.slug: {"answer": check.answer, "passed": True} for check in checks}
    participant.checks = {**participant.checks, "attention": noted}
    participant.save(update_fields=["checks"])
    return participant


def advance(participant: Participant, step: str) -> Participant:
    participant.step = step
    participant.save(update_fields=["step"])
    return participant


def finish(participant: Participant) -> Participant:
    return recruitment.complete(reach(participant, Step.DEBRIEF))


def make_context(participant: Participant, **changes: str) -> ChatbotContext:
    chatbot = participant.cell.chatbot if participant.cell else "chatgpt"
    given = {
        "product": chatbot,
        "model_shown": "GPT-4o mini",
        "plan": "free",
        "memory": "on",
        "personalisation": "off",
        "chat": "new",
        "chat_language": "English",
        "device": "computer",
    }
    return ChatbotContext.objects.create(participant=participant, **given | changes)


def prompt_of(participant: Participant, prompt: str | int | Prompt = 0) -> Prompt:
    """A prompt, by slug or by position in the participant's own order (from 0)."""
    if isinstance(prompt, Prompt):
        return prompt
    slug = participant.order[prompt] if isinstance(prompt, int) else prompt
    return lifecycle.prompts_of(participant.version_id)[slug]


def answer_text(prompt: Prompt, number: int = 0) -> str:
    """An answer that no paste check asks about; another number gives another text."""
    if prompt.kind == "choice":
        return f"{'ABCDEFGH'[number % len(prompt.choices)]}"
    # Short enough that two people may have it in common (capture.SHORTEST_COPY), however high ids have climbed.
    own = prompt.position  # nobody gives one answer to two prompts
    return "\n".join(f"{place}. Kite {number % 100} {own}{place}" for place in range(1, (prompt.items or 5) + 1))


def make_response(
    participant: Participant, prompt: str | int | Prompt = 0, text: str | None = None, **changes: Any
) -> Response:
    """Submit one revision; `changes` are fields of the submission, such as `keep=True` or `privacy="keep"`."""
    asked = prompt_of(participant, prompt)
    words = answer_text(asked, participant.pk) if text is None else text
    outcome = capture.submit_paste(participant, capture.PasteSubmission(asked, words, **changes))
    if outcome.personal:
        raise ValueError(f"The text holds personal details {outcome.personal}: give `privacy` too.")
    return participant.responses.get(prompt=asked, revision=outcome.revision)


def answer_all(participant: Participant) -> list[Response]:
    return [make_response(participant, slug) for slug in participant.order]


def make_account(name: str = "researcher", study: Study | None = None, role: str = "", **changes: Any) -> AbstractUser:
    """An account with the password `password`, and a role in the study if both are given."""
    account = get_user_model().objects.create_user(name, password="password", **changes)
    if study and role:
        Membership.objects.create(study=study, user=account, role=role)
    return account


# --- annotation -------------------------------------------------------------


def make_work(**changes: Any) -> AnnotationWork:
    """Annotation work: relevance, three labels an item, at most ten items a person."""
    work = AnnotationWork(
        kind="relevance",
        overlap=3,
        quota=10,
        least=1,
        block="shuffled",
        hold_minutes=10,
        pass_mark=70,
        gold_every=10,
        invited_from="",
        guidelines_version="1",
        guidelines="Say yes when the response would change.",
    )
    return replace(work, **changes)


def make_annotation_study(
    state: str = "live",
    slug: str = "teas",
    places: int = 50,
    hypotheses: tuple[Hypothesis, ...] = (),
    items: int = 0,
    **work: Any,
) -> Study:
    """An annotation study in this state with this many items; `work` changes the annotation work."""
    cell = CellDefinition("annotators", "Annotators", {}, places)
    definition = replace(
        make_definition(slug=slug),
        chatbots=(),
        chatbot_question=ChatbotQuestion("", "", ""),
        questions=(),
        cells=(cell,),
        attention=(),
        exclusions=(),
        prompts=(),
        annotation=make_work(**work),
        hypotheses=hypotheses,
    )
    study = make_study(state, definition)
    if items:
        make_items(study, items)
    return study


def item_of(number: int, kind: str = "relevance", **changes: Any) -> dict[str, Any]:
    """An item as in a file; `changes` replace or add keys, and remove those that are None."""
    item = {"key": f"item-{number}", **(ITEMS[kind](number) if kind in ITEMS else KINDS[kind].sample), **changes}
    return {name: value for name, value in item.items() if value is not None}


ITEMS: dict[str, Callable[[int], dict[str, Any]]] = {
    "relevance": lambda number: {"attribute": f"Has {number} cups.", "prompt": "Which tea is best?"},
    "attribute": lambda number: {
        "cluster": f"user-{number // 4}",
        "attribute": f"Drinks tea number {number}.",
        "evidence": ["I like tea"],
        "history": [{"title": "May", "turns": [{"role": "user", "text": f"I like tea, said {number // 4}."}]}],
    },
    "preference": lambda number: {
        "prompt": f"Which tea suits me on day {number}?",
        "profile": ["Drinks no milk.", "Is on a budget."],
        "attributes": [{"id": "milk", "text": "Drinks no milk."}, {"id": "budget", "text": "Is on a budget."}],
        "generic": "Assam.",
        "personalised": "Assam, without milk.",
    },
    "error": lambda number: ITEMS["attribute"](number),
}


def make_items(
    study: Study, count: int = 5, start: int = 0, pilot: bool = False, **changes: Any
) -> list[AnnotationItem]:
    """Add items of the study's kind, numbered from `start`."""
    kind = definition_of(study).annotation.kind
    new = [item_of(number, kind, **changes) for number in range(start, start + count)]
    items.push_items(study, new, "tests", pilot=pilot)
    found = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=[item["key"] for item in new])
    return list(found.order_by("position"))


def make_annotator(study: Study, at: str = Step.PROMPTS, **consent: Any) -> Participant:
    """An annotator who has reached `at`."""
    participant = recruitment.give_consent(study, make_visit(), **consent)
    participant = recruitment.screen(participant, "", {})
    return finish_annotating(participant) if at == State.COMPLETED else advance(participant, at)


def finish_annotating(participant: Participant) -> Participant:
    return recruitment.complete(advance(participant, Step.DEBRIEF))


LABELS = {
    "relevance": {"relevance": "yes"},
    "attribute": {"quality": "yes"},
    "preference": {"preference/milk": "4", "preference/budget": "3"},
    "error": {"error": "overgeneralisation"},
}


def labels_for(item: AnnotationItem) -> dict[str, str]:
    fields = fields_of(KINDS[item.kind].questions, item.payload)
    return LABELS.get(item.kind) or {name: question.values[0] for name, question in fields.items() if question.values}


def tasks_of(participant: Participant) -> Iterator[AnnotationTask]:
    """Every task that comes to this person, who holds many at a time and does each before the next."""
    while tasks := next_tasks(participant, 50):
        yield from tasks


def annotate(participant: Participant, task: AnnotationTask | None = None, **labels: str) -> LabelOutcome | None:
    """Label a task, by default the next one, as the page does; None if there is none left."""
    task = task or next(iter(next_tasks(participant)), None)
    if task is None:
        return None
    shown = open_task(participant, seal_task(participant, task))
    given = {name.replace("__", "/"): value for name, value in labels.items()}
    return submit(participant, shown, LabelSubmission(given or labels_for(task.item)))


def is_surplus(outcome: LabelOutcome) -> bool:
    """Whether a label was kept though its item had enough: the person holds no slot of it."""
    told = outcome.annotation
    return not Slot.objects.filter(item=told.item, participant=told.participant, done_at__isnull=False).exists()
