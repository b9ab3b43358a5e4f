"""Faults that hid each other are told together."""

import pytest

from surveys.studies.files.definitions import StudyFileError, parse_study
from tests.surveys.studies.files.sample_study import SAMPLES

TEAS = (SAMPLES / "teas.toml").read_text(encoding="utf-8")
HIDDEN = [
    # Each entry of a list, and how many there are.
    (
        'options = ["Yes", "No"]',
        'options = [1, "", 3]',
        ["entry 1 must be text", "entry 2 is empty", "entry 3 must be"],
    ),
    ('options = ["Yes", "No"]', "options = [1]", ["has 1 entries, but must have from 2", "entry 1 must be text"]),
    # What belongs to a kind of prompt, whatever the kind is said to be.
    (
        'kind = "recommendation"',
        'kind = "x"\nitems = "many"\nrequest = 5',
        ["kind is 'x'", "items must be", "request must be"],
    ),
]


def told(text: str) -> list[str]:
    with pytest.raises(StudyFileError) as error:
        parse_study(text.encode())
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize(("whole", "broken", "wanted"), HIDDEN)
def test_faults_of_one_value_or_entry(whole: str, broken: str, wanted: list[str]) -> None:
    assert whole in TEAS
    faults = told(TEAS.replace(whole, broken, 1))
    assert [words for words in wanted if not any(words in fault for fault in faults)] == []
    assert not any("not a key here" in fault for fault in faults)


def test_a_translation_is_read_though_the_own_text_is_broken() -> None:
    broken = (
        TEAS.replace('title = "', "title = 5 # ", 1)
        + "\n[languages.de]\ntitle = 6\n[languages.de.prompts.x]\ntitle = 7\n"
    )
    faults = told(broken.replace('slug = "teas"', 'slug = "teas"', 1))
    assert any("languages.de.title must be text in quotes" in fault for fault in faults)
    nameless = told(broken.replace("[[prompts]]\nslug =", "[[prompts]]\nslug = 1 #", 1))
    assert any("languages.de.prompts.x.title must be text in quotes" in fault for fault in nameless)
    assert not any("x is not a text of this study" in fault for fault in nameless)
