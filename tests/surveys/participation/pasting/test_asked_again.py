"""People asked again: what their pages show and count, checks on a repeated answer, account states, ratings."""

import uuid
from html import unescape

import pytest
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.test import Client

from surveys.models import Flag, Participant, Prompt, ReadBack, Response, Study
from surveys.participation.pasting.capture import PasteSubmission, submit_paste
from surveys.participation.steps import address, minutes_left, walked
from surveys.studies.exclusions import count_kept_flags
from surveys.studies.lifecycle import definition_of
from tests.factories import make_participant, make_response, make_study, prompt_of
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db
LIST = "\n".join(f"{n}. {tea}" for n, tea in enumerate(("Assam", "Sencha", "Rooibos", "Mate", "Oolong"), 1))
ORDER = ["teas", "water", "teas--2", "cakes", "water--2", "pots", "teas--temporary"]


@pytest.fixture
def study() -> Study:
    return make_study(definition=make_asking_definition())


@pytest.fixture
def person(study: Study) -> Participant:
    """A participant who is asked everything, in a known order."""
    return in_order(make_participant(study), *ORDER)


def in_order(person: Participant, *slugs: str) -> Participant:
    person.order = list(slugs)
    person.save()
    return person


def page_of(client: Client, person: Participant, slug: str) -> str:
    response = client.get(address(person, "prompt", person.order.index(slug) + 1))
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def post(client: Client, person: Participant, slug: str, **fields: str) -> HttpResponse:
    form = {"key": str(uuid.uuid4()), **fields}
    return client.post(address(person, "prompt", person.order.index(slug) + 1), form)


def accepted(person: Participant, slug: str) -> Response:
    return person.responses.filter(prompt__slug=slug, accepted=True).latest("revision")


# --- who is asked what ------------------------------------------------------


def test_every_asking_is_a_prompt_of_the_version_with_the_words_of_its_own(study: Study) -> None:
    rows = list(study.current.prompts.order_by("position"))
    assert [(row.slug, row.asks, row.arm, row.occasion) for row in rows[4:]] == [
        ("teas--2", "teas", "", 2),
        ("teas--temporary", "teas", "temporary", 1),
        ("water--2", "water", "", 2),
    ]
    assert {row.text for row in rows if row.base == "teas"} == {"Recommend five teas."}
    assert [row.label for row in rows[4:6]] == ["Ask for teas (occasion 2)", "Ask for teas (temporary)"]


def test_half_of_a_cell_is_asked_twice_and_all_in_the_other_state(study: Study) -> None:
    # Three places in a cell; people without a place draw by their name.
    orders = [make_participant(study, chatbot=bot, cell=cell).order for bot, cell in CELLS for _ in range(3)]
    assert all("teas--temporary" in order for order in orders)
    twice = [order for order in orders if "teas--2" in order]
    assert 4 <= len(twice) <= 8 and all("water--2" in order for order in twice)
    assert {len(order) for order in orders} == {5, 7}


CELLS = [(bot, cell) for bot in ("chatgpt", "gemini") for cell in ("milky", "plain")]


