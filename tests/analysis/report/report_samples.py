"""A handful of answers to the study of teas, few enough to work out every number by hand."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.models import Completion, Run, SimulatedUser
from analysis.report.filters import Filters
from analysis.report.reports import report
from surveys.models import BenchmarkItem, ChatbotContext, Participant, Study
from surveys.participation import recruitment
from surveys.studies.lifecycle import prompts_of
from tests.analysis.runs.baseline_factories import make_call, make_endpoint, make_run
from tests.factories import advance, make_participant, make_response, make_study, pass_attention

NOTHING = "I would rather not say."


def tell(
    study: Study, teas: Sequence[str], letter: str = "C", *, chatbot: str = "chatgpt", cell: str = "", **context: str
) -> Participant:
    """A person whose chatbot named these teas and this letter; an empty value is a text in which nothing is found."""
    person = make_participant(study, chatbot=chatbot, cell=cell)
    ChatbotContext.objects.filter(participant=person).update(**context)
    make_response(person, "teas", text=listed(teas), keep=True)
    make_response(person, "water", text=letter or NOTHING, keep=True)
    return recruitment.complete(advance(pass_attention(person), Participant.Step.DEBRIEF))


def listed(teas: Sequence[str]) -> str:
    return "\n".join(f"{place}. {tea}" for place, tea in enumerate(teas, 1)) or NOTHING


def make_model_run(study: Study, condition: str = "offline", model: str = "gpt-4o-mini", **changes: Any) -> Run:
    endpoint = make_endpoint(model=model, provider=changes.pop("provider", "openai"))
    return make_run(condition, study, endpoint=endpoint, **changes)


def reply(run: Run, prompt: str, text: str, repeat: int = 0, **changes: Any) -> Completion:
    done = {"status": "done", "reply": text, "done_at": timezone.now()} | changes
    return make_call(run, prompts_of(run.version_id)[prompt], repeat=repeat, **done)


def answer_items(run: Run, letters: Sequence[str], repeat: int = 0, user: SimulatedUser | None = None) -> None:
    """Give one run's replies to the items in order: "-" has no letter, "x" is a failed call, "." a pending one."""
    for item, letter in zip(BenchmarkItem.objects.order_by("pk"), letters, strict=True):
        status = {"x": "failed", ".": "pending"}.get(letter, "done")
        reply = "I cannot say." if letter == "-" else letter
        make_call(run, item, user, repeat, status=status, reply=reply, done_at=timezone.now())


def make_teas(places: int = 20, **changes: Any) -> Study:
    """Four people with ChatGPT and six offline answers of gpt-4o-mini.

    teas: three people name Assam, two of them Sencha and one Oolong, the fourth nothing; offline always names Assam and
    Sencha. water (the answer is C): C, C, A and nothing; offline five times C and once nothing.
    """
    study = make_study(places=places, **changes)
    tell(study, ["Assam", "Sencha"], "C")
    tell(study, ["Assam", "Oolong"], "C")
    tell(study, ["Assam", "Sencha"], "A")
    tell(study, [], "")
    run = make_model_run(study)
    for repeat in range(6):
        reply(run, "teas", listed(["Assam", "Sencha"]), repeat)
        reply(run, "water", "C" if repeat else NOTHING, repeat)
    read_new(study)
    return study


FEW = 200  # draws: the checks do not depend on them


def rows_of(study: Study, part: str, filters: Filters | None = None, **wanted: Any) -> list[dict[str, Any]]:
    read_new(study)
    rows = report(study, filters, draws=FEW, parts=[part])[part]
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def one(study: Study, part: str, filters: Filters | None = None, **wanted: Any) -> dict[str, Any]:
    (row,) = rows_of(study, part, filters, **wanted)
    return row
