"""The read-back: people see how their answer was read, and their reply is stored in a row of its own."""

import re
import uuid

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from analysis.answers.readings import read_new
from analysis.models import Answer
from surveys.models import Flag, Participant, ReadBack, Response
from surveys.participation.pasting.capture import PasteOutcome, PasteSubmission, submit_paste
from surveys.participation.pasting.read_back import LONGEST_READ, ReadReply, mark_of, read_reply, weigh_reply
from surveys.participation.steps import address
from surveys.reading.answers import RULES_VERSION, find_name
from tests.factories import make_participant, make_study, prompt_of

pytestmark = pytest.mark.django_db
FIVE = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"
TWO = "I would try these:\n1. **Assam** – strong\n2. Sencha – green\n\nAnd do not forget Darjeeling on Sundays."


def send(participant: Participant, text: str, slug: str = "teas", **said: object) -> PasteOutcome:
    reply = ReadReply(**{"of": mark_of(text), **said}) if said else ReadReply()
    return submit_paste(participant, PasteSubmission(prompt_of(participant, slug), text, reply=reply))


def row() -> ReadBack:
    return ReadBack.objects.get()


def test_confirmed_reading_is_a_row_with_the_readers_version() -> None:
    assert send(make_participant(), FIVE, confirmed=True).accepted
    assert (row().verdict, row().rules_version) == ("right", RULES_VERSION)
    assert row().names == row().read_names == ["Assam", "Sencha", "Rooibos", "Mate", "Oolong"]


def test_whole_reading_saved_without_a_word_is_told_from_one_that_was_confirmed() -> None:
    assert send(make_participant(), FIVE, of=mark_of(FIVE)).accepted
    assert row().verdict == "unsaid"


def test_page_that_showed_no_reading_leaves_no_row() -> None:
    assert send(make_participant(), FIVE).accepted
    assert not ReadBack.objects.exists()


def test_reading_of_another_text_says_nothing_about_this_one(participant: Participant) -> None:
    reply = ReadReply(of=mark_of(FIVE), confirmed=True)
    assert submit_paste(participant, PasteSubmission(prompt_of(participant, "teas"), FIVE + "\n", reply=reply)).accepted
    assert not ReadBack.objects.exists()


def test_short_reading_is_held_until_somebody_says_what_it_is(participant: Participant) -> None:
    for _ in range(3):
        outcome = send(participant, TWO, of=mark_of(FIVE))
        assert not outcome.accepted and outcome.unread
    assert not ReadBack.objects.exists()
    assert send(participant, TWO, confirmed=True).accepted
    assert row().verdict == "right" and Flag.objects.get().outcome == "kept"


def test_added_name_takes_its_place_in_the_text_and_is_marked_where_it_is_not_there() -> None:
    text = TWO.replace("I would try these", "Lapsang first, then these")
    assert send(make_participant(), text, added=("darjeeling", "Earl Grey", "Lapsang")).accepted
    assert row().names == ["Lapsang", "Assam", "Sencha", "darjeeling", "Earl Grey"]
    assert row().absent == ["Earl Grey"]
    assert row().verdict == "corrected"


def test_missing_names_that_make_the_list_whole_call_the_check_a_false_alarm(participant: Participant) -> None:
    send(participant, TWO)
    send(participant, TWO, added=("Darjeeling", "Chai", "Yen"))
    assert Flag.objects.get().outcome == "fixed"


def test_name_taken_out_is_a_correction() -> None:
    send(make_participant(), FIVE, out=("Mate",))
    assert row().names == ["Assam", "Sencha", "Rooibos", "Oolong"]
    assert Response.objects.get().text == FIVE


def test_spelling_of_a_name_that_was_read_is_no_new_name() -> None:
    send(make_participant(), FIVE, added=("the ASSAM", " "), confirmed=True)
    assert row().verdict == "right"


@pytest.mark.parametrize("given,verdict,letter", [("C", "corrected", "C"), ("none", "right", "")])
def test_choice_without_a_letter_asks_which_one(
    participant: Participant, given: str, verdict: str, letter: str
) -> None:
    for confirmed in (False, True):  # the button alone chooses none
        assert send(participant, "lol", "water", confirmed=confirmed).unread
    assert send(participant, "lol", "water", letter=given).accepted
    assert (row().verdict, row().letter) == (verdict, letter)


WHY = "A cold cup draws little, option A is out.\nHot water opens the leaves.\n\nSo the answer is **C. Hot**."


