"""Sample answers, given and read."""

from analysis.answers.readings import read_new
from analysis.models import Answer, Completion
from surveys.models import Study
from tests.analysis.runs.baseline_factories import make_call, make_run
from tests.analysis.runs.run_samples import answer
from tests.factories import make_participant, make_response

LIST = "1. Assam\n2. Sencha\n3. Earl Grey\n4. Oolong\n5. Rooibos"


def give(study: Study, prompt: str, text: str) -> Answer:
    """Paste a text as a new participant and read it."""
    response = make_response(make_participant(study), prompt, text=text, keep=True)
    read_new(study)
    return Answer.objects.get(response=response)


def run_offline(study: Study, reply: str) -> Completion:
    """Answer a new offline call with `reply` and read it."""
    call = answer(make_call(make_run("offline", study)), reply)
    read_new(study)
    return call
