"""The fake provider as a judge: its labels can be read and are mostly the same from all judges."""

import pytest

from analysis.endpoints.providers.scripted import scripted_reply
from analysis.runs.asking.judges import SHOWN, ask_for, read_reply
from surveys.studies.files.kinds import KINDS, fields_of


def judged(asked: str, prompt: str = "Which tea?") -> list[dict[str, str]]:
    return [{"role": "user", "content": f"The prompt:\n{prompt}\n\n{asked}"}]


@pytest.mark.parametrize("kind", list(SHOWN))
def test_scripted_judge_gives_labels_of_the_scale(kind: str) -> None:
    payload = {"attributes": [{"id": "milk", "text": "Drinks [no] milk."}, {"id": "cost", "text": "Has a budget."}]}
    questions = KINDS[kind].questions
    asked = ask_for(questions, payload)
    for draw in range(20):
        labels = read_reply(scripted_reply(judged(asked), str(draw)), questions, payload)
        fields = fields_of([question for question in questions if question.is_label], payload)
        assert {name: label in fields[name].values for name, label in labels.items()} == dict.fromkeys(fields, True)


def test_scripted_judges_mostly_agree() -> None:
    questions = KINDS["relevance"].questions
    asked = [judged(ask_for(questions, {}), f"Tea {number}?") for number in range(100)]
    one, other = (
        [scripted_reply(messages, f"{judge} {number}") for number, messages in enumerate(asked)] for judge in "ab"
    )
    agreed = sum(map(str.__eq__, one, other))
    assert 60 < agreed < 100 and len(set(one)) == 2
