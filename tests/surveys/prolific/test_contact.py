"""Groups kept in step with the people here, and messages sent once that say who asked for them."""

import pytest

from surveys.models import AuditEvent, Participant, ProlificGroup, ProlificMessage, Study
from surveys.prolific import contact, tasks
from surveys.prolific.client import ProlificError
from surveys.prolific.contact import ask_messages, keep_groups, make_groups, send_messages
from surveys.prolific.draft import SetUpError, compare, make_draft, update_draft
from surveys.prolific.mock.server import Books
from tests.factories import PROLIFIC_STUDY, make_definition, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said
from tests.surveys.prolific.world import make_paid_study, make_people

pytestmark = pytest.mark.django_db
LINK = "https://study.example.org/s/second/"


@pytest.fixture
def first(books: Books) -> Study:
    """A study with three people."""
    study = make_paid_study()
    make_people(study, books, 3)
    return study


@pytest.fixture
def second(first: Study, books: Books, client_at) -> Study:
    """Another study, with its draft made, which people of the first may not join."""
    definition = make_definition(slug="second", description="More teas.", blocked_from=("teas",), prolific_study_ids=())
    study = make_study("live", definition)
    make_draft(study, LINK, "ada", client_at())
    return study


def pids(study: Study) -> set[str]:
    return set(Participant.objects.filter(study=study).values_list("pid", flat=True))


# --- groups -------------------------------------------------------------------


def test_who_took_part_is_kept_out_and_stays_so(first: Study, second: Study, books: Books, client_at) -> None:
    assert make_groups(second, "ada", {"teas"}, client_at()) == 1
    [(name, group)] = books.groups.items()
    assert (set(group["members"]), group["workspace_id"]) == (pids(first), "w1")
    assert update_draft(second, LINK, "ada", client_at()) == ["filters"]
    draft = second.prolific_draft.prolific_id
    assert books.studies[draft]["filters"] == [{"filter_id": "participant_group_blocklist", "selected_values": [name]}]
    assert all(part.is_same for part in compare(second, LINK, books.studies[draft]))
    make_people(first, books, 1)
    books.add_study("b" * 24)
    group["members"].append("f" * 24)  # put there on Prolific's own pages
    keep_groups(second, client_at())
    assert set(group["members"]) == pids(first) | {"f" * 24}
    assert ProlificGroup.objects.get().members == 5
    calls = books.calls.total()
    keep_groups(second, client_at())
    assert books.calls.total() == calls + 1
    assert AuditEvent.objects.filter(study=second, action="group on Prolific changed").count() == 2


def test_before_the_group_is_made_its_filter_differs(second: Study, books: Books) -> None:
    theirs = books.studies[second.prolific_draft.prolific_id]
    assert [part.name for part in compare(second, LINK, theirs) if not part.is_same] == ["filters"]


def test_people_of_a_study_of_others_stay_out_of_a_group(second: Study, books: Books, client_at) -> None:
    with pytest.raises(SetUpError, match="no researcher of teas"):
        make_groups(second, "eve", {"second"}, client_at())
    assert books.groups == {}


def test_group_without_an_answer_is_found_again(second: Study, books: Books, client_at) -> None:
    books.order_fault("timeout-after", "POST participant-groups/$")
    with pytest.raises(SetUpError, match="looked for first"):
        make_groups(second, "ada", {"teas"}, client_at())
    make_groups(second, "ada", {"teas"}, client_at())
    assert len(books.groups) == 1


def test_invited_are_those_whom_the_gate_keeps(
    first: Study, second: Study, books: Books, client_at, monkeypatch
) -> None:

    kept = Participant.objects.filter(study=first).order_by("pk")
    monkeypatch.setattr(contact, "group_sources", lambda study: {"invited": ["teas"]})
    monkeypatch.setattr(contact, "kept_people", lambda study: kept.filter(state="completed"))
    make_groups(second, "ada", {"teas"}, client_at())
    [group] = books.groups.values()
    assert set(group["members"]) == pids(first)
    person = kept.first()
    Participant.objects.filter(pk=person.pk).update(state="returned")
    keep_groups(second, client_at())
    assert set(group["members"]) == pids(first) - {person.pid}


def test_token_without_rights_is_said_of_the_group(second: Study, books: Books, client_at) -> None:
    make_groups(second, "ada", {"teas"}, client_at())
    books.order_fault("403", "participants")
    keep_groups(second, client_at())
    assert "refused the token" in ProlificGroup.objects.get().fault


