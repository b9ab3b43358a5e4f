"""The steps of a participant or annotator: the current page, the next one, and the way so far."""

from collections.abc import Set
from functools import lru_cache
from itertools import pairwise

from django.urls import get_script_prefix, reverse

from surveys.models import ChatbotContext, Participant, Response
from surveys.participation.statements import standing_of
from surveys.studies.access import sign_link
from surveys.studies.files.definitions import Definition
from surveys.studies.files.schema import AttentionCheck
from surveys.studies.lifecycle import definition_of

Step = Participant.Step
STEPS = list(Step.values)
URL_NAMES = {
    Step.QUESTIONS: "questions",
    Step.BACKGROUND: "background",
    Step.INSTRUCTIONS: "instructions",
    Step.COMPREHENSION: "comprehension",
    Step.CONTEXT: "context",
    Step.DEBRIEF: "debrief",
    Step.END: "end",
}
PAGED = (Step.QUESTIONS, Step.BACKGROUND)
MOST_QUESTIONS = 5  # on one page


def address(participant: Participant, name: str, *args: object) -> str:
    """The participant's own address of a page."""
    definition = definition_of(participant.version_id)
    before, after = address_around(get_script_prefix(), f"{area_of(definition)}:{name}", definition.slug, args)
    return f"{before}{sign_link(definition.slug, participant.pseudonym)}{after}"


@lru_cache(maxsize=4096)
def address_around(prefix: str, name: str, slug: str, args: tuple[object, ...]) -> tuple[str, str]:
    """The address before and after the link, cached: Django would build it anew for everybody."""
    before, _, after = reverse(name, args=[slug, "~", *args]).partition("~")
    return before, after


def area_of(definition: Definition) -> str:
    """The namespace of a study's addresses: `/s/…` for people who paste answers, `/a/…` for annotators."""
    return "annotation" if definition.annotation else "survey"


def first_work(definition: Definition) -> str:
    """The step after the checks; annotators have no chatbot to ask about."""
    return Step.PROMPTS if definition.annotation or definition.settings_later else Step.CONTEXT


def is_settings_due(participant: Participant, definition: Definition) -> bool:
    """Whether a person who has answered a prompt is now asked for the chatbot's settings."""
    return definition.settings_later and not has_settings(participant)


def has_settings(participant: Participant) -> bool:
    if standing := standing_of(participant):
        return standing.has_settings
    return ChatbotContext.objects.filter(participant=participant).exists()


def way_step(step: str, definition: Definition) -> str:
    """The step that a page belongs to; pages between prompts belong to the prompts."""
    between = step.startswith(("attention:", "prompt:", "perception"))
    return Step.PROMPTS if between or (step == Step.CONTEXT and definition.settings_later) else step


def question_pages(definition: Definition, step: str) -> list[list[str]]:
    """The questions of each page of this step, by slug; `chatbot` is the one for the chatbot.

    Those that decide who takes part come first; if not all fit on one page, the others are asked after the decision.
    """
    deciding = ["chatbot"] if definition.chatbots else []
    deciding += [question.slug for question in definition.questions if question.purpose != "background"]
    others = [question.slug for question in definition.questions if question.purpose == "background"]
    if len(deciding) + len(others) <= MOST_QUESTIONS or not deciding:
        deciding, others = deciding + others, []
    return split(deciding) or [[]] if step == Step.QUESTIONS else split(others)


