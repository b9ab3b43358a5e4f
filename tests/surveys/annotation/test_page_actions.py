"""What annotators do besides labelling: train, skip, undo, change, stop; none of it is a dead end."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from surveys.annotation import items, slots, work
from surveys.models import Annotation, Participant, Slot
from surveys.participation import recruitment
from surveys.participation.steps import address
from tests.factories import (
    annotate,
    definition_of,
    item_of,
    make_annotation_study,
    make_annotator,
    make_items,
    make_visit,
)
from tests.surveys.annotation.page_forms import open_work, path_of, read, send

pytestmark = pytest.mark.django_db


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


def test_label_of_an_item_that_was_erased_meanwhile_leads_to_the_next_one(client: Client) -> None:
    someone = make_annotator(make_annotation_study(kind="relevance", items=2))
    page = open_work(client, someone)
    shown = Slot.objects.get(participant=someone).item
    Slot.objects.filter(item=shown).delete()
    shown.delete()
    page = send(client, page, relevance="yes")
    assert path_of(page) == address(someone, "item", Slot.objects.get(participant=someone).item_id)


def test_training_failed_twice_ends_kindly_with_its_code(client: Client) -> None:
    study = with_training()
    someone = make_annotator(study)
    send(client, open_work(client, someone), relevance="no")
    page = send(client, open_work(client, someone), relevance="no")
    assert "We did not explain this well enough" in page.text
    assert definition_of(study).codes["misunderstood"] in page.text


def test_feedback_names_the_answers_as_they_stood_on_the_page(client: Client) -> None:
    """The right answer is 4 or 5, the personalised response, which the page calls A if it is on the left."""
    someone = make_annotator(with_training("preference"))
    page = open_work(client, someone)
    left = work.next_tasks(someone)[0].left
    better = "A" if left == "personalised" else "B"
    worst = "5" if better == "A" else "1"
    page = send(client, page, preference__milk=worst, preference__budget="3")
    told = [" ".join(words.split()) for words in re.findall(r"<b\s*>(.*?)</b>", page.text, re.DOTALL)]
    assert f"{'B' if better == 'A' else 'A'}, strongly" in told
    assert f"{better}, a little, {better}, strongly" in told


def test_skip_asks_why_and_leaves_the_item_to_others(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=2))
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
    someone = make_annotator(make_annotation_study(kind="attribute", items=2))
    first = open_work(client, someone)
    page = send(client, first, quality="maybe")
    assert "“Maybe”" in page.text
    page = undo(client, someone, page)
    assert path_of(page) == path_of(first)
    assert "Undone: “Maybe”." in page.text and re.search(r'value="maybe"\s+checked', page.text)
    assert "0 of 2 done" in page.text
    page = send(client, page)  # as it was
    assert "1 of 2 done" in page.text
    assert list(Annotation.objects.values_list("state", flat=True)) == ["given", "withdrawn", "given"]


def test_undo_on_the_page_that_was_just_saved_takes_back_what_was_saved(client: Client) -> None:
    """The old page's keys work until the next page has arrived."""
    someone = make_annotator(make_annotation_study(items=2))
    page = open_work(client, someone)
    send(client, page, relevance="yes")
    assert "Undone: “Yes”." in undo(client, someone, page).text
    assert list(Annotation.objects.values_list("state", flat=True)) == ["given", "withdrawn"]


def test_skipped_item_that_others_took_is_still_shown_by_undo(client: Client) -> None:
    study = make_annotation_study(kind="attribute", block="user", overlap=1, items=4)  # all about one user
    someone = make_annotator(study)
    page = open_work(client, someone)
    skipping = read(page).form_to("skip")
    client.post(skipping.data["action"], skipping.fields | {"reason": "other"})
    annotate(make_annotator(study))
    page = undo(client, someone, open_work(client, someone))
    assert "Undone: “Skipped”." in page.text
    assert read(page).form is not None and page.text.count('class="shut"') == 3


def test_undo_of_nothing_says_so(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=1))
    assert "There is nothing to undo." in client.post(address(someone, "undo"), follow=True).text


def test_own_answers_are_listed_and_changed(client: Client, django_assert_num_queries) -> None:
    someone = make_annotator(make_annotation_study(quota=40, items=32))
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
    someone = make_annotator(make_annotation_study(guidelines="## When\n\n- **Yes**: it matters.", items=1))
    for url in (address(someone, "guidelines"), address(someone, "instructions"), path_of(open_work(client, someone))):
        assert "<li><strong>Yes</strong>: it matters.</li>" in client.get(url).text


# --- stopping and ends --------------------------------------------------------


def test_stopping_with_pay_is_offered_once_enough_is_done(client: Client) -> None:
    someone = make_annotator(make_annotation_study(least=2, items=4))
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