# --- messages -----------------------------------------------------------------


def names(study: Study) -> list[str]:
    return list(Participant.objects.filter(study=study).order_by("pk").values_list("pseudonym", flat=True))


def states() -> list[str]:
    return list(ProlificMessage.objects.order_by("pk").values_list("state", flat=True))


def test_message_is_sent_once_in_the_language_of_the_person(first: Study, books: Books, client_at) -> None:
    one, other, _ = names(first)
    Participant.objects.filter(pseudonym=other).update(language="de")
    assert ask_messages(first, "unfinished", [one, other], "ada") == 2
    assert books.messages == []
    assert send_messages(first, client_at()) == 2
    assert send_messages(first, client_at()) == 0
    english, german = sorted(books.messages, key=lambda each: each["recipient_id"])
    assert english["body"].startswith("You began our study") and german["body"].startswith("Sie haben unsere Studie")
    assert (english["study_id"], states()) == (PROLIFIC_STUDY, ["sent", "sent"])
    event = AuditEvent.objects.get(action="messages asked for")
    assert (event.actor, event.subject, event.detail) == ("ada", "unfinished", {"people": sorted([one, other])})
    with pytest.raises(SetUpError, match="has had this message before"):
        ask_messages(first, "unfinished", names(first), "bob")
    assert len(states()) == 2


@pytest.mark.parametrize("fault", ["timeout", "timeout-after", "500-after", "429"])
def test_message_without_an_answer_is_not_sent_again(first: Study, books: Books, client_at, fault: str) -> None:
    ask_messages(first, "technical", names(first), "ada")
    books.order_fault(fault, "POST messages")
    assert send_messages(first, client_at()) == 2
    assert send_messages(first, client_at()) == 0
    assert (states(), books.calls["POST messages/"]) == (["unknown", "sent", "sent"], 3)


def test_token_without_rights_leaves_messages_waiting(first: Study, books: Books, client_at) -> None:
    ask_messages(first, "return", names(first), "ada")
    books.order_fault("403", "POST messages")
    with pytest.raises(ProlificError, match="refused the token"):
        send_messages(first, client_at())
    assert states() == ["asked"] * 3
    assert send_messages(first, client_at()) == 3


def test_sender_that_died_in_the_middle_leaves_a_message_unknown(first: Study, books: Books, client_at) -> None:
    ask_messages(first, "return", names(first)[:1], "ada")
    ProlificMessage.objects.update(state="sending")
    assert send_messages(first, client_at()) == 0
    assert (states(), books.messages) == (["unknown"], [])


def test_nobody_of_another_study_is_written_to(first: Study, second: Study) -> None:
    for people, template, words in (
        (names(first), "return", "is nobody of this study"),
        ([], "return", "at least one"),
        (names(first), "spam", "Choose one"),
    ):
        with pytest.raises(SetUpError, match=words):
            ask_messages(second, template, people, "eve")
    assert states() == []


@pytest.mark.parametrize("wrong", ["nobody", "nobody\0"])
def test_page_keeps_who_was_named_where_one_of_them_is_nobody(
    first: Study, books: Books, site: str, wrong: str
) -> None:
    people = "\n".join([*names(first), wrong])
    form = {"template": "return", "people": people}
    page = log_in(first, "researcher").post("/console/teas/paying/study/write/", form, follow=True)
    assert (page.status_code, said(page)) == (
        422,
        ["Nobody was written to: nobody is nobody of this study on Prolific."],
    )
    shown = page.content.decode()
    assert all(name in shown.partition("<textarea")[2].partition("</textarea>")[0] for name in names(first))
    assert '<option value="return" selected' in shown and states() == []


def test_page_writes_and_the_worker_sends(first: Study, books: Books, site: str, monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(tasks.keep_contact, "delay", asked.append)
    client, at = log_in(first, "researcher"), "/console/teas/paying/study/"
    form = {"template": "return", "people": "\n".join(names(first))}
    assert said(client.post(f"{at}write/", form, follow=True)) == ["3 messages to be sent in the background."]
    assert (asked, books.messages) == ([first.pk], [])
    tasks.pay_and_read_back_all()
    assert len(books.messages) == 3
    assert "Return Sent" in lines_of(client.get(at))
