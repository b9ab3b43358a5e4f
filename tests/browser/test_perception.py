"""The page of moving dots: a figure visible only in motion, the question in words, and every eye and device."""

from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from surveys.models import Participant, Study
from surveys.participation.steps import address
from surveys.studies.files.definitions import read_study
from surveys.studies.files.schema import Perception
from surveys.studies.perception import FIGURES, figure_for
from tests.browser.axe import faults_of
from tests.browser.survey import DEMO
from tests.browser.test_survey_look import OVERFLOW, SMALL
from tests.factories import answer_all, make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Two pictures in a row from the first that is drawn, or the same one twice if no other comes within a second.
MOTION = """async canvas => {
    const side = canvas.width;
    const read = () => {
        const data = canvas.getContext('2d').getImageData(0, 0, side, side).data;
        return Array.from({length: side * side}, (_, place) => data[4 * place + 3] > 0);
    };
    const same = (a, b) => a.every((dot, place) => dot === b[place]);
    let first = read();
    for (let wait = 0; wait < 1000 && !first.some(Boolean); wait += 1) {
        await new Promise(wake => setTimeout(wake, 5));
        first = read();
    }
    let next = first;
    for (let wait = 0; wait < 200 && same(first, next); wait += 1) {
        await new Promise(wake => setTimeout(wake, 5));
        next = read();
    }
    return {first, next};
}"""


def make_seeing() -> Study:
    return make_study(definition=replace(read_study(DEMO), repeats=None, perception=Perception()))


def make_answered(study: Study, language: str = "en") -> Participant:
    participant = make_participant(study, language=language)
    answer_all(participant)
    return participant


def open_dots(page: Page, study: Study, language: str = "en") -> Participant:
    participant = make_answered(study, language)
    page.goto(address(participant, "resume"))
    expect(page.locator("canvas")).to_be_visible()
    return participant


def inside_of(participant: Participant, side: int) -> list[bool]:
    """The figure's mask as the page draws it on `side` × `side` dots."""
    digits = figure_for(participant.pseudonym)[1]
    cells = int((4 * len(digits)) ** 0.5)
    bits = f"{int(digits, 16):0{cells * cells}b}"
    places = [(place // side * cells // side, place % side * cells // side) for place in range(side * side)]
    return [bits[row * cells + column] == "1" for row, column in places]


def look(canvas: Locator, person: Participant) -> tuple[list[float], list[float]]:
    """Inside and outside the figure: the share of dots, and of places that the next picture shows one further left."""
    seen = canvas.evaluate(MOTION)
    first, following, side = seen["first"], seen["next"], int(len(seen["first"]) ** 0.5)
    assert any(first)
    inside, still, moved = inside_of(person, side), [], []
    shift = 0 if first == following else 1
    for part in (True, False):
        places = [n for n in range(side * side) if inside[n] is part and n % side and inside[n - 1] is part]
        still.append(sum(first[n] for n in places) / len(places))
        moved.append(sum(first[n] == following[n - shift] for n in places) / len(places))
    return still, moved


def noted(participant: Participant) -> dict:
    participant.refresh_from_db()
    return participant.checks["perception"]


def send(page: Page) -> None:
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/debrief/")


def test_figure_is_in_the_motion_alone_and_is_picked(page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    person = open_dots(page, make_seeing())
    figure, _ = figure_for(person.pseudonym)
    canvas = page.locator("canvas")
    still, moved = look(canvas, person)
    assert abs(still[0] - still[1]) < 0.08  # one picture is as dense inside as outside
    assert moved[0] > 0.97 > 0.65 > moved[1]  # of chance alone 0.4² + 0.6² = 0.52 are alike
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_label(FIGURES[figure][0], exact=True).check()
    send(page)
    kept = noted(person)
    assert kept.pop("ms") > 0
    assert kept == {"figure": figure, "picked": figure, "right": True, "alternative": False, "plays": 1}
    assert [words for words in said if "getImageData" not in words] == []  # which this test calls


def test_nothing_moves_for_who_wants_little_motion_until_they_play(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    person = open_dots(page, make_seeing())
    canvas, play = page.locator("canvas"), page.get_by_role("button", name="Play")
    _, moved = look(canvas, person)
    assert moved == [1, 1]  # no other picture came
    play.click()
    _, moved = look(canvas, person)
    assert moved[0] > 0.97 > 0.65 > moved[1]
    page.get_by_role("button", name="Pause").click()
    play.click()
    page.get_by_label("I cannot see it").check()
    send(page)
    assert {name: noted(person)[name] for name in ("picked", "right", "plays")} == {
        "picked": "unseen",
        "right": None,
        "plays": 2,
    }


def test_question_in_words_is_there_for_who_cannot_use_pictures(page: Page) -> None:
    person = open_dots(page, make_seeing())
    page.get_by_role("button", name="I cannot use pictures").focus()
    page.keyboard.press("Enter")
    asked = page.get_by_role("radiogroup", name="It looks like rain.")
    expect(asked).to_be_focused()
    expect(page.locator("canvas")).to_be_hidden()
    page.get_by_role("button", name="Show me the picture").click()
    expect(page.locator("canvas")).to_be_visible()
    page.get_by_role("button", name="I cannot use pictures").click()
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(".errors")).to_be_focused()
    expect(asked).to_be_visible()  # what was missing, and not the picture
    page.get_by_label("An umbrella").check()
    send(page)
    kept = noted(person)
    assert (kept["picked"], kept["right"], kept["alternative"], kept["plays"]) == ("An umbrella", True, True, 0)


def test_without_scripts_there_is_the_question_in_words_alone(plain: Page) -> None:
    person = make_answered(make_seeing())
    plain.goto(address(person, "resume"))
    expect(plain.locator("canvas")).to_be_hidden()
    expect(plain.get_by_role("button", name="Show me the picture")).to_be_hidden()
    plain.get_by_label("A pillow").check()
    send(plain)
    assert noted(person) == {
        **{"figure": "", "picked": "A pillow", "right": False, "alternative": True, "ms": None, "plays": None}
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "de"])
def test_page_is_for_every_eye_and_thumb(page: Page, scheme: str, language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    open_dots(page, make_seeing(), language)
    for _ in ("picture", "words"):
        for width in (1280, 390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate(OVERFLOW) <= 0, width
        assert faults_of(page, "best-practice") == []
        assert page.evaluate(SMALL) == []
        page.locator("[data-swap]:visible").click()
    page.locator("#step [type=submit]").click()
    expect(page.locator(".errors")).to_be_visible()
    assert faults_of(page, "best-practice") == []
