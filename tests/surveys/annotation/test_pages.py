"""The annotator's pages as plain forms, for each kind from arrival to completion code; none is a dead end."""

import re
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from surveys.models import Annotation, Slot
from surveys.participation.steps import address
from surveys.studies.files.kinds import KINDS, QuestionWords
from tests import factories
from tests.surveys.annotation.page_forms import CHOSEN, arrive, label_next, open_work, path_of, read, send

pytestmark = pytest.mark.django_db


def test_questions_are_asked_in_the_words_of_the_study(client: Client) -> None:
    words = QuestionWords("relevance", "Would you tell the barista?", {"yes": "Sure"}, {"yes": "It changes the cup."})
    study = factories.make_annotation_study(wording="recentering-humans", wordings=(words,), items=2)
    someone = factories.make_annotator(study)
    page = open_work(client, someone).text
    assert "Would you tell the barista?" in page and "It changes the cup." in page and "Sure" in page
    assert "Would the response to this prompt change" not in page
    page = label_next(client, someone, "relevance").text
    assert "“Sure”" in page  # what an undo would take back


def test_published_words_are_a_preset(client: Client) -> None:
    study = factories.make_annotation_study(kind="attribute", wording="recentering-humans", items=1)
    page = open_work(client, factories.make_annotator(study)).text
    assert "Plausible given the conversation." in page and "Is this a fair thing" not in page


@pytest.mark.parametrize("kind", KINDS)
def test_whole_way_by_plain_forms(client: Client, kind: str) -> None:
    study = factories.make_annotation_study(kind=kind)
    made = factories.make_items(study, 2)
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
    study = factories.make_annotation_study(items=1)
    own = address(factories.make_annotator(study), "resume")
    assert own.startswith(f"/a/{study.slug}/")
    assert path_of(client.get(own.replace("/a/", "/s/") + "chatbot/", follow=True)).startswith(own)
    entry = client.get(reverse("annotation:arrive", args=[study.slug]), factories.make_visit().as_parameters()).text
    assert "You judge up to 10 items." in entry and "chatbot" not in entry


def test_questions_are_asked_before_anyone_is_turned_away(client: Client) -> None:
    """The study asks its questions but not for a chatbot; if no work is left, the person gets the code for that."""
    asking = replace(
        factories.definition_of(factories.make_annotation_study("draft")),
        questions=factories.make_definition().questions[:1],
    )
    study = factories.make_study(definition=asking)
    page = client.get(address(arrive(client, study), "questions"))
    assert read(page).form.choices.keys() == {"q-adult"}
    page = send(client, page, **{"q-adult": "Yes"})
    assert "There is nothing left for you to judge" in page.text
    assert factories.definition_of(study).codes["over_quota"] in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_form_sent_empty_asks_again_and_keeps_what_was_chosen(client: Client, kind: str) -> None:
    page = open_work(client, factories.make_annotator(factories.make_annotation_study(kind=kind, items=1)))
    kept = {"preference__budget": "2"} if kind == "preference" else {}
    page = send(client, page, **kept)
    assert page.status_code == 422
    assert page.text.count('aria-invalid="true"') == 1 and "Please choose one answer." in page.text
    assert ('value="2" checked' in " ".join(page.text.split())) is bool(kept)
    assert not Annotation.objects.exists()


def test_page_of_somebody_else_is_refused_and_said(client: Client) -> None:
    study = factories.make_annotation_study(items=2)
    one, other = factories.make_annotator(study), factories.make_annotator(study)
    form = read(open_work(client, one)).form
    url = open_work(client, other).request["PATH_INFO"]
    assert "arrived incomplete" in client.post(url, form.fields | {"relevance": "yes"}, follow=True).text
    assert not Annotation.objects.exists()


def test_script_is_told_where_to_go_on(client: Client) -> None:
    someone = factories.make_annotator(factories.make_annotation_study(items=2))
    form = read(open_work(client, someone)).form
    sent = form.fields | {"relevance": "no", "active_ms": "1234"}
    answer = client.post(form.data["action"], sent, headers={"Accept": "application/json"})
    assert answer.json() == {"next": address(someone, "work")}
    assert Annotation.objects.get().active_ms == 1234


def test_next_page_is_to_be_had_ahead_and_counts_this_one_as_done(client: Client) -> None:
    someone = factories.make_annotator(factories.make_annotation_study(items=3))
    page = open_work(client, someone)
    ahead = client.get(read(page).form.data["data-ahead"], follow=True)
    assert path_of(ahead) != path_of(page)
    assert "0 of 3 done" in page.text and "1 of 3 done" in ahead.text
    send(client, page, relevance="yes")
    assert path_of(open_work(client, someone)) == path_of(ahead)


def test_nothing_is_ahead_of_the_last_item(client: Client) -> None:
    someone = factories.make_annotator(factories.make_annotation_study(items=1))
    assert client.get(read(open_work(client, someone)).form.data["data-ahead"]).status_code == 204


