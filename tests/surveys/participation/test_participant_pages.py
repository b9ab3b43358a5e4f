"""The participant's pages as plain forms: what they show, and how they report errors; none is a dead end."""

import json
import re
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from surveys.models import AnonymousExit, Draft, Participant, Response
from surveys.participation.recruitment import complete
from surveys.participation.steps import address
from surveys.participation.views import device_of
from surveys.studies.files.schema import Consent
from surveys.studies.lifecycle import load_definition
from tests.factories import (
    answer_all,
    answer_text,
    make_definition,
    make_participant,
    make_response,
    make_study,
    make_visit,
    prompt_of,
)

pytestmark = pytest.mark.django_db
LONG = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong, dark and roasted over wood"
STEPS = ["questions", "instructions", "comprehension", "context", "prompts", "debrief"]


def hidden(page, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found, f"no field {name}"
    return found[1].replace("&quot;", '"')


def send(client: Client, participant: Participant, text: str, number: int = 1, **more: str):
    """Open the paste page and send its form as a browser without scripts does."""
    url = address(participant, "prompt", number)
    page = client.get(url)
    fields = {name: hidden(page, name) for name in ("key", "page", "evidence", "html", "privacy", "removed")}
    return client.post(url, fields | {"text": text} | more)


def test_nobody_agrees_to_a_version_that_their_page_did_not_show(client: Client) -> None:
    study, visit = make_study(), make_visit().as_parameters()
    entry = reverse("survey:arrive", args=[study.slug])
    old = client.get(entry, visit)
    load_definition(make_definition(consent=Consent("2", "Other words.")), "tests", amendment="clearer")
    sent = {"consent": "yes", **visit, "VERSION": hidden(old, "VERSION")}
    new = client.post(entry, sent, follow=True)
    assert "Other words." in new.text and not Participant.objects.exists()
    client.post(entry, sent | {"VERSION": hidden(new, "VERSION")})
    assert Participant.objects.get().consent_version == "2"


@pytest.mark.parametrize("sort", [{}, {"content_type": "application/x-www-form-urlencoded"}], ids=["parts", "line"])
def test_a_form_of_either_sort_has_at_most_500_fields(client: Client, sort: dict) -> None:
    entry, statuses = reverse("survey:arrive", args=[make_study().slug]), []
    for count in (500, 501):
        visit = make_visit().as_parameters() | {"consent": "yes"}
        fields = visit | {f"f{number}": "&--" for number in range(count - len(visit))}
        statuses.append(client.post(entry, urlencode(fields) if sort else fields, **sort).status_code)
    assert statuses == [302, 400] and Participant.objects.count() == 1


def test_whole_way_by_plain_forms(client: Client) -> None:
    study = make_study()
    visit = make_visit().as_parameters()
    entry = reverse("survey:arrive", args=[study.slug])
    assert client.get(entry, visit).status_code == 200
    client.post(entry, visit | {"consent": "yes"})
    someone = Participant.objects.get(pid=visit["PROLIFIC_PID"])
    answers = {"chatbot": "chatgpt", "q-adult": "Yes", "q-milk": "Milk"}
    client.post(address(someone, "questions"), answers)
    client.post(address(someone, "instructions"))
    client.post(address(someone, "comprehension"), {"task": "Answers"})
    chosen = {"plan": "free", "memory": "on", "personalisation": "off", "model_shown": "GPT-5"}
    phone = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36"
    client.post(address(someone, "context"), chosen, headers={"User-Agent": phone})
    someone.refresh_from_db()
    assert (someone.context.product, someone.context.device) == ("chatgpt", "phone")
    send(client, someone, answer_text(prompt_of(someone, 0)), 1)
    client.post(address(someone, "attention", "leaf"), {"answer": "Green tea"})
    send(client, someone, answer_text(prompt_of(someone, 1)), 2)
    client.post(address(someone, "attention", "sea"), {"answer": "Disagree"})
    page = client.post(address(someone, "debrief"), {"comments": "Fine."}, follow=True)
    assert "CODE1" in page.text
    assert "https://app.prolific.com/submissions/complete?cc=CODE1" in page.text


@pytest.mark.parametrize("step", STEPS)
def test_form_step_leads_forward_by_its_first_submit_button(client: Client, step: str) -> None:
    participant = make_participant(at=step)
    page = client.get(address(participant, "resume"), follow=True).text
    form = re.search(r'<form\s+id="step"[^>]*method="post".*?</form>', page, re.S)
    assert form
    first = re.search(r'<button[^>]*type="submit"[^>]*>', form[0])
    assert first and 'name="how"' not in first[0]


@pytest.mark.parametrize(
    ("step", "url"), [("questions", "questions"), ("comprehension", "comprehension"), ("context", "context")]
)
def test_form_sent_empty_says_what_is_missing_and_where(client: Client, step: str, url: str) -> None:
    page = client.post(address(make_participant(at=step), url), follow=True)
    assert page.redirect_chain
    assert '<div class="errors" role="alert" tabindex="-1" data-focus>' in page.text
    assert page.text.count("<title>Error: ") == 1
    links = re.findall(r'<li><a href="#([^"]+)">', page.text)
    assert links
    for link in links:
        assert f'id="{link}"' in page.text
        assert f'id="{link}_error"' in page.text
        assert re.search(rf'aria-describedby="[^"]*{link}_error', page.text)


def test_wrong_comprehension_answer_is_explained_once_then_ends_kindly(client: Client) -> None:
    participant = make_participant(at="comprehension")
    url = address(participant, "comprehension")
    page = client.post(url, {"task": "Prompts", "tries": "0"}, follow=True)
    assert "Please read this and try once more." in page.text
    page = client.post(url, {"task": "Prompts", "tries": hidden(page, "tries")}, follow=True)
    assert "CODE9" in page.text and "We did not explain this well enough" in page.text


def test_wrong_comprehension_answer_sent_twice_is_one_try(client: Client) -> None:
    participant = make_participant(at="comprehension")
    url = address(participant, "comprehension")
    for _ in range(3):
        page = client.post(url, {"task": "Prompts", "tries": "0"}, follow=True)
        assert "Please read this and try once more." in page.text
    assert "Please read this and try once more." in client.get(url).text
    client.post(url, {"task": "Answers", "tries": "0"})
    participant.refresh_from_db()
    assert participant.step == "context" and participant.checks["comprehension"] == [
        {"task": "Prompts"},
        {"task": "Answers"},
    ]


@pytest.mark.parametrize("step", ["questions", "comprehension", "context", "attention", "debrief", "trouble", "stop"])
def test_every_form_answers_what_is_sent_with_another_address(client: Client, step: str) -> None:
    """A redirect, so that neither reloading the page nor going back to it sends anything again."""
    participant = make_participant(at={"attention": "prompts", "trouble": "prompts", "stop": "prompts"}.get(step, step))
    args = ["leaf"] if step == "attention" else []
    url = address(participant, {"context": "context"}.get(step, step), *args)
    too_long = {"comments": "x" * 6000, "what": "x" * 3000, "how": "?"}
    sent = client.post(url, too_long)
    assert sent.status_code == 302
    again = client.get(sent.url)
    assert again.status_code == 200
    assert (step == "stop") or 'class="errors"' in again.text
    assert (step == "stop") or 'class="errors"' not in client.get(url).text


def test_consent_without_a_word_leads_back_to_its_page(client: Client) -> None:
    study = make_study()
    sent = client.post(f"/s/{study.slug}/", make_visit().as_parameters())
    assert sent.status_code == 302 and client.get(sent.url).status_code == 200


def test_gate_asks_keeps_the_text_and_lets_it_pass(client: Client, participant: Participant) -> None:
    prompt = prompt_of(participant, "teas")
    number = participant.order.index("teas") + 1
    if number == 2:
        make_response(participant, 0)
    page = send(client, participant, "I like <b>", number)
    assert "We found no names in this text." in page.text and "I like &lt;b&gt;</textarea>" in page.text
    first = re.search(r'<button[^>]*type="submit"[^>]*>', page.text)
    assert first and 'name="read" value="right"' in first[0]
    url = address(participant, "prompt", number)
    fields = {name: hidden(page, name) for name in ("key", "page")}
    said = {"read_of": hidden(page, "read_of"), "added-0": "Assam"}
    answer = client.post(url, fields | said | {"text": "I like <b>"})
    assert answer.status_code == 302 and "older" not in answer.url
    assert Response.objects.get(participant=participant, prompt=prompt, accepted=True).text == "I like <b>"


def test_fixing_after_the_gate_is_no_older_page_for_scripts_either(client: Client, participant: Participant) -> None:
    make_response(participant, 0)
    url = address(participant, "prompt", 2)
    page = client.get(url)
    fields = {name: hidden(page, name) for name in ("key", "page")}
    asked = client.post(url, fields | {"text": ""}, headers={"Accept": "application/json"})
    assert asked.status_code == 422 and asked.json()["messages"]
    fields |= {"page": asked.json()["page"], "text": answer_text(prompt_of(participant, 1))}
    sent = client.post(url, fields, headers={"Accept": "application/json"})
    assert sent.status_code == 200 and "older" not in sent.json()["next"]


def test_personal_details_are_shown_before_anything_is_stored(client: Client, participant: Participant) -> None:
    page = send(client, participant, "Hi Martina,\n" + LONG)
    assert "<mark>Martina</mark>" in page.text
    assert not Response.objects.filter(participant=participant).exists()


def test_scripts_get_the_next_address_instead_of_a_redirect(client: Client) -> None:
    participant = make_participant(at="instructions")
    answer = client.post(address(participant, "instructions"), headers={"Accept": "application/json"})
    assert answer.json() == {"next": address(participant, "comprehension")}
    gone = complete(make_participant(participant.study, at="debrief"))
    answer = client.post(address(gone, "draft"), {"step": "debrief"}, headers={"Accept": "application/json"})
    assert answer.json() == {"next": address(gone, "end")}


def test_draft_comes_back_with_its_evidence(client: Client, participant: Participant) -> None:
    step = f"prompt:{participant.order[0]}"
    notes = json.dumps({"pasted": 11, "pastes": [{"at": 1, "plain": 11, "html": 0}]})
    draft = {"step": step, "number": "0", "text": "half an ans", "evidence": notes, "removed": '{"name": 1}'}
    assert client.post(address(participant, "draft"), draft).json()["number"] == 1
    page = client.get(address(participant, "prompt", 1))
    assert "half an ans</textarea>" in page.text
    assert escape(notes) in page.text and hidden(page, "removed") == '{"name": 1}'
    assert 'data-number="1"' in page.text


def test_newer_answer_wins_over_an_older_draft(client: Client, participant: Participant) -> None:
    Draft.objects.create(participant=participant, step=f"prompt:{participant.order[0]}", data={"text": "old"})
    make_response(participant, 0, "The newest words of all", keep=True)
    assert "The newest words of all</textarea>" in client.get(address(participant, "prompt", 1)).text


def test_page_with_errors_still_knows_its_draft(client: Client) -> None:
    participant = make_participant(at="questions")
    client.post(address(participant, "draft"), {"step": "questions", "number": "0", "q-milk": "Milk"})
    page = client.post(address(participant, "questions"), {"q-milk": "No milk"}, follow=True)
    assert '<div class="errors"' in page.text and 'data-number="2"' in page.text
    assert re.search(r'value="No milk"[^>]*checked', page.text)


@pytest.mark.parametrize("ending", ["completed", "returned", "technical"])
def test_every_page_leads_somewhere_after_the_end(client: Client, ending: str) -> None:
    participant = make_participant(at=ending)
    for name in ("resume", "questions", "instructions", "comprehension", "context", "debrief", "end"):
        page = client.get(address(participant, name), follow=True)
        assert page.status_code == 200 and participant.code in page.text
    assert participant.code in client.get(address(participant, "prompt", 1), follow=True).text


@pytest.mark.parametrize("step", STEPS)
def test_pages_ahead_lead_back_to_where_the_person_is(client: Client, step: str) -> None:
    participant = make_participant(at=step)
    here = client.get(address(participant, "resume"), follow=True).redirect_chain[-1][0]
    for name in ("debrief", "end"):
        if step == "debrief" and name == "debrief":
            continue
        page = client.get(address(participant, name), follow=True)
        assert page.redirect_chain[-1][0] == here


def test_last_page_cannot_be_reached_past_an_attention_check(client: Client) -> None:
    participant = make_participant()
    answer_all(participant)
    for send in (client.get, client.post):
        assert send(address(participant, "debrief")).url == address(participant, "attention", "leaf")


def test_only_ends_that_need_it_go_to_prolific_by_themselves(client: Client) -> None:
    study = make_study()
    shown = client.get(address(make_participant(study, at="completed"), "end")).text
    assert 'data-go="10"' in shown
    returned = make_participant(study, at="returned")
    shown = client.get(address(returned, "end")).text
    assert "data-go" not in shown and "Go on with the study after all" in shown
    preview = make_participant(study, at="completed", origin="preview")
    assert "data-go" not in client.get(address(preview, "end")).text


def test_withdrawing_erases_and_every_old_page_says_so(client: Client, participant: Participant) -> None:
    make_response(participant, 0)
    pages = [address(participant, name) for name in ("resume", "debrief", "stop", "trouble", "end")]
    client.post(address(participant, "stop"), {"how": "withdraw", "sure": "1"})
    assert not Participant.objects.exists() and not Response.objects.exists()
    assert AnonymousExit.objects.get().kind == "withdrawn"
    for page in pages:
        assert "Everything you gave us is erased" in client.get(page, follow=True).text


def test_full_study_turns_newcomers_away_with_a_code(client: Client) -> None:
    study = make_study(definition=make_definition(places=1))
    make_participant(study)
    late = make_participant(study, at="questions")
    answers = {"chatbot": "chatgpt", "q-adult": "Yes", "q-milk": "Milk"}
    page = client.post(address(late, "questions"), answers, follow=True)
    assert "CODE4" in page.text and "All places for your group are taken" in page.text


@pytest.mark.parametrize(
    ("ids", "words"), [({}, "This link is not complete"), ({"PROLIFIC_PID": "<script>"}, "PROLIFIC_PID")]
)
def test_entry_with_wrong_ids_says_what_to_do(client: Client, ids: dict, words: str) -> None:
    page = client.get(reverse("survey:arrive", args=[make_study().slug]), ids)
    assert page.status_code == 400 and words in page.text and "<script>" not in page.text


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_study_that_is_not_open_explains_itself(client: Client, state: str) -> None:
    study = make_study(state)
    page = client.get(reverse("survey:arrive", args=[study.slug]), make_visit().as_parameters())
    words = {"draft": "has not begun", "paused": "short break", "closed": "is closed"}[state]
    assert words in page.text and 'id="step"' not in page.text


def test_pages_hold_nothing_inline(client: Client, participant: Participant) -> None:
    answer_all(participant)
    for name in ("prompt", "debrief", "stop", "trouble"):
        page = client.get(address(participant, name, *([1] if name == "prompt" else [])), follow=True).text
        assert not re.search(r"<style|<script(?![^>]* src=)|\sstyle=|\son\w+=", page)


def test_draft_of_a_page_that_is_none_is_refused(client: Client, participant: Participant) -> None:
    answer = client.post(address(participant, "draft"), {"step": "prompt:nowhere", "text": "x"})
    assert (answer.status_code, participant.drafts.count()) == (400, 0)


@pytest.mark.parametrize(
    "user_agent,device",
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Mobile/15E148 Safari/604.1", "phone"),
        ("Mozilla/5.0 (Linux; Android 13; SM-X700) AppleWebKit/537.36 Chrome/126.0 Safari/537.36", "tablet"),
        ("Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) Version/16.6 Mobile/15E148", "tablet"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/127.0", "computer"),
        ("", "computer"),
    ],
)
def test_device_is_what_the_browser_says(user_agent: str, device: str) -> None:
    assert device_of(user_agent) == device


def test_settings_are_where_the_study_file_says(client: Client) -> None:
    bots = make_definition().chatbots
    named = replace(bots[0], settings="Settings → Memory", memory_name="Saved memories", model_offered=True)
    study = make_study(definition=make_definition(chatbots=(named, *bots[1:])))
    page = client.get(address(make_participant(study, at="context"), "context")).text
    assert "Look in <b>Settings → Memory</b>" in page and "Shown as “Saved memories”." in page
    assert "Choose the model" in client.get(address(make_participant(study, at="instructions"), "instructions")).text
    plain = make_participant(make_study(slug="plain"), at="context")
    page = client.get(address(plain, "context")).text
    assert "Look in" not in page and "Shown as" not in page
    assert "Choose the model" not in client.get(address(plain, "instructions")).text


@pytest.mark.parametrize("step,number", [("questions", 2), ("instructions", 3), ("comprehension", 4), ("context", 5)])
def test_progress_is_shown_from_consent_on(client: Client, step: str, number: int) -> None:
    participant = make_participant(at=step)
    assert f"Step {number} of 7" in client.get(address(participant, "resume"), follow=True).text
    entry = reverse("survey:arrive", args=[participant.study.slug])
    page = client.get(entry, make_visit().as_parameters()).text
    assert "Step 1 of 7" in page and "You may stop at any time" in page


@pytest.mark.parametrize("debug", [False, True])
def test_damaged_link_leads_to_a_page_that_says_what_to_do(debug: bool, settings) -> None:
    settings.DEBUG = debug  # as in the demo
    make_study()
    for path in ("/s/teas/brokenlink~xyz/questions/", "/nowhere/", "/console/teas/nowhere/"):
        page = Client().get(path)
        assert page.status_code == 404 and "There is nothing at this address" in page.content.decode()


@pytest.mark.parametrize(
    ("accept", "is_json"),
    [
        ("text/html,application/json;q=0.9", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("*/*", False),
        ("", False),
        ("application/json", True),
        ("application/json, text/html;q=0.5", True),
    ],
)
def test_who_would_rather_have_a_page_gets_one(accept: str, is_json: bool) -> None:
    person = make_participant(make_study(), at="instructions")
    answer = Client().post(address(person, "instructions"), headers={"Accept": accept} if accept else {})
    assert (answer.status_code, "json" in answer.headers["Content-Type"]) == ((200, True) if is_json else (302, False))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"why": "no-access", "what": "Read twice: why?"}, "no-access: Read twice: why?"),
        ({"why": "no-window"}, "no-window: no words"),
        ({"what": "It is slow"}, "It is slow"),
        ({}, "no words"),
    ],
)
def test_what_keeps_somebody_from_going_on_is_stored_before_their_words(
    client: Client, participant: Participant, sent: dict[str, str], reason: str
) -> None:
    client.post(address(participant, "trouble"), sent)
    participant.refresh_from_db()
    assert (participant.state, participant.reason) == ("technical", reason)
