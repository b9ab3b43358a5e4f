"""The figure in moving dots: who sees which, when the page comes, what is stored of an answer, and what is erased."""

from dataclasses import replace
from random import Random

import pytest
from django.test import Client

from surveys.models import Participant, Study
from surveys.participation.recruitment import withdraw
from surveys.participation.steps import address, walked
from surveys.simulation.answering import AnsweringPlayer
from surveys.simulation.browser import read_page
from surveys.simulation.people import make_people
from surveys.studies.files.schema import Perception
from surveys.studies.perception import FIGURES, SIDE, count_in, figure_for
from tests.factories import answer_all, make_definition, make_participant, make_response, make_study, pass_attention

pytestmark = pytest.mark.django_db
IN_WORDS = {"words": "1", "plays": "", "ms": ""}  # as the page sends it without scripts


def make_seeing(**asked: object) -> Study:
    return make_study(definition=make_definition(places=20, perception=Perception(**asked)))


def somebody(study: Study | None = None) -> Participant:
    """A participant who has answered all prompts and has the figure still to come."""
    person = make_participant(study or make_seeing())
    answer_all(person)
    return pass_attention(person)


def figure_of(person: Participant) -> str:
    return figure_for(person.pseudonym)[0]


def another(figure: str) -> str:
    return next(name for name in FIGURES if name != figure)


def noted(person: Participant) -> dict:
    person.refresh_from_db()
    return person.checks["perception"]


# Which figure ---------------------------------------------------------------------------------------------------


def test_everybody_keeps_a_figure_and_all_are_shown_about_equally_often() -> None:
    drawn = [figure_for(f"person-{number}") for number in range(600)]
    assert drawn == [figure_for(f"person-{number}") for number in range(600)]
    counts = [sum(figure == name for figure, _ in drawn) for name in FIGURES]
    assert min(counts) > 60 and sum(counts) == 600  # of 100 expected, with a standard deviation of 9


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_whole_and_large_wherever_it_stands(name: str) -> None:
    masks = {mask for figure, mask in map(figure_for, map(str, range(200))) if figure == name}
    assert len(masks) > 15  # moved and sized anew, so that a list of masks does not tell
    for mask in masks:
        bits = f"{int(mask, 16):0{SIDE * SIDE}b}"
        rows = [bits[at : at + SIDE] for at in range(0, SIDE * SIDE, SIDE)]
        edge = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
        assert "1" not in edge and bits.count("1") > 120


def test_another_key_gives_other_figures(settings) -> None:
    before = [figure_for(str(number)) for number in range(10)]
    settings.SECRET_KEY = "another"
    assert [figure_for(str(number)) for number in range(10)] != before


def test_page_names_no_figure_but_as_one_of_all_choices(client: Client) -> None:
    pages = {client.get(address(somebody(study), "perception")).text for study in [make_seeing()] for _ in range(6)}
    assert len(pages) == 6
    for page in pages:
        assert [page.count(f'value="{name}"') for name in FIGURES] == [1] * len(FIGURES)
        assert "checked" not in page


# Where the page comes -------------------------------------------------------------------------------------------


def test_page_comes_after_the_last_prompt_and_its_check(client: Client) -> None:
    person = make_participant(make_seeing())
    answer_all(person)
    for check in ("leaf", "sea"):
        client.post(address(person, "attention", check), {"answer": "Disagree" if check == "sea" else "Green tea"})
    page = client.get(address(person, "resume"), follow=True)
    assert page.request["PATH_INFO"] == address(person, "perception")
    assert "Your pay does not depend on it" in page.text
    led = client.post(address(person, "perception"), IN_WORDS | {"answer": "An umbrella"})
    assert led.url == address(person, "debrief")


def test_page_comes_after_the_prompt_that_the_file_names(client: Client) -> None:
    person = pass_attention(make_participant(make_seeing(after=1)))
    make_response(person, 0)
    assert client.get(address(person, "resume")).url == address(person, "perception")
    led = client.post(address(person, "perception"), {"words": "", "plays": "1", "ms": "9", "seen": "unseen"})
    assert led.url == address(person, "prompt", 2)


def test_answered_prompt_leads_to_the_page(client: Client) -> None:
    person = pass_attention(make_participant(make_seeing(after=1)))
    sent = client.post(
        address(person, "prompt", 1), {"text": "1. Assam\n2. Mate\n3. Chai\n4. Sencha\n5. Yen", "keep": 1}
    )
    assert sent.url == address(person, "perception")


def test_page_is_answered_once_and_only_in_a_study_that_has_it(client: Client) -> None:
    person = somebody()
    client.post(address(person, "perception"), IN_WORDS | {"answer": "A pillow"})
    client.post(address(person, "perception"), IN_WORDS | {"answer": "An umbrella"})
    assert noted(person)["picked"] == "A pillow"
    other = somebody(make_study(slug="without"))
    assert client.get(address(other, "perception")).url == address(other, "debrief")
    assert client.get(address(other, "resume")).url == address(other, "debrief")