@pytest.mark.parametrize("text,asks", [("lol", True), ("I think B", True), ("idk", True), (WHY, False), ("C", False)])
def test_choice_prompt_asks_where_no_letter_is_read_and_not_of_a_whole_explanation(text: str, asks: bool) -> None:
    outcome = send(make_participant(), text, "water")
    assert (outcome.unread, outcome.accepted) == (asks, not asks)


@pytest.mark.parametrize("given,letter", [("A", "A"), ("none", ""), ("Z", "B"), ("AB", "B")])
def test_letter_that_was_read_can_be_corrected(given: str, letter: str) -> None:
    assert send(make_participant(), "B", "water", letter=given).accepted
    assert (row().read_letter, row().letter) == ("B", letter)


def test_other_question_stands_until_it_is_answered_too(participant: Participant) -> None:
    text = "ChatGPT said:\n" + FIVE + "\nCopy code"
    outcome = send(participant, text, confirmed=True)
    assert [finding.check for finding in outcome.findings] == ["residue"] and not outcome.unread


def test_empty_box_with_a_reason_is_an_answer(participant: Participant) -> None:
    reply = ReadReply(no_answer="limit")
    assert submit_paste(participant, PasteSubmission(prompt_of(participant, "teas"), " \n", reply=reply)).accepted
    assert (row().no_answer, row().verdict, row().names) == ("limit", "right", [])
    assert not submit_paste(
        participant, PasteSubmission(prompt_of(participant, "water"), "", reply=ReadReply())
    ).accepted


def test_text_is_no_missing_answer(participant: Participant) -> None:
    assert weigh_reply(prompt_of(participant, "teas"), FIVE, ReadReply(no_answer="error")) is None


def test_same_form_with_the_same_correction_is_one_revision_and_with_another_a_second(participant: Participant) -> None:
    key = uuid.uuid4()
    prompt = prompt_of(participant, "teas")
    for added in ("Chai", "Chai", "Yen"):
        reply = ReadReply(of=mark_of(FIVE), out=("Assam",), added=(added,))
        assert submit_paste(participant, PasteSubmission(prompt, FIVE, key=key, reply=reply)).accepted
    assert [said.names[-1] for said in ReadBack.objects.order_by("pk")] == ["Chai", "Yen"]


BROKEN = {
    "right, and yet other names": {"verdict": "right", "names": ["Mate"]},
    "corrected to the same": {"verdict": "corrected", "names": ["Assam"]},
    "a letter among names": {"verdict": "corrected", "names": ["Mate"], "letter": "A"},
    "absent, and not named": {"verdict": "corrected", "names": ["Mate"], "absent": ["Chai"]},
    "an answer that was none": {"verdict": "right", "names": ["Assam"], "no_answer": "error"},
    "no verdict": {"verdict": "maybe", "names": ["Assam"]},
}


@pytest.mark.parametrize("fault", BROKEN)
def test_database_refuses(fault: str) -> None:
    send(make_participant(), FIVE)
    values = {"response": Response.objects.get(), "rules_version": 1, "read_names": ["Assam"], **BROKEN[fault]}
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadBack.objects.create(**values)


def test_database_keeps_one_row_for_each_response_and_version_as_it_is() -> None:
    send(make_participant(), FIVE, of=mark_of(FIVE))
    said = row()
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadBack.objects.create(response=said.response, rules_version=said.rules_version, verdict="right")
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadBack.objects.update(verdict="right")


@pytest.mark.parametrize(
    "text,name,there",
    [
        ("We like **Joe’s**\nPizza!", "joe's pizza", True),
        ("[Joe](https://example.org)", "Joe", True),
        ("Joesephine", "Joe", False),
        ("おすすめは東京タワーです", "東京タワー", True),
        ("Anything", "!!", False),
    ],
)
def test_name_is_looked_up_by_its_words(text: str, name: str, there: bool) -> None:
    assert (find_name(text, name) is not None) == there


def test_reply_of_a_form_is_cut_to_what_can_be_one() -> None:
    form = {f"added-{n}": f" Tea  {n} " + "x" * 400 for n in range(40)}
    form |= {f"shown-{n}": f"Name {n}" for n in range(40)} | {"name-1": "x", "name-": "", "shown-\u0661\u0661": "y"}
    reply = read_reply(form | {"no_answer": "boredom", "name-99999999999": "x"})
    assert len(reply.out) == 20 and "Name 0" in reply.out and "Name 1" not in reply.out
    assert len(reply.added) == 20 and reply.added[2].startswith("Tea 2 ") and len(reply.added[2]) == 300
    assert reply.no_answer == ""


