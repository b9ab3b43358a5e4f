"""Long lists of questions: several pages, deciding questions first, and nothing asked of people who are sent away."""

import hashlib
import re
from dataclasses import replace
from random import Random

import pytest
from django.test import Client

from surveys.models import ChatbotContext, Participant, Study
from surveys.participation import recruitment
from surveys.participation.forms import LONGEST_ANSWER, QuestionsForm
from surveys.participation.steps import address, minutes_left, question_pages, walked, way_of
from surveys.simulation.demo import describe_chatbot
from surveys.studies.files.definitions import Definition, read_study
from surveys.studies.files.schema import CellDefinition, Question
from tests.factories import (
    advance,
    fitting_answers,
    make_definition,
    make_participant,
    make_response,
    make_study,
    make_visit,
)
from tests.surveys.studies.files.test_definitions import STUDIES

pytestmark = pytest.mark.django_db
ADULT, MILK, CUPS = make_definition().questions


def questions(deciding: int, background: int) -> tuple[Question, ...]:
    """Questions with the background ones first, as a file may have them."""
    others = (replace(CUPS, slug=f"more-{n}") for n in range(background))
    return (*others, *(replace(ADULT, slug=f"adult-{n}") for n in range(deciding - 2)), MILK)


def make_long(deciding: int = 7, background: int = 6) -> Definition:
    return make_definition(questions=questions(deciding, background))


@pytest.fixture
def study() -> Study:
    return make_study(definition=make_long())


def names_on(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r'name="(chatbot|q-[\w-]+)"', page)))


def answers_to(page: str, milk: str = "Milk") -> dict[str, str]:
    given = {"chatbot": "chatgpt", "q-milk": milk}
    return {name: given.get(name, "Yes" if "adult" in name else "3") for name in names_on(page)}


@pytest.mark.parametrize(
    ("deciding", "background", "sizes"),
    [(2, 3, ([5], [])), (3, 3, ([3], [3])), (5, 1, ([5], [1])), (6, 0, ([3, 3], [])), (11, 6, ([4, 3, 4], [3, 3]))],
)
def test_a_page_holds_five_questions_and_those_that_decide_come_first(
    deciding: int, background: int, sizes: tuple[list[int], list[int]]
) -> None:
    definition = make_long(deciding, background)
    first, later = (question_pages(definition, step) for step in ("questions", "background"))
    assert ([len(page) for page in first], [len(page) for page in later]) == sizes
    assert first[0][0] == "chatbot" and "milk" in first[-1] or not later
    assert {slug for page in later for slug in page} <= {f"more-{n}" for n in range(background)}
    assert sum(map(len, first + later)) == deciding + background


def test_field_13_asks_eight_questions_on_three_pages() -> None:
    study = read_study(STUDIES / "field-13.toml")
    sizes = [len(page) for step in ("questions", "background") for page in question_pages(study, step)]
    assert sum(sizes) == 1 + len(study.questions) and max(sizes) <= 5 and len(sizes) == 3


@pytest.mark.parametrize(
    ("kind", "typed", "kept"),
    [
        *(("number", typed, typed.strip()) for typed in ("0", " 3 ", "10000")),
        *(("number", typed, None) for typed in ("", "three", "-1", "10001", "2.5")),
        *(("text", typed, typed) for typed in ("three", "x" * LONGEST_ANSWER)),
        *(("text", typed, None) for typed in ("", "x" * (LONGEST_ANSWER + 1))),
    ],
)
def test_a_question_takes_what_its_kind_allows(kind: str, typed: str, kept: str | None) -> None:
    asked = replace(CUPS, kind=kind, required=True)
    form = QuestionsForm(make_definition(questions=(asked,)), [asked.slug], {f"q-{asked.slug}": typed})
    assert (form.answers()[asked.slug] if form.is_valid() else None) == kept