@pytest.mark.parametrize("after", [0, 1])
def test_bar_counts_the_page_and_only_ever_grows(after: int) -> None:
    study = make_definition(perception=Perception(after=after))
    way = [("prompt:teas", 0), ("attention:leaf", 1), ("prompt:water", 1), ("attention:sea", 2), ("debrief", 0)]
    way.insert(2 if after else 4, ("perception", after or 2))
    done = [walked(step, study, answered) for step, answered in way]
    assert [share for share, _ in done] == sorted(share for share, _ in done)
    assert {total for _, total in done} == {walked("debrief", make_definition())[1] + 1}
    assert done[-1][1] - done[-1][0] == 1


# What is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("picks", "right"), [("it", True), ("another", False), ("unseen", None)])
def test_what_was_seen_is_kept(client: Client, picks: str, right: bool | None) -> None:
    person = somebody()
    shown = figure_of(person)
    picked = {"it": shown, "another": another(shown), "unseen": "unseen"}[picks]
    client.post(address(person, "perception"), {"words": "", "plays": "2", "ms": "4711", "seen": picked})
    kept = {"figure": shown, "picked": picked, "right": right, "alternative": False, "ms": 4711, "plays": 2}
    assert noted(person) == kept
    assert person.state == "active"


@pytest.mark.parametrize(("sent", "figure"), [(IN_WORDS, False), (IN_WORDS | {"plays": "1", "ms": "90"}, True)])
def test_question_in_words_is_kept_as_such(client: Client, sent: dict, figure: bool) -> None:
    """Without scripts nobody has seen a figure."""
    person = somebody()
    client.post(address(person, "perception"), sent | {"answer": "A candle", "seen": "heart"})
    kept = noted(person)
    assert (kept["figure"], kept["picked"], kept["right"]) == (figure_of(person) if figure else "", "A candle", False)
    assert (kept["alternative"], kept["plays"]) == (True, 1 if figure else None)


def test_study_may_ask_its_own_question_in_its_languages(client: Client) -> None:
    own = {"text": "What is hot?", "options": ("Tea", "Ice"), "answer": "Tea"}
    person = somebody(make_seeing(**own))
    assert "What is hot?" in client.get(address(person, "perception")).text
    client.post(address(person, "perception"), IN_WORDS | {"answer": "Tea"})
    assert noted(person)["right"] is True


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ({"words": ""}, "What do you see in the moving dots?"),
        ({"words": "1"}, "It looks like rain."),
        ({"words": "", "seen": "unicorn"}, "Please choose one of the answers shown."),
        ({}, "Please choose one answer."),
    ],
)
def test_answer_that_is_missing_or_strange_is_asked_for(client: Client, sent: dict, wanted: str) -> None:
    person = somebody()
    page = client.post(address(person, "perception"), sent, follow=True)
    assert page.status_code == 200 and 'role="alert"' in page.text and wanted in page.text
    person.refresh_from_db()
    assert "perception" not in person.checks


@pytest.mark.parametrize(
    ("said", "count"), [("7", 7), ("", None), ("-1", None), ("1.5", None), ("٣", None), ("9" * 19, 86_400_000)]
)
def test_numbers_of_a_browser_are_numbers_or_nothing(said: str, count: int | None) -> None:
    assert count_in({"ms": said}, "ms") == count
    assert count_in({}, "ms") is None
    assert count_in({"ms": "9" * 5_000}, "ms") is None


def test_nothing_of_it_is_left_of_somebody_who_withdraws(client: Client) -> None:
    person = somebody()
    client.post(address(person, "perception"), {"words": "", "plays": "1", "ms": "9", "seen": "unseen"})
    client.post(address(person, "perception"), {"words": ""})
    withdraw(person)
    assert not Participant.objects.exists()


# Simulated people -----------------------------------------------------------------------------------------------


def test_simulated_people_mostly_see_it_and_answer_in_words_without_scripts(client: Client) -> None:
    study = make_seeing()
    definition = make_definition(places=20, perception=Perception())
    seen, in_words = [], set()
    for number, person in enumerate(make_people(definition, 60, faults=False, seed=7)):
        player = AnsweringPlayer(
            "http://127.0.0.1:1", replace(person, rng=Random(number)), definition, {}, faults=False
        )
        sent: dict[str, str] = {}
        player.forward = lambda page, values, sent=sent: sent.update(values)  # instead of a server
        who = make_participant(study) if number < 1 else None
        path = address(who, "perception") if who else f"/s/teas/person-{number}~x/perception/"
        html = client.get(path).text if who else PAGE
        player.perception(read_page(200, path, html))
        if "answer" in sent:
            in_words.add((sent["answer"], player.person.scripts))
        else:
            seen.append(sent["seen"] == figure_for(path.split("/")[3].partition("~")[0])[0])
            assert player.person.scripts and sent["words"] == "" and sent["plays"] == "1" and int(sent["ms"]) > 0
    assert ("An umbrella", False) in in_words and 0.8 < sum(seen) / len(seen) < 1


PAGE = "<form id=step>" + "".join(f'<input type=radio name=seen value="{name}">' for name in FIGURES) + "</form>"
