"""Items of a stage: the line of stages, items counted first and added once, by those who may act in both studies."""

import re
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from surveys.annotation.items import stages_of
from surveys.models import AuditEvent, Membership, Study
from surveys.studies.lifecycle import close
from tests.analysis.people.people_samples import as_program, ask, command
from tests.analysis.people.test_relevant import make_judged
from tests.analysis.runs.servers import make_fake
from tests.factories import make_account, make_annotation_study, make_study
from tests.lasting import copied_world
from tests.roles import as_account
from tests.surveys.console.console_pages import lines_of
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
RELEVANT = {"source": "pairs"}


@copied_world
def into() -> Study:
    """The stage after `pairs`, whose responses exist; `ada` is a researcher in both, `bob` in this one only."""
    make_fake()
    study = make_judged(next="answers")
    ask(study, "respond")
    into = make_annotation_study(kind="preference", slug="answers")
    ada, bob = make_account("ada", study, "researcher"), make_account("bob", into, "researcher")
    Membership.objects.create(study=into, user=ada, role="researcher")
    Membership.objects.create(study=study, user=bob, role="viewer")
    return into


def post(who: str, slug: str, name: str, **data: Any) -> Any:
    return as_account(who).post(reverse("people:push", args=[slug, name]), data)


def page_of(who: str, slug: str) -> str:
    return as_account(who).get(reverse("people:items", args=[slug])).text


def test_a_page_without_items_begins_as_a_sentence() -> None:
    make_account("ada", make_annotation_study(slug="alone"), "researcher")
    make_account("bob", make_annotation_study(slug="first", next="second"), "researcher")
    assert '<h1 class="answer">No items yet.</h1>' in page_of("ada", "alone")
    assert '<h1 class="answer">Stage 1 of 2: no items yet.</h1>' in page_of("bob", "first")


def test_stages_are_found_from_any_of_them() -> None:
    first = make_annotation_study(kind="attribute", slug="first", next="second")
    second = make_annotation_study(kind="relevance", slug="second", next="third")
    assert stages_of(first) == stages_of(second) == ["first", "second", "third"]
    third = make_annotation_study(kind="preference", slug="third")
    assert stages_of(third) == ["first", "second", "third"]
    assert stages_of(make_annotation_study(slug="alone")) == ["alone"]
    one = make_annotation_study(slug="one", next="two")
    make_annotation_study(slug="two", next="one")
    assert stages_of(one) == ["two", "one"]


def test_page_shows_the_stage_and_the_way_to_the_next_one(into: Study) -> None:
    shown = page_of("ada", "pairs")
    assert "Stage 1 of 2: 5 items" in shown and "Next stage" in shown
    counted = " ".join(post("ada", "pairs", "relevant", source="pairs", into="answers", count="yes").text.split())
    assert "2 items with 6 slots would be added" in counted and "Add 2 items to answers" in counted
    assert not into.annotation_items.exists() and not AuditEvent.objects.filter(study=into, action="items added")
    done = as_account("ada").post(
        reverse("people:push", args=["pairs", "relevant"]), RELEVANT | {"into": "answers"}, follow=True
    )
    assert "answers: 2 items with 6 slots." in done.text
    assert into.annotation_items.count() == 2
    assert "Stage 2 of 2: 2 items" in page_of("ada", "answers")
    again = " ".join(post("ada", "answers", "relevant", source="pairs", count="yes").text.split())
    assert "Nothing new: 0 items with 0 slots; 2 already there." in again


def test_count_does_not_promise_what_is_left_out(into: Study) -> None:
    post("ada", "answers", "relevant", source="pairs", items="1")
    counted = " ".join(post("ada", "answers", "relevant", source="pairs", count="yes").text.split())
    assert "1 item with 3 slots would be added; 1 already there." in counted


def test_parallel_clicks_add_each_item_once(into: Study) -> None:
    replies = at_once([lambda: post("ada", "answers", "relevant", source="pairs") for _ in range(4)])
    assert {reply.status_code for reply in replies} == {302}
    assert into.annotation_items.count() == 2
    with pytest.raises(CommandError, match="names no next stage"):
        command("push_relevant", "answers")
    again = command("push_relevant", "pairs")  # its file names the next stage
    assert (again["to"], again["items"], again["already_there"]) == ("answers", 0, 2)