def test_pages_follow_one_another_and_are_steps_of_the_way(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    page = client.get(address(someone, "resume"), follow=True)
    seen: list[str] = []
    for number, name in enumerate(("questions/", "questions/2/", "background/", "background/2/"), 2):
        url = page.redirect_chain[-1][0]
        assert url.endswith(f"~{url.split('~')[1].split('/')[0]}/{name}")
        assert f"Step {number} of 10" in page.text
        seen += names_on(page.text)
        page = client.post(url, answers_to(page.text), follow=True)
    assert page.redirect_chain[-1][0] == address(someone, "instructions")
    assert seen[:7] == ["chatbot", *(f"q-adult-{n}" for n in range(5)), "q-milk"]
    assert seen[7:] == [f"q-more-{n}" for n in range(6)]
    someone.refresh_from_db()
    assert someone.answers.keys() == {slug.removeprefix("q-") for slug in seen}
    assert (someone.state, someone.step, someone.cell.slug) == ("active", "instructions", "milky")


def test_whoever_is_sent_away_was_asked_nothing_that_does_not_decide(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    first = client.get(address(someone, "questions"))
    page = client.post(address(someone, "questions"), answers_to(first.text) | {"q-adult-0": "No"}, follow=True)
    # The door does not tell which answer opens it: all that decide are asked.
    assert page.redirect_chain[-1][0] == address(someone, "questions", 2)
    page = client.post(address(someone, "questions", 2), answers_to(page.text), follow=True)
    someone.refresh_from_db()
    assert (someone.state, someone.reason) == ("screened_out", "adult-0")
    assert "CODE3" in page.text and "more-0" not in someone.answers


def test_place_is_kept_for_people_who_answer_what_else_is_asked(study: Study) -> None:
    someone = make_participant(study, at="instructions", answers=deciding_answers(study))
    assert someone.step == "background" and someone.place.expires_at
    everything = fitting_answers(make_long())
    assert make_participant(study, at="instructions", answers=everything).step == "instructions"


def deciding_answers(study: Study) -> dict[str, str]:
    return {slug: answer for slug, answer in fitting_answers(make_long()).items() if not slug.startswith("more")}


def test_earlier_page_may_be_gone_back_to_until_it_is_decided(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    first = client.get(address(someone, "questions"))
    second = client.post(address(someone, "questions"), answers_to(first.text), follow=True)
    assert f'<a class="button quiet" href="{address(someone, "questions")}">' in second.text
    again = client.get(address(someone, "questions")).text
    assert re.search(r'value="chatgpt"[^>]*checked', again)
    client.post(address(someone, "questions"), answers_to(again) | {"chatbot": "gemini"})
    client.post(address(someone, "questions", 2), answers_to(second.text))
    someone.refresh_from_db()
    assert (someone.answers["chatbot"], someone.cell.chatbot, someone.step) == ("gemini", "gemini", "background")
    gone = client.post(address(someone, "questions"), answers_to(again))
    assert gone.url == address(someone, "background")
    someone.refresh_from_db()
    assert someone.answers["chatbot"] == "gemini"


def test_page_that_was_not_reached_sends_to_the_one_that_is_open(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    for url in (address(someone, "questions", 2), address(someone, "background"), address(someone, "questions", 9)):
        assert client.post(url, {"q-milk": "Milk"}).url == address(someone, "questions")
    someone.refresh_from_db()
    assert someone.answers == {}


def test_page_sent_twice_is_answered_once(client: Client, study: Study) -> None:
    someone = make_participant(study, at="instructions", answers=deciding_answers(study))
    page = client.get(address(someone, "background")).text
    for _ in range(2):
        assert client.post(address(someone, "background"), answers_to(page)).url == address(someone, "background", 2)
    last = client.get(address(someone, "background", 2)).text
    for _ in range(2):
        assert client.post(address(someone, "background", 2), answers_to(last)).url == address(someone, "instructions")


def test_page_sent_with_a_hole_asks_for_it(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    first = client.get(address(someone, "questions"))
    client.post(address(someone, "questions"), answers_to(first.text))
    page = client.post(address(someone, "questions", 2), {}, follow=True)
    assert 'class="errors"' in page.text and page.redirect_chain[-1][0].endswith("questions/2/?again=1")


def test_who_returned_between_the_pages_comes_back_to_them(study: Study) -> None:
    someone = make_participant(study, at="instructions", answers=deciding_answers(study))
    recruitment.stop(someone, Participant.State.RETURNED, "test")
    assert recruitment.reopen(someone).step == "background"


def test_time_left_only_ever_falls() -> None:
    study = make_long()
    way = way_of(study)
    before = [minutes_left(step, study) for step in way[: way.index("prompts")]]
    prompts = [minutes_left("prompts", study, answered) for answered in range(len(study.prompts))]
    said = [*before, *prompts, minutes_left("debrief", study)]
    assert said == sorted(said, reverse=True) and said[0] == study.minutes and said[-1] == 1


def test_bar_over_all_steps_only_ever_grows() -> None:
    study = make_long()
    way = way_of(study)
    among = [f"prompt:{prompt.slug}" for prompt in study.prompts]
    steps = [*((step, 0) for step in way[: way.index("prompts")]), *((step, n) for n, step in enumerate(among))]
    shares = [done / total for done, total in (walked(step, study, n) for step, n in steps)]
    shares += [done / total for done, total in (walked("attention:one", study, len(among)), walked("debrief", study))]
    assert shares == sorted(shares) and shares[0] == 0 and 0.9 < shares[-1] < 1
    assert walked("stop", study) is None


def test_page_that_is_gone_back_to_shows_what_was_sent_and_not_an_older_draft(client: Client, study: Study) -> None:
    someone = make_participant(study, at="questions")
    first = client.get(address(someone, "questions"))
    client.post(address(someone, "draft"), {"step": "questions", "chatbot": "gemini"})
    client.post(address(someone, "questions"), answers_to(first.text))
    assert re.search(r'value="chatgpt"[^>]*checked', client.get(address(someone, "questions")).text)


# The chatbot's settings after the first prompt ------------------------------------------------------------------


def ready_for_prompts() -> Participant:
    participant = make_participant(make_study(definition=make_definition(settings_later=True)), at="instructions")
    return advance(participant, Participant.Step.COMPREHENSION)


def test_settings_may_be_asked_after_the_first_prompt_and_of_everybody(client: Client) -> None:
    participant = ready_for_prompts()
    check = participant.version.document["comprehension"][0]
    passed = client.post(address(participant, "comprehension"), {check["slug"]: check["answer"], "tries": "0"})
    assert passed.url == address(participant, "prompt", 1)
    assert "/chatbot/" not in client.get(passed.url).content.decode()
    make_response(participant, 0)
    settings = address(participant, "context")
    for page in ("resume", "debrief"):
        here = client.get(address(participant, page), follow=True)
        assert here.request["PATH_INFO"] == settings, page
    place = client.get(f"{settings}?older=1").context["walked"]
    assert place == walked("attention:leaf", make_definition(settings_later=True), 1)
    said = client.post(settings, {"plan": "free", "memory": "on", "personalisation": "off"})
    assert said.url in (address(participant, "prompt", 2), address(participant, "attention", "leaf"))


def test_setting_that_a_question_asks_for_is_asked_once_and_makes_cells(client: Client) -> None:
    words = ("Nothing", "Every month", "My office pays", "No idea")
    paying = replace(MILK, slug="paying", text="What do you pay?", options=words, setting="plan")
    cells = tuple(
        CellDefinition(slug, slug, {"paying": by}, 5) for slug, by in (("no", words[:1]), ("pays", words[1:]))
    )
    study = make_study(definition=make_definition(questions=(ADULT, MILK, paying, CUPS), cells=cells))
    participant = make_participant(study, at="instructions", cell="pays")
    assert participant.cell.slug == "pays"
    advance(participant, Participant.Step.CONTEXT)
    page = client.get(address(participant, "context")).content.decode()
    assert 'name="memory"' in page and 'name="plan"' not in page and "Four things" not in page
    client.post(address(participant, "context"), {"memory": "on", "personalisation": "off", "plan": "free"})
    assert ChatbotContext.objects.get(participant=participant).plan == "paid"
    simulated = make_participant(study, at="instructions", cell="no", origin=Participant.Origin.SIMULATED)
    assert describe_chatbot(simulated, Random(1)).plan == "free"


def test_answer_to_the_first_prompt_leads_to_the_settings(client: Client) -> None:
    participant = ready_for_prompts()
    advance(participant, Participant.Step.PROMPTS)
    answer = "1. Assam\n2. Mate\n3. Chai\n4. Sencha\n5. Yen"
    text = answer if participant.order[0] == "teas" else "C. Hot"
    sent = client.post(address(participant, "prompt", 1), {"text": text, "keep": "1"})
    assert sent.url == address(participant, "context")


def test_draft_of_settings_between_prompts_is_kept(client: Client) -> None:
    participant = ready_for_prompts()
    advance(participant, Participant.Step.PROMPTS)
    saved = client.post(address(participant, "draft"), {"step": "context", "plan": "free", "number": "0"})
    assert saved.status_code == 200 and 'value="free"' in client.get(address(participant, "context")).content.decode()


# Consent: lines on top, the text below or folded ----------------------------------------------------------------


def consent_page(client: Client, **changes: object) -> str:
    definition = make_definition()
    study = make_study(definition=replace(definition, consent=replace(definition.consent, **changes)))
    return client.get(f"/s/{study.slug}/", make_visit().as_parameters()).content.decode()


def test_lines_of_consent_stand_above_the_text_that_the_file_folds(client: Client) -> None:
    page = consent_page(client, summary=("We are <Tea> Lab.", "We keep it."), full="folded")
    assert page.index("We are &lt;Tea&gt; Lab.") < page.index("<details>") < page.index("We ask about tea.")
    assert "You may stop at any time" not in page


def test_consent_without_lines_is_shown_as_ever(client: Client) -> None:
    page = consent_page(client)
    assert "<details>" not in page and "You may stop at any time, without a reason." in page


def test_hash_of_consent_is_over_lines_and_text_and_stays_without_lines() -> None:
    definition = make_definition()
    with_lines = replace(definition, consent=replace(definition.consent, summary=("One.", "Two.")))
    other = replace(definition, consent=replace(definition.consent, summary=("One.", "Three.")))
    text = f"{definition.consent.version}\n{definition.consent.text}"
    assert recruitment.consent_hash(definition) == hashlib.sha256(text.encode()).hexdigest()
    assert len({recruitment.consent_hash(each) for each in (definition, with_lines, other)}) == 3