def test_page_of_erasing_says_what_becomes_of_an_annotators_pay(client: Client) -> None:
    someone = make_annotator(make_annotation_study(least=2, items=4))
    erase = f"{address(someone, 'stop')}?erase=1"
    assert "You are paid in full after 2 more answers." in client.get(erase).text
    annotate(someone)
    assert "You are paid in full after 1 more answer." in client.get(erase).text
    annotate(someone)
    page = client.get(erase).text
    assert "You have done enough to be paid in full." in page and "return your submission" not in page
    send(client, client.get(address(someone, "debrief")))
    page = client.get(erase).text
    assert "Your part has ended. Whatever you choose here, your pay stays as it is." in page


def test_full_study_is_not_said_to_have_nothing_left(client: Client) -> None:
    study = make_annotation_study(places=1, items=3)
    make_annotator(study, at="instructions")
    late = recruitment.screen(recruitment.give_consent(study, make_visit()), "", {})
    page = client.get(address(late, "end")).text
    assert "All places for your group are taken" in page and "nothing left for you to judge" not in page


def test_nobody_is_left_without_a_way_out_when_others_took_all(client: Client) -> None:
    study = make_annotation_study(overlap=1, items=1)
    early, late = make_annotator(study), make_annotator(study)
    annotate(early)
    page = open_work(client, late)
    assert path_of(page) == address(late, "debrief")
    assert "cc=CODE1" in send(client, page).text


def test_withdrawing_erases_the_labels_and_frees_their_slots(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=1))
    annotate(someone)
    page = client.post(address(someone, "stop"), {"how": "withdraw", "sure": "1"}, follow=True)
    assert "Everything you gave us is erased" in page.text and path_of(page).startswith("/a/")
    assert not Annotation.objects.exists() and not Slot.objects.exclude(participant=None).exists()


def test_who_stopped_comes_back_to_the_work(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=2))
    annotate(someone)
    page = client.post(address(someone, "stop"), {"how": "return"}, follow=True)
    assert "You have stopped" in page.text
    page = send(client, page)
    assert "1 of 2 done" in page.text


def test_sign_of_life_renews_what_is_held(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=1))
    open_work(client, someone)
    soon = timezone.now() + timedelta(minutes=1)
    Slot.objects.filter(participant=someone).update(held_until=soon)
    assert client.post(address(someone, "alive")).status_code == 204
    assert Slot.objects.get(participant=someone).held_until > soon
    assert client.get(address(someone, "alive")).status_code == 405


def test_work_is_closed_to_those_who_have_ended(client: Client) -> None:
    someone = make_annotator(make_annotation_study(items=2))
    page = open_work(client, someone)
    recruitment.complete(someone)
    after = send(client, page, relevance="yes")
    assert path_of(after) == address(someone, "end")
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("fetched_ahead", [False, True])
def test_gold_page_can_be_loaded_again_in_a_study_by_users(client: Client, fetched_ahead: bool) -> None:
    """Neither reloading an unanswered item nor fetching the page after it moves on to the next item."""
    study = make_annotation_study(kind="attribute", block="user", gold_every=2, quota=8, items=8)
    known = item_of(99, "attribute", cluster="", key="known", purpose="gold", gold={"quality": "yes"})
    items.push_items(study, [known], "tests")
    someone = make_annotator(study)
    for _ in range(4):
        annotate(someone)
    page = open_work(client, someone)
    gold = study.annotation_items.get(key="known")
    assert path_of(page) == address(someone, "item", gold.pk)
    if fetched_ahead:
        ahead = client.get(f"{address(someone, 'work')}?ahead={gold.pk}", follow=True)
        assert path_of(ahead) != path_of(page)
    for _ in range(3):
        assert path_of(client.get(path_of(page), follow=True)) == path_of(page)
        assert path_of(open_work(client, someone)) == path_of(page)


def test_gold_page_is_the_same_when_loaded_again_after_others_made_room(client: Client) -> None:
    """Items left about the same user then come first, but only after the open page has its answer."""
    study = make_annotation_study(kind="attribute", block="user", gold_every=2, quota=8, overlap=1, items=4)
    known = item_of(99, "attribute", cluster="", key="known", purpose="gold", gold={"quality": "yes"})
    items.push_items(study, [known], "tests")
    someone, other = make_annotator(study), make_annotator(study)
    taken = list(Slot.objects.order_by("item__position")[:2])
    for slot in taken:
        slots.grant(slot, other, slots.work_for(other), "")
    for _ in range(2):
        annotate(someone)
    page = open_work(client, someone)
    gold = address(someone, "item", study.annotation_items.get(key="known").pk)
    assert path_of(page) == gold
    recruitment.stop(other, Participant.State.RETURNED)
    client.get(f"{address(someone, 'work')}?ahead={study.annotation_items.get(key='known').pk}", follow=True)
    assert path_of(client.get(gold, follow=True)) == gold
    after = send(client, client.get(gold), quality="yes")
    assert path_of(after) == address(someone, "item", taken[0].item_id)
    assert path_of(client.get(gold, follow=True)) == gold  # to be changed, like all that was answered