def split(questions: list[str]) -> list[list[str]]:
    """Split questions over as few pages as possible, as evenly as possible."""
    pages = -(-len(questions) // MOST_QUESTIONS)
    ends = [round(len(questions) * page / pages) for page in range(pages + 1)] if pages else []
    return [questions[start:end] for start, end in pairwise(ends)]


def open_page(participant: Participant, definition: Definition, step: str) -> int:
    """The number of the first page with an unanswered question; 0 if there is none."""
    pages = question_pages(definition, step)
    return next((n for n, asked in enumerate(pages, 1) if not {*asked} <= participant.answers.keys()), 0)


def page_name(step: str, page: int) -> str:
    """The name of a page of questions, for its draft and its place among the steps."""
    return step if page == 1 else f"{step}:{page}"


def way_of(definition: Definition) -> list[str]:
    """Names of the steps from consent to the last page; each page of questions is one."""
    pages = [page_name(step, n + 1) for step in PAGED for n in range(len(question_pages(definition, step)))]
    left_out = {*PAGED, Step.END, *([] if definition.comprehension else [Step.COMPREHENSION])}
    left_out |= {Step.CONTEXT} if first_work(definition) == Step.PROMPTS else set()
    return ["consent", *pages, *(step for step in STEPS if step not in left_out)]


def place_of(step: str, definition: Definition) -> tuple[int, int] | None:
    """The number of a page's step and of all steps; None for pages outside the steps."""
    way, step = way_of(definition), way_step(step, definition)
    return (way.index(step) + 1, len(way)) if step in way else None


def walked(step: str, definition: Definition, answered: int = 0, asked: int = 0) -> tuple[int, int] | None:
    """How much lies behind a step, of how much, with the questions between prompts; None for pages outside the steps.

    `asked` is how many prompts the person has; 0 (their order is not drawn yet) means the most that anybody has. A
    prompt counts as much as two other steps, and the figure in moving dots as one.
    """
    asked = asked or definition.most_asked
    way, prompts, figure_after = way_of(definition), 2 * asked, perception_after(definition, asked)
    has_seen = figure_after and (step == Step.DEBRIEF or (step.startswith("prompt") and answered >= figure_after))
    step = way_step(step, definition)
    if step not in way:
        return None
    done = way.index(step) + (prompts - 1 if step == Step.DEBRIEF else 0) + 2 * answered + bool(has_seen)
    return done, len(way) - 1 + prompts + bool(figure_after)


def minutes_for(definition: Definition, asked: int) -> float:
    """Minutes for a person with `asked` prompts; the study's own minutes are for the most that anybody has."""
    (_, own), (_, most) = (walked("consent", definition, 0, prompts) or (0, 1) for prompts in (asked, 0))
    return definition.minutes * own / most


def minutes_left(step: str, definition: Definition, answered: int = 0, asked: int = 0) -> int:
    done, total = walked(step, definition, answered, asked) or (0, 1)
    return max(1, round(minutes_for(definition, asked) * (1 - done / total)))


def has_reached(participant: Participant, step: str) -> bool:
    return STEPS.index(participant.step) >= STEPS.index(step)


def answered_slugs(participant: Participant) -> Set[str]:
    if standing := standing_of(participant):
        return standing.answered
    accepted = Response.objects.filter(participant=participant, accepted=True)
    return set(accepted.values_list("prompt__slug", flat=True))


def due_attention(participant: Participant, definition: Definition, answered: int) -> AttentionCheck | None:
    """The first unanswered attention check due after this many answered prompts."""
    given = participant.checks.get("attention", {})
    due = [check for check in definition.attention if check.after <= answered and check.slug not in given]
    return due[0] if due else None


def perception_after(definition: Definition, asked: int) -> int:
    """After how many of a person's prompts the figure in moving dots comes; 0 in a study without one."""
    return (definition.perception.after or asked) if definition.perception else 0


def current_page(participant: Participant, definition: Definition) -> str:
    """The address of the page where this person goes on."""
    if participant.has_ended:
        return address(participant, "end")
    if participant.step == Step.PROMPTS:
        return address(participant, "work") if definition.annotation else next_prompt(participant, definition)
    page = open_page(participant, definition, participant.step) if participant.step in PAGED else 0
    return address(participant, URL_NAMES[Step(participant.step)], *([page] if page > 1 else []))


def next_prompt(participant: Participant, definition: Definition) -> str:
    """The address of the first prompt without an accepted answer, or of a page due before it, or of the last page."""
    answered = answered_slugs(participant)
    if answered and is_settings_due(participant, definition):
        return address(participant, "context")
    left = [number for number, slug in enumerate(participant.order, 1) if slug not in answered]
    reached = left[0] - 1 if left else len(participant.order)
    check = due_attention(participant, definition, reached)
    if check:
        return address(participant, "attention", check.slug)
    figure_after = perception_after(definition, len(participant.order))
    if figure_after and figure_after <= reached and "perception" not in participant.checks:
        return address(participant, "perception")
    return address(participant, "prompt", left[0]) if left else address(participant, "debrief")


def after_prompt(participant: Participant, definition: Definition, number: int) -> str:
    """Where Continue leads from a prompt: on in the order, even if the person went back to correct an answer."""
    # Only after the first answer, to spare the others a query; the last page asks again.
    if definition.settings_later and len(answered_slugs(participant)) == 1 and is_settings_due(participant, definition):
        return address(participant, "context")
    check = due_attention(participant, definition, number)
    if check and check.after == number:
        return address(participant, "attention", check.slug)
    if number == perception_after(definition, len(participant.order)) and "perception" not in participant.checks:
        return address(participant, "perception")
    if number < len(participant.order):
        return address(participant, "prompt", number + 1)
    return next_prompt(participant, definition)