def test_corrections_hold_for_a_later_text_by_item() -> None:
    participant, edited = make_participant(), FIVE.replace("Rooibos", "Rooibos red") + "\nAlso Darjeeling."
    assert send(participant, edited, of=mark_of(FIVE), out=("mate",), added=("Darjeeling", "Chai")).accepted
    assert row().verdict == "corrected"
    assert row().names == ["Assam", "Sencha", "Rooibos red", "Oolong", "Darjeeling", "Chai"]


def test_reading_of_another_text_that_nobody_corrected_is_not_confirmed_by_it(participant: Participant) -> None:
    assert send(participant, FIVE + "\n", of=mark_of(FIVE), out=("Chai",), confirmed=True).accepted
    assert not ReadBack.objects.exists()


def test_letter_that_was_corrected_holds_for_a_later_text(participant: Participant) -> None:
    assert send(participant, "It is B, I think", "water", of=mark_of("B"), read="B", letter="C").accepted
    assert (row().letter, row().verdict) == ("C", "corrected")


def panel_after(client: Client, participant: Participant, text: str, **fields: str) -> str:
    form = {"step": "prompt:teas", "number": fields.pop("number", 0), "check": 1, "text": text, **fields}
    return client.post(address(participant, "draft"), form).json()["panel"]


def test_panel_of_an_edited_text_keeps_corrections_and_says_what_is_gone(
    client: Client, participant: Participant
) -> None:
    said = {f"{kind}-{n}": name for n, name in enumerate(row_names(FIVE)) for kind in ("shown", "name")}
    del said["name-3"], said["name-4"]
    said |= {"read_of": mark_of(FIVE), "added-0": "Chai"}
    panel = panel_after(client, participant, FIVE.replace("Oolong", "Sencha gold"), **said)
    boxes = re.findall(r'value="([^"]*)"\s*(checked)?\s*>\s*<bdi>', panel)
    assert [name for name, stands in boxes if not stands] == ["Mate"]
    assert 'value="Chai"' in panel
    assert "No longer in the text: Oolong, Chai." in panel


def test_corrections_outlive_a_text_that_shows_no_reading(client: Client, participant: Participant) -> None:
    said = {"read_of": mark_of(FIVE), "shown-0": "Assam", "added-0": "Chai"}
    panel = panel_after(client, participant, "I'm sorry, but I can't help with that.", **said)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)">', panel))
    assert read_reply(fields) == read_reply(said)


def row_names(text: str) -> list[str]:
    return [line.partition(" ")[2] for line in text.splitlines()]


def test_page_shows_again_what_was_said(client: Client) -> None:
    participant = make_participant(make_study())
    number = participant.order.index("teas") + 1
    if number == 2:
        send(participant, "B", "water")
    send(participant, FIVE, out=("Sencha",), added=("Chai",))
    page = client.get(address(participant, "prompt", number)).content.decode()
    boxes = re.findall(r'<input\s+type="checkbox"\s+name="name-[^>]*>', page)
    assert len(boxes) == 5 and sum("checked" in box for box in boxes) == 4
    assert 'value="Chai"' in page


# --- texts that are too long to be read while somebody waits ---------------------

LONG = TWO + "\n\n" + "The water should not boil when it meets the leaves. " * 1_200


def test_text_that_is_very_long_is_taken_at_once_and_read_by_the_worker(participant: Participant) -> None:
    assert len(LONG) > LONGEST_READ
    assert send(participant, LONG, confirmed=True).accepted
    assert not ReadBack.objects.exists() and not Flag.objects.exists()
    assert Response.objects.get().text == LONG
    assert read_new(participant.study) == 1 and read_new(participant.study) == 0
    assert Answer.objects.get().names[:2] == ["Assam", "Sencha"]


def test_text_that_is_very_long_is_checked_all_the_same() -> None:
    outcome = send(make_participant(), LONG + "Then pour it over the")
    assert [finding.check for finding in outcome.findings] == ["cut-off"]


def test_page_of_a_very_long_text_shows_no_reading_and_says_that_it_is_read_later(
    client: Client, participant: Participant
) -> None:
    path = address(participant, "draft")
    number = 0
    for text, said in ((TWO, False), (LONG, True)):
        sent = client.post(path, {"step": "prompt:teas", "number": number, "check": 1, "text": text}).json()
        number = sent["number"]
        assert ("read it later" in sent["panel"], 'name="read_of"' in sent["panel"]) == (said, not said)