def test_the_database_holds_each_asking_once_and_by_its_kind(study: Study) -> None:
    row = {"version": study.current, "kind": "choice", "title": "x", "text": "x", "position": 99, "slug": "x"}
    for wrong in (
        {"asks": "teas"},
        {"arm": "temporary"},
        {"occasion": 2},
        {"asks": "x", "occasion": 2},
        {"asks": "teas", "occasion": 2},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Prompt.objects.create(**row | wrong)


# --- pages ------------------------------------------------------------------


def test_pages_say_kindly_what_comes_again(client: Client, person: Participant) -> None:
    assert "on purpose" not in page_of(client, person, "teas")
    for slug in ORDER[:-1]:
        if slug in ("teas--2", "water--2"):
            said = page_of(client, person, slug)
            assert "We ask you this one a second time on purpose. Any answer is fine, also the same one." in said
            assert "Press the dotted circle." not in said
        make_response(person, slug, LIST if slug.startswith(("teas", "cakes")) else "B", keep=True)
    said = page_of(client, person, "teas--temporary")
    assert "We ask you this one once more on purpose." in said
    assert "First: Temporary chat" in said and "Press the dotted circle." in said and "I can't find it" in said


def test_prepared_page_of_one_person_is_not_shown_to_another_who_is_asked_something_else(
    client: Client, study: Study
) -> None:
    usual, state = (make_participant(study) for _ in range(2))
    in_order(usual, "teas", *(slug for slug in ORDER if slug != "teas"))
    in_order(state, "teas--temporary", *ORDER[:-1])
    first, second = page_of(client, usual, "teas"), page_of(client, state, "teas--temporary")
    assert "Press the dotted circle." not in first and "Press the dotted circle." in second
    few = in_order(make_participant(study), "teas", "water", "cakes", "pots", "teas--temporary")
    assert "Prompt 1 of 5" in page_of(client, few, "teas") and "Prompt 1 of 7" in first


def test_messages_are_counted_as_the_person_has_them(client: Client, study: Study) -> None:
    few = in_order(make_participant(study, at="instructions"), "teas", "water", "cakes", "pots", "teas--temporary")
    said = client.get(address(few, "instructions")).content.decode()
    assert "You will send ChatGPT 5 messages" in said and "Some messages come more than once, on purpose." in said
    person = make_participant(study, at="questions")
    assert person.order == []
    visit = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
    assert "You send up to 7 messages" in client.get(f"/s/{study.slug}/", visit).content.decode()


def test_progress_and_minutes_are_those_of_the_person(study: Study) -> None:
    definition = definition_of(study.current_id)
    few = [walked("prompts", definition, done, 5) for done in range(5)]
    assert {total for _, total in few} == {walked("prompts", definition, 0, 7)[1] - 4}
    assert minutes_left("prompts", definition, 0, 7) > minutes_left("prompts", definition, 0, 5)
    # Everybody with as much still to do has as long left on the same page.
    assert minutes_left("prompts", definition, 2, 7) == minutes_left("prompts", definition, 0, 5)
    assert minutes_left("debrief", definition, 0, 7) == minutes_left("debrief", definition, 0, 5)


def test_somebody_who_is_asked_less_comes_to_the_end_without_the_rest(client: Client, study: Study) -> None:
    few = in_order(make_participant(study), "teas", "cakes", "water", "pots", "teas--temporary")
    for slug in few.order:
        make_response(few, slug, LIST if slug.startswith(("teas", "cakes")) else "B", keep=True)
    few.checks = {"attention": {check.slug: {"passed": True} for check in definition_of(study.current_id).attention}}
    few.save()
    assert client.get(address(few, "debrief")).status_code == 200


# --- the same answer again --------------------------------------------------


def test_the_same_answer_again_is_asked_about_once_and_taken(client: Client, person: Participant) -> None:
    make_response(person, "teas", LIST)
    make_response(person, "water", "C")
    asked = post(client, person, "teas--2", text=LIST)
    assert "You pasted exactly this answer before." in asked.content.decode()
    assert not person.responses.filter(prompt__slug="teas--2", accepted=True).exists()
    assert post(client, person, "teas--2", text=LIST, keep="1").status_code == 302
    assert accepted(person, "teas--2").text == LIST
    flag = Flag.objects.get(participant=person)
    assert (flag.check_name, flag.outcome) == ("same-again", "kept")
    assert count_kept_flags(person.study) == {}


def test_the_same_letter_again_is_no_question(client: Client, person: Participant) -> None:
    for slug in ("teas", "water", "teas--2", "cakes"):
        make_response(person, slug, "C" if slug == "water" else f"{LIST} {slug}", keep=True)
    assert post(client, person, "water--2", text="C").status_code == 302
    assert not Flag.objects.filter(participant=person, prompt__slug="water--2").exists()


def test_another_answer_to_the_same_prompt_is_not_taken_for_that_of_another_prompt(person: Participant) -> None:
    make_response(person, "teas", LIST)
    again = submit_paste(person, PasteSubmission(prompt_of(person, "teas--2"), LIST.replace("Mate", "Chai")))
    assert again.accepted
    other = submit_paste(person, PasteSubmission(prompt_of(person, "cakes"), LIST))
    assert [finding.check for finding in other.findings] == ["other-prompt"]


# --- another state ----------------------------------------------------------


@pytest.fixture
def at_state(person: Participant) -> Participant:
    in_order(person, "teas--temporary", *ORDER[:-1])
    return person


def test_a_state_is_ticked_before_the_answer_is_taken(client: Client, at_state: Participant) -> None:
    asked = post(client, at_state, "teas--temporary", text=LIST)
    assert "Please do the first step and tick it" in asked.content.decode()
    assert not at_state.responses.exists()
    assert post(client, at_state, "teas--temporary", text=LIST, reached="1").status_code == 302
    assert accepted(at_state, "teas--temporary").text == LIST
    assert 'name="reached" value="1" required data-kept checked' in page_of(client, at_state, "teas--temporary")


def test_one_press_says_that_a_state_is_not_to_be_found(client: Client, at_state: Participant) -> None:
    led = post(client, at_state, "teas--temporary", text="half of something", rating="1", unreached="1")
    assert led.status_code == 302 and led.url.endswith("/attention/leaf/")  # which comes after the first prompt
    answer = accepted(at_state, "teas--temporary")
    assert (answer.text, answer.rating) == ("", None)
    assert ReadBack.objects.get(response=answer).no_answer == "unreached"
    assert not Flag.objects.filter(participant=at_state).exists()
    # They find it after all: the newer answer counts.
    post(client, at_state, "teas--temporary", text=LIST, reached="1")
    assert accepted(at_state, "teas--temporary").text == LIST


@pytest.mark.parametrize("field", [{"unreached": "1"}, {"no_answer": "unreached"}])
def test_the_usual_state_can_always_be_reached(client: Client, person: Participant, field: dict[str, str]) -> None:
    held = post(client, person, "teas", text="", **field)
    assert "The box is empty." in held.content.decode()
    assert not person.responses.filter(accepted=True).exists() and not ReadBack.objects.exists()


# --- ratings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("4", (4, False)), ("unrated", (None, True)), ("", (None, False)), ("6", (None, False)), ("x", (None, False))],
)
def test_rating_is_kept_as_it_is_given(
    client: Client, person: Participant, sent: str, kept: tuple[int | None, bool]
) -> None:
    assert post(client, person, "teas", text=LIST, rating=sent).status_code == 302
    answer = accepted(person, "teas")
    assert (answer.rating, answer.is_unrated) == kept
    checked = f'value="{sent}" data-kept checked' in page_of(client, person, "teas")
    assert checked == (kept != (None, False))