@pytest.mark.parametrize("raw", ["", "x", "-1", "9" * 30, "1,2", "%00"])
def test_addresses_that_nobody_would_write_do_no_harm(client: Client, raw: str) -> None:
    someone = factories.make_annotator(factories.make_annotation_study(kind="attribute", items=2))
    page = open_work(client, someone)
    query = {"ahead": raw, "opened": raw, "find": raw, "older": raw, "back": raw}
    assert client.get(path_of(page), query).status_code == 200
    assert client.get(address(someone, "work"), query).status_code in (204, 302)
    assert send(client, page, quality="yes", opened=raw, active_ms=raw, key=raw).status_code == 200


# --- what is shown --------------------------------------------------------------


def test_evidence_is_marked_in_the_history_and_its_opening_is_noted(client: Client) -> None:
    study = factories.make_annotation_study(kind="attribute")
    factories.make_items(study, 1, evidence=["I like tea", "never said"])
    page = open_work(client, factories.make_annotator(study))
    assert re.search(
        r'<a\s+id="evidence-1"\s*></a><mark\s+class="evidence"\s+data-marks="1"\s*>I like tea</mark>', page.text
    )
    assert "These words are not in the conversation." in page.text
    link = re.search(r'href="(\?opened=1)#evidence-1"', page.text)
    assert link
    send(client, client.get(path_of(page) + link[1]), quality="yes")
    assert Annotation.objects.get().opened == [1]


def test_search_marks_every_place(client: Client) -> None:
    someone = factories.make_annotator(factories.make_annotation_study(kind="attribute", items=1))
    page = client.get(path_of(open_work(client, someone)), {"find": "LIKE t"})
    mark = r'<mark\s+class="evidence found"\s+data-marks="1"\s*>like t</mark>'
    assert "1 place" in page.text and re.search(mark, page.text)


BAD = "<script>alert(1)</script><img src=x onerror=alert(1)> \"' </textarea>"
# By the key of an item that is not a text alone, whichever kind has it.
HOSTILE = {
    "evidence": [BAD],
    "history": [{"title": BAD, "turns": [{"role": "user", "text": BAD}]}],
    "profile": [BAD],
    "attributes": [{"id": "milk", "text": BAD}, {"id": '"><i>', "text": BAD}],
    "generic": f"{BAD}\n\n![x](https://elsewhere.example/x.png)",
    "personalised": "[x](javascript:alert(1))",
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_items_do_nothing(client: Client, kind: str) -> None:
    changes = {name: HOSTILE.get(name, BAD) for name in (*KINDS[kind].needs, *KINDS[kind].may)}
    study = factories.make_annotation_study(kind=kind)
    factories.make_items(study, 1, **changes)
    page = open_work(client, factories.make_annotator(study))
    scripts = re.findall(r"<script[^>]*>", page.text)
    assert scripts and all("/static/surveys/" in script for script in scripts)
    assert not re.search(r"<img|<i>|javascript:alert\(1\)[\"']|https://elsewhere", page.text)
    assert page.text.count("&lt;script&gt;") >= 2


def test_sides_stand_as_the_slot_says(client: Client) -> None:
    study = factories.make_annotation_study(kind="preference", overlap=3)
    factories.make_items(study, 1, generic="GENERIC", personalised="PERSONAL")
    for someone in [factories.make_annotator(study) for _ in range(3)]:
        page = open_work(client, someone).text
        first = "GENERIC" if Slot.objects.get(participant=someone).left == "generic" else "PERSONAL"
        a, b = re.findall(r'<div class="rendered"[^>]*><p>(\w+)</p>', page)
        assert a == first and {a, b} == {"GENERIC", "PERSONAL"}


def test_statements_about_one_user_stand_beside_each_other(client: Client, django_assert_max_num_queries) -> None:
    # Eight items, four about each of two users.
    study = factories.make_annotation_study(kind="attribute", block="user", quota=8, items=8)
    page = open_work(client, factories.make_annotator(study))
    assert page.text.count('class="shut"') == 3
    page = send(client, page, quality="no")
    assert "Doesn&#x27;t make sense</span></a>" in page.text
    with django_assert_max_num_queries(40):
        client.get(path_of(page))


def test_a_long_profile_is_shown_whole_with_what_is_rated_before_it(client: Client) -> None:
    study = factories.make_annotation_study(kind="preference")
    known = [f"Has {number} cups." for number in range(30)]
    parts = [{"id": "cups", "text": "Has 7 cups."}, {"id": "milk", "text": "Drinks no milk."}]
    factories.make_items(study, 1, profile=known, attributes=parts)
    page = open_work(client, factories.make_annotator(study))
    assert [text for text, question in page.context["chips"] if question] == ["Has 7 cups.", "Drinks no milk."]
    assert page.context["known"] == [text for text in known if text != "Has 7 cups."]
    assert "Imagine that this is true of you:" in page.text and all(text in page.text for text in known)