def test_who_may_not_in_both_studies_pushes_nothing(into: Study) -> None:
    make_account("eve", make_study(slug="elsewhere"), "owner")
    assert post("bob", "answers", "relevant", source="pairs").status_code == 403
    assert post("bob", "pairs", "relevant", source="pairs", into="answers").status_code == 403
    assert post("eve", "answers", "relevant", source="pairs").status_code == 404
    assert Client().post(reverse("people:push", args=["answers", "relevant"]), RELEVANT).status_code == 401
    assert as_account("eve").get(reverse("people:items", args=["answers"])).status_code == 404
    assert not into.annotation_items.exists()
    assert "Next stage" not in page_of("ada", "answers")


def test_ways_of_other_kinds_of_studies_are_not_found(into: Study) -> None:
    assert post("ada", "pairs", "refined").status_code == 404
    assert post("ada", "answers", "everything").status_code == 404
    pasting = make_study(slug="teas")
    make_account("pat", pasting, "owner")
    assert as_account("pat").get(reverse("people:items", args=["teas"])).status_code == 404
    assert post("ada", "pairs", "people", source="nowhere", users=4, least=2).status_code == 422


def test_api_counts_and_adds(into: Study) -> None:
    ada, url = as_program("ada"), "/api/v1/studies/answers/push/relevant/"
    dry = ada.post(url, RELEVANT | {"dry": True}, content_type="application/json").json()
    assert (dry["dry"], dry["items"], dry["slots"], into.annotation_items.count()) == (True, 2, 6, 0)
    assert ada.post(url, RELEVANT | {"dry": "perhaps"}, content_type="application/json").json() == {
        "detail": "dry is true or false, not 'perhaps'."
    }
    for sent in (
        ada.post(url, RELEVANT | {"dry": "true"}, content_type="application/json"),
        ada.post(url, RELEVANT | {"dry": "true"}),
    ):
        assert sent.json()["dry"] and not into.annotation_items.exists()
    done = ada.post(url, RELEVANT, content_type="application/json").json()
    assert (done["dry"], done["items"], into.annotation_items.count()) == (False, 2, 2)
    assert ada.post(url, {}, content_type="application/json").status_code == 404  # no study is named
    wrong = ada.post("/api/v1/studies/pairs/push/people/", {"source": "none"}, content_type="application/json")
    assert wrong.status_code == 400
    assert as_program("bob").post(url, RELEVANT, content_type="application/json").status_code == 403


def test_refused_count_or_push_keeps_what_was_typed_and_says_why(into: Study) -> None:
    typed = RELEVANT | {"items": "7", "people": "3", "seed": "5", "pilot": "on"}
    close(into, "tests")
    for slug, more in (("answers", {"count": "yes"}), ("answers", {}), ("pairs", {"into": "answers"})):
        page = post("ada", slug, "relevant", **typed, **more)
        assert page.status_code == 422 and "answers is closed for good: nobody new can label more" in page.text
        assert all(f'name="{name}" value="{typed[name]}"' in page.text for name in ("items", "people", "seed"))
        assert re.search(r'name="pilot"[^>]* checked', page.text)
    assert not into.annotation_items.exists()
    with pytest.raises(CommandError, match="answers is closed for good"):
        command("push_relevant", "pairs")


def test_page_says_what_its_items_are_and_where_they_come_from() -> None:
    for kind, *says in (
        ("attribute", "Merged attributes of its sampled users.", "None yet. Bring one under Corpora"),
        ("relevance", "Attributes that a model proposed for pairs of prompt and user.", "None yet. Bring one"),
        ("preference", "What most people call relevant in the stage before,", "None yet. Make a study"),
        ("error", "Rejected attributes are brought by push_rejected"),
    ):
        make_account(kind, make_annotation_study(kind=kind, slug=kind), "researcher")
        shown = lines_of(as_account(kind).get(reverse("people:items", args=[kind])))
        assert all(part in shown for part in says), shown
    refused = post("preference", "preference", "relevant", items="7")
    assert refused.status_code == 422 and 'name="items" value="7"' in refused.text