def test_another_rating_of_the_same_form_is_another_revision(person: Participant) -> None:
    key, asked = uuid.uuid4(), prompt_of(person, "teas")
    for rating in ("2", "2", "5", ""):
        submit_paste(person, PasteSubmission(asked, LIST, key=key, rating=rating))
    assert [row.rating for row in person.responses.order_by("revision")] == [2, 5, None]


def test_rating_is_asked_where_the_file_says_so_and_nowhere_else(client: Client, person: Participant) -> None:
    assert "How useful is it?" in page_of(client, person, "teas")
    post(client, person, "teas", text=LIST, rating="3")
    assert "How useful is it?" not in page_of(client, person, "water")
    post(client, person, "water", text="C", rating="3")
    assert accepted(person, "water").rating is None
    assert "How useful is it?" in page_of(client, person, "teas--2")


def test_the_database_knows_ratings_from_1_to_5_only(person: Participant) -> None:
    answer = make_response(person, "teas", LIST)
    for wrong in ({"rating": 0}, {"rating": 6}, {"rating": 3, "is_unrated": True}):
        with pytest.raises(IntegrityError), transaction.atomic():
            fields = {"participant": person, "prompt": answer.prompt, "version": answer.version, "pilot": False}
            Response.objects.create(**fields, revision=9, accepted=True, key=uuid.uuid4(), text="x", **wrong)
