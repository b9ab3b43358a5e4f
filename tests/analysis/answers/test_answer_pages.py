"""The console's pages of answers and spellings: members see them, the address filters, researchers decide."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.answers import readings, views
from analysis.answers.alias_proposals import count_spellings
from analysis.answers.alias_views import spelling_counts
from analysis.answers.aliases import accept, alias_map
from analysis.answers.kept import answer_stamp
from analysis.answers.reviews import decide, undo
from analysis.models import AliasDecision, Answer, AnswerDecision, SecondOpinion
from surveys.models import Study
from surveys.participation.pasting.read_back import ReadReply
from surveys.participation.recruitment import withdraw
from tests.analysis.answers.answer_samples import LIST, give, run_offline
from tests.analysis.runs.baseline_factories import make_call, make_endpoint
from tests.analysis.runs.run_samples import answer
from tests.factories import make_participant, make_response, make_study
from tests.surveys.console.console_pages import lines_of, log_in, text_of
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(study: Study) -> Client:
    return log_in(study, "researcher")


def address(name: str, *args: Any) -> str:
    return reverse(f"answers:{name}", args=["teas", *args])


# --- the list ---------------------------------------------------------------


def test_the_page_says_how_many_wait(study: Study, client: Client) -> None:
    give(study, "water", "B")
    assert "1 answer, none in doubt." in lines_of(client.get(address("list")))
    give(study, "water", "A and B")
    assert "1 of 2 answers awaits review." in lines_of(client.get(address("list")))


def test_an_empty_study_says_what_will_stand_here(client: Client) -> None:
    assert "No texts yet." in lines_of(client.get(address("list")))


def test_filters_stand_in_the_address(study: Study, client: Client) -> None:
    give(study, "teas", LIST)
    give(study, "water", "A and B")
    run_offline(study, LIST.replace("Assam", "Matcha"))
    counts = {
        "state=waiting": 1,
        "state=sure": 2,
        "state=decided": 0,
        "state=nonsense": 0,
        "source=offline": 1,
        "source=field": 2,
        "prompt=water": 1,
        "doubt=cut-off": 0,
        "doubt=nothing-found": 1,
        "q=oolong": 2,
        "q=50%25": 0,
        "source=field&prompt=teas": 1,
    }
    for query, count in counts.items():
        assert client.get(f"{address('list')}?{query}").context["rows"].paginator.count == count, query


@pytest.mark.parametrize("name", ["list", "review"])
def test_an_address_that_no_answer_can_have_finds_nothing(study: Study, client: Client, name: str) -> None:
    give(study, "water", "A and B")
    for query in ("q=%00", "source=%00", "prompt=%00", "doubt=%00", f"after={'9' * 5000}"):
        assert client.get(f"{address(name)}?{query}").status_code == 200, query


def test_reading_is_done_at_once_when_there_is_little(study: Study, client: Client) -> None:
    make_response(make_participant(study), "teas", text=LIST, keep=True)
    assert "1 text to read." in lines_of(client.get(address("list")))
    assert "1 text read." in lines_of(client.post(address("read"), follow=True))
    assert Answer.objects.count() == 1


def test_much_reading_is_left_to_a_worker(study: Study, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(views, "READ_AT_ONCE", 0)
    monkeypatch.setattr(views.read_answers, "delay", given.append)
    make_response(make_participant(study), "teas", text=LIST, keep=True)
    page = client.post(address("read"), follow=True)
    assert (given, Answer.objects.count()) == ([study.pk], 0)
    assert "This page keeps count" in lines_of(page)


def test_the_list_takes_as_many_statements_for_many(
    study: Study, client: Client, django_assert_num_queries: Any
) -> None:
    for number in range(12):
        give(study, "teas", LIST.replace("Assam", f"Tea {number}"))
        run_offline(study, LIST)
    client.get(address("list"))
    with django_assert_num_queries(9):  # session, account, study, role, stamp, what is kept, prompts, rows, runs
        client.get(address("list"))


def test_spellings_take_as_many_statements_for_many(
    study: Study, client: Client, django_assert_num_queries: Any
) -> None:
    for number in range(12):
        give(study, "teas", LIST.replace("Assam", f"Tea {number}"))
    client.get(address("spellings"))
    # session, account, study, role, prompts, stamp, twice what is kept, decisions, aliases, version, newest, runs
    with django_assert_num_queries(13):
        client.get(address("spellings"))


def test_what_is_kept_is_counted_again_as_soon_as_an_answer_changes(study: Study, client: Client) -> None:
    def check() -> dict[str, Any]:
        now = views.standing(study)
        assert {name: now[name] for name in ("counts", "unread", "outdated", "sources")} == views.count_answers(study)
        assert spelling_counts(study, answer_stamp(study)) == count_spellings(study)
        return now

    assert check()["counts"]["count"] == 0
    mine = give(study, "teas", LIST)
    odd = give(study, "water", "A and B")
    assert (check()["counts"]["count"], check()["sources"]) == (2, ["field"])
    call = run_offline(study, LIST)
    assert check()["sources"] == ["field", "offline"]
    made = decide(study, odd.pk, "somebody", seen=0, letter="A")
    assert check()["counts"]["decided"] == 1
    undo(study, made.pk, "somebody")
    assert check()["counts"]["waiting"] == 1
    Answer.objects.filter(pk=mine.pk).update(rules_version=0, items=["old"])  # read by earlier rules
    assert check()["outdated"] == 1
    readings.read_new(study)
    assert check()["outdated"] == 0
    make_response(mine.response.participant, "teas", text=LIST.replace("Assam", "Mate"), keep=True)
    assert (check()["counts"]["count"], check()["unread"]) == (2, 1)
    readings.read_new(study)
    answer(make_call(call.run, repeat=1), LIST)
    assert check()["unread"] == 1
    withdraw(mine.response.participant)
    assert check()["counts"]["count"] == 2


def test_the_list_names_prompt_source_and_doubt_in_words(study: Study, client: Client) -> None:
    run_offline(study, "1. Assam\n2. Sencha")  # fewer than asked for
    page = client.get(address("list")).content.decode()
    title = study.current.prompts.get(slug="teas").title
    assert [title in page, "fewer than asked</span>" in page, "Offline <span" in page] == [True] * 3
    assert page.count("primary") == 1


# --- reviewing --------------------------------------------------------------


def test_the_queue_goes_on_after_each_decision(study: Study, client: Client) -> None:
    first, second = give(study, "water", "A and B"), give(study, "water", "B or C")
    assert client.get(address("review")).context["answer"] == first
    data = {"seen": "0", "queue": "1", "letter": "A"}
    page = client.post(address("decide", first.pk), data, follow=True)
    assert page.context["answer"] == second
    assert "Decided: A." in lines_of(page)
    page = client.post(address("decide", second.pk), {"seen": "0", "queue": "1", "unknown": "1"}, follow=True)
    assert "Nothing is awaiting review." in lines_of(page)
    assert list(Answer.objects.order_by("pk").values_list("letter", "decided")) == [("A", True), ("", True)]


def test_skipping_comes_round_again(study: Study, client: Client) -> None:
    first, second = give(study, "water", "A and B"), give(study, "water", "B or C")
    assert client.get(f"{address('review')}?after={first.pk}").context["answer"] == second
    assert client.get(f"{address('review')}?after={second.pk}").context["answer"] == first


def test_items_are_edited_in_their_fields(study: Study, client: Client) -> None:
    odd = give(study, "teas", "Hm.")
    client.post(address("decide", odd.pk), {"seen": "0", "name": ["Assam", "", " sencha "]})
    odd.refresh_from_db()
    assert (odd.items, odd.names) == (["assam", "sencha"], ["Assam", "sencha"])


def test_a_stale_page_keeps_what_was_typed(study: Study, client: Client) -> None:
    odd = give(study, "teas", "Hm.")
    client.post(address("decide", odd.pk), {"seen": "0", "name": "Assam"})
    page = client.post(address("decide", odd.pk), {"seen": "0", "name": "Matcha"})
    assert page.status_code == 409
    assert "Somebody has decided about this answer in the meantime" in lines_of(page)
    assert 'value="Matcha"' in page.content.decode()
    odd.refresh_from_db()
    assert odd.items == ["assam"]


@pytest.mark.parametrize("seen", ["", "x", "99999999999999999999"])
def test_a_made_up_form_changes_nothing(study: Study, client: Client, seen: str) -> None:
    odd = give(study, "water", "A and B")
    assert client.post(address("decide", odd.pk), {"seen": seen, "letter": "A"}).status_code == 409
    assert not AnswerDecision.objects.exists()


def test_signs_that_no_text_can_hold_are_left_out_of_what_was_typed(study: Study, client: Client) -> None:
    odd = give(study, "teas", LIST)
    client.post(address("decide", odd.pk), {"seen": "0", "name": ["Earl\x00Grey", "\x00"]})
    odd.refresh_from_db()
    assert (odd.items, odd.names) == (["earl grey"], ["Earl Grey"])
    form = {
        "action": "accept",
        "group": "0",
        "prompt-0": "teas",
        "item-0": "earl grey\x00",
        "spelling-0": "earl\x00 grey",
    }
    client.post(address("decide-spellings"), form)
    assert not AliasDecision.objects.exists()


def test_undo_says_what_it_took_back(study: Study, client: Client) -> None:
    odd = give(study, "water", "A and B")
    client.post(address("decide", odd.pk), {"seen": "0", "letter": "A"})
    page = client.post(address("undo"), follow=True)
    assert "Undone: “A”." in lines_of(page)
    odd.refresh_from_db()
    assert (odd.letter, odd.decided) == ("", False)


def test_markup_in_a_text_is_shown_as_text(study: Study, client: Client) -> None:
    odd = give(study, "teas", "<script>alert(1)</script>")
    assert b"<script>alert(1)" not in client.get(address("answer", odd.pk)).content


def test_a_second_opinion_is_shown_and_never_applied(study: Study, client: Client) -> None:
    odd = give(study, "water", "A and B")
    SecondOpinion.objects.create(answer=odd, endpoint=make_endpoint(name="other"), letter="B", reply="B")
    assert "other reads: B differs" in lines_of(client.get(address("answer", odd.pk)))
    odd.refresh_from_db()
    assert odd.letter == ""


# --- spellings --------------------------------------------------------------


def give_two_spellings(study: Study) -> None:
    give(study, "teas", LIST)
    give(study, "teas", LIST.replace("Earl Grey", "Earl-Grey").replace("Assam", "Matcha"))


def test_spellings_are_not_called_decided_before_texts_are_read(study: Study, client: Client) -> None:
    none_yet, none_left = "No similar spellings are found yet.", "No similar spellings are left to decide about."
    assert none_yet in lines_of(client.get(address("spellings")))
    give(study, "teas", LIST)
    assert none_left in lines_of(client.get(address("spellings")))
    make_response(make_participant(study), "teas", text=LIST, keep=True)
    assert none_yet in lines_of(client.get(address("spellings")))


def test_a_proposal_is_accepted_and_undone(study: Study, client: Client) -> None:
    give_two_spellings(study)
    page = client.get(address("spellings"))
    assert "1 group of spellings may be the same thing; 1 mention would change its name." in lines_of(page)
    title = study.current.prompts.get(slug="teas").title
    assert f"<legend>\n        {title} <span" in page.content.decode()
    data = {
        "group": "0",
        "prompt-0": "teas",
        "spelling-0": ["earl grey", "earl-grey"],
        "item-0": "earl grey",
        "action": "accept",
    }
    assert "Merged: earl-grey → earl grey" in lines_of(client.post(address("decide-spellings"), data, follow=True))
    assert alias_map(study) == {"teas": {"earl-grey": "earl grey"}}
    client.post(address("undo-spellings"), {"number": "1"})
    assert alias_map(study) == {}


def test_several_proposals_at_once_are_all_or_none(study: Study, client: Client) -> None:
    data = {
        "group": ["0", "1"],
        **{"prompt-0": "teas", "spelling-0": ["a", "b"], "item-0": "b"},
        **{"prompt-1": "teas", "spelling-1": ["c", "x" * 400], "item-1": "c"},
        "action": "accept",
    }
    client.post(address("decide-spellings"), data)
    assert not AliasDecision.objects.exists()


@pytest.mark.parametrize(
    "data",
    [
        {"action": "burn"},
        {"action": "accept"},
        {"action": "accept", "group": "0", "prompt-0": "coffees", "spelling-0": ["a"], "item-0": "b"},
        {"action": "accept", "group": "0", "prompt-0": "teas", "spelling-0": ["a"], "item-0": "a"},
    ],
)
def test_a_form_that_says_nothing_changes_nothing(study: Study, client: Client, data: dict) -> None:
    assert client.post(address("decide-spellings"), data, follow=True).status_code == 200
    assert not AliasDecision.objects.exists()


def test_accepted_spellings_can_be_split_off(study: Study, client: Client) -> None:
    accept(study, "teas", ["a", "b"], "c", "ada")
    data = {"group": "s", "prompt-s": "teas", "spelling-s": ["a"], "item-s": "c", "action": "split"}
    client.post(address("decide-spellings"), data)
    assert alias_map(study) == {"teas": {"b": "c"}}


def test_a_spelling_is_found_and_named_by_hand(study: Study, client: Client) -> None:
    give_two_spellings(study)
    found = client.get(f"{address('spellings')}?q=ea").context["found"]
    assert [(row["name"], row["count"], row["sources"]) for row in found] == [
        ("earl grey", 1, {"field": 1}),
        ("earl-grey", 1, {"field": 1}),
    ]
    data = {"group": "h1", "prompt-h1": "teas", "spelling-h1": ["earl-grey"], "other-h1": "Grey", "action": "accept"}
    client.post(address("decide-spellings"), data)
    assert alias_map(study) == {"teas": {"earl-grey": "grey"}}


def test_all_that_differ_in_marks_only_are_accepted_at_once(study: Study, client: Client) -> None:
    give(study, "teas", LIST)
    give(study, "teas", "1. Earl-Grey\n2. Rooiboss\n3. Oo-long\n4. Mate\n5. Matcha")
    page = client.get(address("spellings"))
    assert "Accept the 2 groups that differ only in marks, spaces or an ending" in lines_of(page)
    forms = page.context["alike"]
    data: dict[str, Any] = {"group": [], "action": "accept"}
    for number, proposal in enumerate(forms):
        data["group"].append(str(number))
        data |= {f"prompt-{number}": "teas", f"item-{number}": proposal.item.name}
        data[f"spelling-{number}"] = [other.name for other in proposal.others]
    client.post(address("decide-spellings"), data)
    assert alias_map(study) == {"teas": {"earl-grey": "earl grey", "oolong": "oo-long"}}


def test_no_more_are_accepted_at_once_than_one_form_may_send(study: Study, client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10
    give(study, "teas", "1. Earl Grey\n2. Oolong\n3. Mateo\n4. Sencha\n5. Assam")
    give(study, "teas", "1. Earl-Grey\n2. Oo-long\n3. Mate-o\n4. Sen-cha\n5. As-sam")
    form = text_of(client.get(address("spellings"))).partition('class="at-once"')[2].partition("</form>")[0]
    fields = re.findall(r'name="([^"]+)"\s+value="([^"]*)"', form)
    data = {name: [value for known, value in fields if known == name] for name, _ in fields}
    page = client.post(address("decide-spellings"), data, follow=True)
    assert (page.status_code, AliasDecision.objects.count()) == (200, 2)


def test_pages_say_which_time_or_state_an_answer_is_of() -> None:
    study = make_study(definition=make_asking_definition())
    person = make_participant(study)
    person.order = ["teas", "teas--2", "teas--temporary", "water", "cakes", "water--2", "pots"]
    person.save()
    make_response(person, "teas", keep=True)
    again = make_response(person, "teas--2", "1. Mate", keep=True)
    out = make_response(person, "teas--temporary", "", reply=ReadReply(no_answer="unreached"))
    readings.read_new(study)
    client = log_in(study)
    page = lines_of(client.get(address("list"), {"prompt": "teas"}))
    assert page.count("Ask for teas (occasion 2)") == page.count("Ask for teas (temporary)") == 1
    assert "The prompt: Ask for teas (occasion 2)" in lines_of(client.get(address("answer", again.answer.pk)))
    assert "could not bring their account into the state" in lines_of(client.get(address("answer", out.answer.pk)))
