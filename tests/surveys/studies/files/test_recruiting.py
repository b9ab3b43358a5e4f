"""What a study file says about recruiting on Prolific is read, stored and checked."""

import re

import pytest

from surveys.studies.files.definitions import Definition, StudyFileError, parse_study
from surveys.studies.files.schema import ProlificFilter
from tests.surveys.studies.files.sample_study import changed

END = "[debrief]"
AGE = '[[filters]]\nfilter = "age"\nlower = 18\nupper = 60\n'


def parse(text: str) -> Definition:
    return parse_study(changed((END, f"{text}\n{END}")).encode(), "teas")


def test_recruiting_survives_its_document_and_says_nothing_where_it_is_left_out() -> None:
    study = parse(f'[recruiting]\ndescription = "Copy prompts."\nblocked_from = ["demo"]\n{AGE}')
    assert (study.description, study.blocked_from) == ("Copy prompts.", ("demo",))
    assert study.filters == (ProlificFilter("age", lower=18, upper=60),)
    assert Definition.from_document(study.to_document()) == study
    assert not {"description", "blocked_from", "filters"} & parse("").to_document().keys()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[filters]]\nfilter = "age"\n', "needs either `values` or a range"),
        (AGE + 'values = ["1"]\n', "needs either `values` or a range"),
        (AGE.replace("18", "61"), "is above `upper`"),
        (AGE + AGE, "is that of filters[1] again"),
        (AGE.replace("age", "participant_group_allowlist"), "is made from `invited_from`"),
        ('[recruiting]\nblocked_from = ["teas"]\n', "names this study itself"),
    ],
)
def test_recruiting_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(StudyFileError, match=re.escape(words)):
        parse(text)
