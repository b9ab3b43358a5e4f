"""A study whose people are each asked some of twenty sums, and runs that are asked all of them."""

from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.models import Completion, Run
from surveys.models import BenchmarkItem, Participant, Study
from surveys.participation import recruitment
from surveys.studies.files.matrix import Matrix
from tests.analysis.report.report_samples import make_model_run
from tests.analysis.runs.baseline_factories import make_call, make_item
from tests.factories import advance, make_participant, make_response, make_study, pass_attention

SUMS, EACH, RIGHT = 20, 4, "B"


def make_sums_in_field(people: int = 12, **changes: object) -> Study:
    """Half of the people use ChatGPT, half Gemini; question and person determine which answers are wrong."""
    there = BenchmarkItem.objects.filter(benchmark="sums").count()
    for number in range(there + 1, SUMS + 1):
        make_item(number)
    study = make_study(places=20, **{"matrix": Matrix("sums", EACH), **changes})
    for number in range(people):
        answer_sums(study, number, "gemini" if number % 2 else "chatgpt")
    read_new(study)
    return study


def answer_sums(study: Study, number: int, chatbot: str) -> Participant:
    person = make_participant(study, chatbot=chatbot)
    for slug in person.order:
        if slug.startswith("question-"):
            is_wrong = (int(slug.removeprefix("question-")) + number) % (5 if chatbot == "chatgpt" else 2) == 0
            make_response(person, slug, text="A" if is_wrong else RIGHT, keep=True)
        else:
            make_response(person, slug, keep=True)
    return recruitment.complete(advance(pass_attention(person), Participant.Step.DEBRIEF))


def run_sums(study: Study, model: str, wrong: int, repeats: int = 6) -> Run:
    """A run in which each repeat gets `wrong` sums wrong; this window of sums moves by one from repeat to repeat."""
    run = make_model_run(study, model=model, benchmark="sums")
    for repeat in range(repeats):
        for place, item in enumerate(BenchmarkItem.objects.filter(benchmark="sums").order_by("pk")):
            reply = "A" if (place + repeat) % SUMS < wrong else RIGHT
            call = make_call(run, item, None, repeat)
            Completion.objects.filter(pk=call.pk).update(status="done", reply=reply, done_at=timezone.now())
    return run
