"""The annotator's pages as plain forms, for each kind from the arrival to the code; none is a dead end."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from surveys import recruitment
from surveys.annotation import items, slots, work
from surveys.models import Annotation, Participant, Slot
from surveys.pages import address
from tests.factories import (
    ITEMS,
    annotate,
    definition_of,
    item_of,
    make_annotation_study,
    make_annotator,
    make_definition,
    make_items,
    make_study,
    make_visit,
)
from tests.surveys.annotation.page_forms import CHOSEN, label_next, open_work, path_of, read, send

pytestmark = pytest.mark.django_db
KINDS = ("attribute", "relevance", "preference")


def arrive(client: Client, study) -> Participant:
    """Through the entry and consent, to whatever comes first."""
    visit, entry = make_visit().as_parameters(), reverse("annotation:arrive", args=[study.slug])
    assert client.get(entry, visit).status_code == 200
    client.post(entry, visit | {"consent": "yes"})
    return Participant.objects.get(pid=visit["PROLIFIC_PID"])


@pytest.mark.parametrize("kind", KINDS)
def test_whole_way_by_plain_forms(client: Client, kind: str) -> None:
    study = make_annotation_study(kind=kind)
    made = make_items(study, 2)
    someone = arrive(client, study)
    page = client.get(address(someone, "resume"), follow=True)
    assert path_of(page) == address(someone, "instructions")
    page = send(client, page)
    assert path_of(page) == address(someone, "comprehension")
    page = send(client, page, task="Answers")
    assert "0 of 2 done" in page.text
    page = label_next(client, someone, kind)
    assert "1 of 2 done" in page.text
    page = label_next(client, someone, kind)
    assert path_of(page) == address(someone, "debrief")
    page = send(client, page, comments="Fine.")
    assert "https://app.prolific.com/submissions/complete?cc=CODE1" in page.text
    labels = Annotation.objects.filter(participant=someone).values_list("item", "labels", "state")
    assert {item for item, _, _ in labels} == {item.pk for item in made}
    for _, given, state in labels:
        assert state == "given" and CHOSEN[kind].items() <= given.items()


def test_study_of_annotators_has_no_pages_of_a_chatbot(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 1)
    someone = make_annotator(study)
    own = address(someone, "resume")
    assert own.startswith(f"/a/{study.slug}/")
    page = client.get(own.replace("/a/", "/s/") + "chatbot/", follow=True)
    assert path_of(page).startswith(own)
    entry = client.get(reverse("annotation:arrive", args=[study.slug]), make_visit().as_parameters()).text
    assert "Up to 10 items to judge" in entry and "chatbot" not in entry


def test_questions_are_asked_before_anyone_is_turned_away(client: Client) -> None:
    """A study with questions asks no chatbot; without work left the person gets the code for that."""
    asking = replace(definition_of(make_annotation_study("draft")), questions=make_definition().questions[:1])
    study = make_study(definition=asking)
    someone = arrive(client, study)
    page = client.get(address(someone, "questions"))
    assert read(page).form.choices.keys() == {"q-adult"}
    page = send(client, page, **{"q-adult": "Yes"})
    assert "All places for your group are taken" in page.text
    assert definition_of(study).codes["over_quota"] in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_form_sent_empty_asks_again_and_keeps_what_was_chosen(client: Client, kind: str) -> None:
    study = make_annotation_study(kind=kind)
    make_items(study, 1)
    page = open_work(client, make_annotator(study))
    kept = {"preference__budget": "2"} if kind == "preference" else {}
    page = send(client, page, **kept)
    assert page.status_code == 422
    assert page.text.count('aria-invalid="true"') == 1 and "Please choose one answer." in page.text
    assert ('value="2" checked' in page.text) is bool(kept)
    assert not Annotation.objects.exists()


def test_same_form_twice_is_one_label(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    page = open_work(client, make_annotator(study))
    send(client, page, relevance="yes")
    again = send(client, page, relevance="yes")
    assert again.status_code == 200
    assert Annotation.objects.count() == 1


def test_page_of_somebody_else_is_refused_and_said(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    one, other = make_annotator(study), make_annotator(study)
    form = read(open_work(client, one)).form
    url = open_work(client, other).request["PATH_INFO"]
    page = client.post(url, form.fields | {"relevance": "yes"}, follow=True)
    assert "did not arrive whole" in page.text
    assert not Annotation.objects.exists()


def test_script_is_told_where_to_go_on(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    someone = make_annotator(study)
    form = read(open_work(client, someone)).form
    sent = form.fields | {"relevance": "no", "active_ms": "1234"}
    answer = client.post(form.data["action"], sent, headers={"Accept": "application/json"})
    assert answer.json() == {"next": address(someone, "work")}
    assert Annotation.objects.get().active_ms == 1234


def test_next_page_is_to_be_had_ahead_and_counts_this_one_as_done(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 3)
    someone = make_annotator(study)
    page = open_work(client, someone)
    ahead = client.get(read(page).form.data["data-ahead"], follow=True)
    assert path_of(ahead) != path_of(page)
    assert "0 of 3 done" in page.text and "1 of 3 done" in ahead.text
    send(client, page, relevance="yes")
    assert path_of(open_work(client, someone)) == path_of(ahead)


def test_nothing_is_ahead_of_the_last_item(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 1)
    someone = make_annotator(study)
    ahead = client.get(read(open_work(client, someone)).form.data["data-ahead"])
    assert ahead.status_code == 204


@pytest.mark.parametrize("raw", ["", "x", "-1", "9" * 30, "1,2", "%00"])
def test_addresses_that_nobody_would_write_do_no_harm(client: Client, raw: str) -> None:
    study = make_annotation_study(kind="attribute")
    make_items(study, 2)
    someone = make_annotator(study)
    page = open_work(client, someone)
    query = {"ahead": raw, "opened": raw, "find": raw, "older": raw, "back": raw}
    assert client.get(path_of(page), query).status_code == 200
    assert client.get(address(someone, "work"), query).status_code in (204, 302)
    assert send(client, page, quality="yes", opened=raw, active_ms=raw, key=raw).status_code == 200


# --- training, skipping, undoing, changing ------------------------------------


def with_training(kind: str = "relevance", **work: object):
    study = make_annotation_study(kind=kind, **work)
    labels = {"relevance": {"relevance": "yes"}, "preference": {"preference/milk": ["4", "5"]}}[kind]
    one = item_of(99, kind, key="practice", purpose="training", gold=labels, explanation="Milk matters.")
    items.push_items(study, [one], "tests")
    make_items(study, 1)
    return study


def test_training_says_what_was_right_and_why(client: Client) -> None:
    someone = make_annotator(with_training())
    page = open_work(client, someone)
    assert "Practice: 0 of 1 done" in page.text and 'id="skip"' not in page.text
    page = send(client, page, relevance="no")
    assert "We see this one differently" in page.text and "Milk matters." in page.text
    page = send(client, page)
    page = send(client, page, relevance="yes")
    assert "That is how we see it too" in page.text
    page = send(client, page)
    assert "0 of 1 done" in page.text and "Practice" not in page.text


def test_training_failed_twice_ends_kindly_with_its_code(client: Client) -> None:
    study = with_training()
    someone = make_annotator(study)
    send(client, open_work(client, someone), relevance="no")
    page = send(client, open_work(client, someone), relevance="no")
    assert "We did not explain this well enough" in page.text
    assert definition_of(study).codes["misunderstood"] in page.text


def test_feedback_names_the_answers_as_they_stood_on_the_page(client: Client) -> None:
    """Right is 4 or 5, the personalised response: with that one on the left it is called A."""
    someone = make_annotator(with_training("preference"))
    page = open_work(client, someone)
    left = work.next_tasks(someone)[0].left
    better = "A" if left == "personalised" else "B"
    worst = "5" if better == "A" else "1"
    page = send(client, page, preference__milk=worst, preference__budget="3")
    assert f"<b>{'B' if better == 'A' else 'A'}, strongly</b>" in page.text
    assert f"<b>{better}, a little, {better}, strongly</b>" in page.text


def test_skip_asks_why_and_leaves_the_item_to_others(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    someone = make_annotator(study)
    page = open_work(client, someone)
    skipping = next(form for form in read(page).forms if form.data.get("action", "").endswith("/skip/"))
    url = skipping.data["action"]
    asked = client.post(url, skipping.fields)
    assert asked.status_code == 422 and "Please choose a reason." in asked.text and "<details" in asked.text
    after = client.post(url, skipping.fields | {"reason": "unclear", "words": "Which cups?"}, follow=True)
    assert path_of(after) != path_of(page)
    said = Annotation.objects.get()
    assert (said.state, said.reason) == ("skipped", "unclear: Which cups?")
    assert not Slot.objects.filter(item=said.item, participant=someone).exists()


def undo(client: Client, participant: Participant, page):
    form = next(form for form in read(page).forms if form.data.get("action") == address(participant, "undo"))
    return client.post(form.data["action"], form.fields, follow=True)


def test_undo_says_what_it_undid_and_shows_it_again(client: Client) -> None:
    study = make_annotation_study(kind="attribute")
    make_items(study, 2)
    someone = make_annotator(study)
    first = open_work(client, someone)
    page = send(client, first, quality="maybe")
    assert "“Maybe”" in page.text
    page = undo(client, someone, page)
    assert path_of(page) == path_of(first)
    assert "Taken back: “Maybe”." in page.text and 'value="maybe" checked' in page.text
    assert "0 of 2 done" in page.text
    page = send(client, page)  # as it was
    assert "1 of 2 done" in page.text
    assert list(Annotation.objects.values_list("state", flat=True)) == ["given", "withdrawn", "given"]


def test_undo_of_nothing_says_so(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 1)
    someone = make_annotator(study)
    assert "There is nothing to take back." in client.post(address(someone, "undo"), follow=True).text


def test_own_answers_are_listed_and_changed(client: Client, django_assert_num_queries) -> None:
    study = make_annotation_study(quota=40)
    make_items(study, 32)
    someone = make_annotator(study)
    annotate(someone, relevance="yes")
    url = address(someone, "labels")
    client.get(url)
    with django_assert_num_queries(3):
        client.get(url)
    for _ in range(29):
        annotate(someone, relevance="yes")
    with django_assert_num_queries(3):
        page = client.get(url)
    links = re.findall(r'href="([^"]+back=labels)"', page.text)
    assert len(links) == 30
    page = send(client, client.get(links[-1]), relevance="no")
    assert path_of(page) == url
    assert page.text.count("<b>No</b>") == 1 and page.text.count("<b>Yes</b>") == 29


def test_guidelines_are_at_hand_and_rendered(client: Client) -> None:
    study = make_annotation_study(guidelines="## When\n\n- **Yes**: it matters.")
    make_items(study, 1)
    someone = make_annotator(study)
    for url in (address(someone, "guidelines"), address(someone, "instructions"), path_of(open_work(client, someone))):
        assert "<li><strong>Yes</strong>: it matters.</li>" in client.get(url).text


# --- stopping and ends --------------------------------------------------------


def test_stopping_with_pay_is_offered_once_enough_is_done(client: Client) -> None:
    study = make_annotation_study(least=2)
    make_items(study, 4)
    someone = make_annotator(study)
    stop, debrief = address(someone, "stop"), address(someone, "debrief")
    assert "Possible after 2 more answers." in client.get(stop).text
    assert "/item/" in path_of(client.get(debrief, follow=True))
    annotate(someone)
    assert "Possible after 1 more answer." in client.get(stop).text
    annotate(someone)
    assert f'href="{debrief}"' in client.get(stop).text
    page = client.get(debrief)
    assert "Stop here, with your pay?" in page.text
    assert "cc=CODE1" in send(client, page).text
    assert not slots.held_slots(someone).exists()


def test_nobody_is_left_without_a_way_out_when_others_took_all(client: Client) -> None:
    study = make_annotation_study(overlap=1)
    make_items(study, 1)
    early, late = make_annotator(study), make_annotator(study)
    annotate(early)
    page = open_work(client, late)
    assert path_of(page) == address(late, "debrief")
    assert "cc=CODE1" in send(client, page).text


def test_withdrawing_erases_the_labels_and_frees_their_slots(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 1)
    someone = make_annotator(study)
    annotate(someone)
    page = client.post(address(someone, "stop"), {"how": "withdraw"}, follow=True)
    assert "Everything you gave us is erased" in page.text and path_of(page).startswith("/a/")
    assert not Annotation.objects.exists() and not Slot.objects.exclude(participant=None).exists()


def test_who_stopped_comes_back_to_the_work(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    someone = make_annotator(study)
    annotate(someone)
    page = client.post(address(someone, "stop"), {"how": "return"}, follow=True)
    assert "You have stopped" in page.text
    page = send(client, page)
    assert "1 of 2 done" in page.text


def test_sign_of_life_renews_what_is_held(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 1)
    someone = make_annotator(study)
    open_work(client, someone)
    soon = timezone.now() + timedelta(minutes=1)
    Slot.objects.filter(participant=someone).update(held_until=soon)
    assert client.post(address(someone, "alive")).status_code == 204
    assert Slot.objects.get(participant=someone).held_until > soon
    assert client.get(address(someone, "alive")).status_code == 405


def test_work_is_closed_to_those_who_have_ended(client: Client) -> None:
    study = make_annotation_study()
    make_items(study, 2)
    someone = make_annotator(study)
    page = open_work(client, someone)
    recruitment.complete(someone)
    after = send(client, page, relevance="yes")
    assert path_of(after) == address(someone, "end")
    assert not Annotation.objects.exists()


# --- what is shown --------------------------------------------------------------


def test_evidence_is_marked_in_the_history_and_its_opening_is_noted(client: Client) -> None:
    study = make_annotation_study(kind="attribute")
    make_items(study, 1, evidence=["I like tea", "never said"])
    someone = make_annotator(study)
    page = open_work(client, someone)
    assert re.search(r'<a id="evidence-1"></a><mark class="evidence" data-marks="1">I like tea</mark>', page.text)
    assert "These words do not stand in the conversation." in page.text
    link = re.search(r'href="(\?opened=1)#evidence-1"', page.text)
    assert link
    send(client, client.get(path_of(page) + link[1]), quality="yes")
    assert Annotation.objects.get().opened == [1]


def test_search_marks_every_place(client: Client) -> None:
    study = make_annotation_study(kind="attribute")
    make_items(study, 1)
    someone = make_annotator(study)
    page = client.get(path_of(open_work(client, someone)), {"find": "LIKE t"})
    assert "1 place" in page.text and '<mark class="evidence found" data-marks="1">like t</mark>' in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_items_do_nothing(client: Client, kind: str) -> None:
    bad = "<script>alert(1)</script><img src=x onerror=alert(1)> \"' </textarea>"
    changes = {
        "attribute": {
            "attribute": bad,
            "evidence": [bad],
            "history": [{"title": bad, "turns": [{"role": "user", "text": bad}]}],
        },
        "relevance": {"attribute": bad, "prompt": bad},
        "preference": {
            "prompt": bad,
            "profile": [bad],
            "attributes": [{"id": "milk", "text": bad}, {"id": '"><i>', "text": bad}],
            "generic": f"{bad}\n\n![x](https://elsewhere.example/x.png)",
            "personalised": "[x](javascript:alert(1))",
        },
    }[kind]
    study = make_annotation_study(kind=kind)
    make_items(study, 1, **changes)
    someone = make_annotator(study)
    page = open_work(client, someone)
    scripts = re.findall(r"<script[^>]*>", page.text)
    assert scripts and all("/static/surveys/" in script for script in scripts)
    assert not re.search(r"<img|<i>|javascript:alert\(1\)[\"']|https://elsewhere", page.text)
    assert page.text.count("&lt;script&gt;") >= 2


def test_sides_stand_as_the_slot_says(client: Client) -> None:
    study = make_annotation_study(kind="preference", overlap=3)
    make_items(study, 1, generic="GENERIC", personalised="PERSONAL")
    for someone in [make_annotator(study) for _ in range(3)]:
        page = open_work(client, someone).text
        first = "GENERIC" if Slot.objects.get(participant=someone).left == "generic" else "PERSONAL"
        a, b = re.findall(r'<div class="rendered"[^>]*><p>(\w+)</p>', page)
        assert a == first and {a, b} == {"GENERIC", "PERSONAL"}


def test_statements_about_one_user_stand_beside_each_other(client: Client, django_assert_max_num_queries) -> None:
    study = make_annotation_study(kind="attribute", block="user", quota=8)
    make_items(study, 8)  # four about each of two users
    someone = make_annotator(study)
    page = open_work(client, someone)
    assert page.text.count('class="shut"') == 3
    page = send(client, page, quality="no")
    assert "Doesn&#x27;t make sense</span></a>" in page.text
    with django_assert_max_num_queries(40):
        client.get(path_of(page))


def test_every_kind_has_items_here() -> None:
    assert set(KINDS) == set(ITEMS)
