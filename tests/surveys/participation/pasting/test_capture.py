"""Answers are stored to the letter, once, with everything asked about them; nothing is lost or doubled."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from surveys.models import Draft, Flag, Participant, Response
from surveys.participation import recruitment
from surveys.participation.pasting import capture
from surveys.participation.pasting.capture import PasteSubmission, read_counts, read_evidence, submit_paste
from surveys.studies.exclusions import ExclusionRule, count_kept_flags, excluded_responses
from surveys.studies.files.definitions import read_study
from tests.factories import answer_text, make_participant, make_response, make_study, prompt_of

pytestmark = pytest.mark.django_db
LONG = "1. A\n2. B\n3. C\n4. D\n5. E\n" + "🫖 شاي \u200b e\u0301 " * 12_000
LIST = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"
WITH_MAIL = LIST + "\nWrite to anna@example.org"
# Longer than a text that two people may share by chance.
COPY = "\n".join(
    f"{n}. {tea}: one for every day." for n, tea in enumerate(("Assam", "Mate", "Sencha", "Chai", "Yen"), 1)
)


def send(participant: Participant, text: str, **changes: object) -> capture.PasteOutcome:
    return submit_paste(participant, PasteSubmission(prompt_of(participant, "teas"), text, **changes))


def accepted_texts(participant: Participant) -> list[str]:
    rows = Response.objects.filter(participant=participant, prompt__slug="teas", accepted=True)
    return list(rows.order_by("revision").values_list("text", flat=True))


def test_text_is_kept_to_the_letter(participant: Participant) -> None:
    assert len(LONG.encode()) > 200_000
    send(participant, LONG, keep=True)
    assert accepted_texts(participant) == [LONG]


def test_line_ends_and_nul_are_the_only_changes(participant: Participant) -> None:
    send(participant, "a\r\nb\rc\x00d", keep=True)
    assert accepted_texts(participant) == ["a\nb\nc\ufffdd"]


def test_same_form_twice_is_one_revision(participant: Participant) -> None:
    key = uuid.uuid4()
    first, second = (send(participant, LIST, key=key) for _ in range(2))
    assert first.accepted and second.accepted and first.revision == second.revision == 1
    assert Response.objects.filter(participant=participant).count() == 1


def test_kept_form_twice_is_one_accepted_revision(participant: Participant) -> None:
    key = uuid.uuid4()
    send(participant, "1. Assam", key=key)
    first, second = (send(participant, "1. Assam", key=key, keep=True) for _ in range(2))
    assert first.revision == second.revision == 2
    assert accepted_texts(participant) == ["1. Assam"]


def test_kept_answer_sent_once_more_without_keep_stays_accepted(participant: Participant) -> None:
    key = uuid.uuid4()
    send(participant, "1. Assam", key=key, keep=True)
    assert send(participant, "1. Assam", key=key).accepted
    assert accepted_texts(participant) == ["1. Assam"]


def test_held_form_twice_is_one_revision_and_asked_again(participant: Participant) -> None:
    key = uuid.uuid4()
    first, second = (send(participant, "1. Assam", key=key) for _ in range(2))
    assert [finding.check for finding in second.findings] == [finding.check for finding in first.findings]
    assert Response.objects.filter(participant=participant).count() == 1


def test_held_form_that_is_fine_by_now_is_stored_as_accepted(
    participant: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = uuid.uuid4()
    refusal = capture.Finding("refusal", 1, "Your chatbot seems not to have answered.", {})
    with monkeypatch.context() as patch:
        patch.setattr(capture, "notice", lambda *about: [refusal])
        assert not send(participant, LIST, key=key).accepted
    assert send(participant, LIST, key=key).accepted
    assert accepted_texts(participant) == [LIST]


def test_text_that_a_neighbour_sent_is_flagged_and_not_asked_about() -> None:
    study = make_study()
    neighbour, participant = make_participant(study), make_participant(study)
    send(neighbour, COPY)
    assert send(participant, COPY).accepted
    assert list(Flag.objects.values_list("check_name", "outcome", "message")) == [("same-as-other", "kept", "")]


def test_layout_goes_with_the_personal_details_that_were_removed(participant: Participant) -> None:
    """The layout holds the same words, whether the server removed the details or the page had done so."""
    layout = "<p>Ask ada@example.org</p>"
    send(participant, f"{LIST}\n\nAsk ada@example.org", html=layout, privacy="remove")
    send(participant, f"{LIST}\n\nAsk [e-mail address]", html=layout, removed={"e-mail": 1})
    send(participant, LIST, html="<p>Tea</p>")
    rows = Response.objects.filter(participant=participant, accepted=True).order_by("revision")
    assert list(rows.values_list("html", flat=True)) == ["", "", "<p>Tea</p>"]


def test_of_several_findings_the_first_is_asked_and_all_are_kept(participant: Participant) -> None:
    text = "ChatGPT said:\n1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong is one of the\nCopy code"
    names = [finding.check for finding in send(participant, text).findings]
    assert len(names) == 1
    assert list(Flag.objects.values_list("check_name", flat=True)) == names
    send(participant, text, keep=True)
    assert Flag.objects.filter(outcome="kept").count() > 1


def test_accepted_form_sent_again_is_not_asked_about_a_copy_made_since() -> None:
    study = make_study()
    participant, neighbour, key = make_participant(study), make_participant(study), uuid.uuid4()
    send(participant, COPY, key=key)
    send(neighbour, COPY, keep=True)
    assert send(participant, COPY, key=key).accepted
    assert accepted_texts(participant) == [COPY]


def test_two_pages_with_one_prompt_keep_both_and_the_newest_counts(participant: Participant) -> None:
    first = send(participant, LIST, base=0)
    second = send(participant, LIST + "\n6. Chai", base=0)
    assert not first.older_page and second.older_page
    assert accepted_texts(participant) == [LIST, LIST + "\n6. Chai"]


@pytest.mark.parametrize(("then", "outcome"), [({"text": LIST}, "fixed"), ({"text": "1. Assam", "keep": True}, "kept")])
def test_held_answer_is_flagged_and_then_fixed_or_kept(
    participant: Participant, then: dict[str, Any], outcome: str
) -> None:
    assert not send(participant, "1. Assam").accepted
    assert Flag.objects.get(check_name="too-few-items").outcome == "shown"
    send(participant, **then)
    flag = Flag.objects.get(check_name="too-few-items")
    assert flag.outcome == outcome and flag.decided_at


def test_second_finding_opens_the_first_flag_again(participant: Participant) -> None:
    send(participant, "1. Assam")
    send(participant, LIST)
    send(participant, "1. Mate")
    flag = Flag.objects.get(check_name="too-few-items")
    assert flag.outcome == "shown" and flag.decided_at is None


def test_flag_of_paste_event_is_decided_by_the_form(participant: Participant) -> None:
    prompt = prompt_of(participant, "teas")
    outcome = capture.check_draft(participant, prompt, "1. Assam")
    assert [finding.check for finding in outcome.findings] == ["too-few-items"]
    send(participant, "1. Assam", keep=True)
    assert list(Flag.objects.values_list("check_name", "outcome")) == [("too-few-items", "kept")]


def test_personal_details_are_asked_before_anything_is_stored() -> None:
    assert send(make_participant(), WITH_MAIL).personal == {"e-mail": 1} and not Response.objects.exists()


@pytest.mark.parametrize(
    ("decided", "personal"),
    [
        ({"privacy": "remove"}, {"removed": {"e-mail": 1}}),
        # Those that were removed in the page count with those that are removed on arrival.
        ({"privacy": "remove", "removed": {"e-mail": 2, "phone": 1}}, {"removed": {"e-mail": 3, "phone": 1}}),
        ({"privacy": "keep"}, {"kept": {"e-mail": 1}}),
    ],
)
def test_personal_details_are_counted_as_they_were_decided(decided: dict[str, Any], personal: dict[str, Any]) -> None:
    send(make_participant(), WITH_MAIL, **decided)
    response = Response.objects.get()
    assert response.personal == personal
    assert response.text == WITH_MAIL if "kept" in personal else "anna" not in response.text


def test_too_many_revisions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "MOST_REVISIONS", 2)
    participant = make_participant()
    for number in (1, 2):
        make_response(participant, "teas", answer_text(prompt_of(participant, "teas"), number))
    with pytest.raises(capture.TooManyPastes):
        send(participant, LIST)


def test_answer_after_the_end_is_refused_and_nothing_stored(participant: Participant) -> None:
    recruitment.stop(participant, Participant.State.RETURNED)
    with pytest.raises(Participant.DoesNotExist):
        send(participant, LIST)
    assert not Response.objects.exists()


def test_answer_of_somebody_timed_out_makes_them_active_in_their_place(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk).update(state="timed_out")
    send(participant, LIST)
    participant.refresh_from_db()
    assert participant.state == "active" and participant.place.expires_at > participant.last_seen_at


# --- drafts -------------------------------------------------------------------------------------------------


def test_draft_number_goes_up_and_an_older_page_overwrites_nothing(participant: Participant) -> None:
    assert capture.save_draft(participant, "prompt:teas", {"text": "a"}, 0) == 1
    assert capture.save_draft(participant, "prompt:teas", {"text": "ab"}, 1) == 2
    assert capture.save_draft(participant, "prompt:teas", {"text": "x"}, 1) is None
    assert Draft.objects.get().data == {"text": "ab"}


# --- hidden fields of the page -----------------------------------------------------------------------------


def test_sealed_page_opens_with_its_revision_and_time() -> None:
    revision, shown_at = capture.open_page(capture.seal_page(3))
    assert revision == 3 and shown_at


@pytest.mark.parametrize("seal", ["", "3", "3~x~y", "\x00", "é~é~é", "spoiled"])
def test_forged_seal_opens_as_unknown(seal: str) -> None:
    # Made here: a seal holds a time, and all processes that run the tests must know them by the same names.
    seal = capture.seal_page(3)[:-1] + "!" if seal == "spoiled" else seal
    assert capture.open_page(seal) == (0, None)


@pytest.mark.parametrize(
    "raw", ["", "null", "[]", "[1]", "{", '"x"', "1e400", '{"pasted": "x"}', '{"pastes": {"a": 1}}', "[" * 100_000]
)
def test_evidence_that_is_none_is_read_as_none(raw: str) -> None:
    evidence = read_evidence(raw)
    assert evidence.get("pasted") is None and not evidence.get("pastes")


def test_evidence_keeps_what_is_documented_only() -> None:
    raw = {"pasted": 30, "typed": 10, "pastes": [{"at": 1, "plain": 30, "html": 0, "text": "x"}], "name": "Anna"}
    evidence = read_evidence(json.dumps(raw))
    assert evidence["share_pasted"] == 0.75 and evidence["pastes"] == [{"at": 1, "plain": 30, "html": 0}]
    assert "name" not in evidence and evidence["observed"] is True


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1, True, "9", None, 10**20])
def test_evidence_number_out_of_range_is_left_out(number: object) -> None:
    evidence = read_evidence(json.dumps({"typed": number}))
    assert "typed" not in evidence or evidence["typed"] == 1 and number is True


@pytest.mark.parametrize("raw", ["", "x", "[]", "[" * 100_000, '{"email": "many"}'])
def test_counts_that_are_none_are_empty(raw: str) -> None:
    assert read_counts(raw) == {}


def test_own_answer_to_another_prompt_is_asked_about(participant: Participant) -> None:
    other = next(slug for slug in participant.order if slug != "teas")
    submit_paste(participant, PasteSubmission(prompt_of(participant, other), COPY, keep=True))
    assert "other-prompt" in [finding.check for finding in send(participant, COPY).findings]


# --- agents among the participants -----------------------------------------------

# Names that browsers send when people use them: desktops, phones, apps, a browser for those who cannot see.
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36 Edg/131.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36 OPR/116.0.0.0",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36 Vivaldi/7.0",
    "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac) AppleWebKit/605.1.15 CriOS/131.0.6778.73 Mobile/15E148",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac) AppleWebKit/605.1.15 FxiOS/133.0 Mobile/15E148 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac) AppleWebKit/605.1.15 GSA/343.0 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPad; CPU OS 17_7 like Mac OS X) AppleWebKit/605.1.15 Version/17.7 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; U; Android 13; en-us; Redmi) AppleWebKit/537.36 Chrome/112.0 Mobile MiuiBrowser/14.20",
    "Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0",
    "Mozilla/5.0 (Linux; Android 14; wv) AppleWebKit/537.36 Version/4.0 Chrome/131.0 Mobile Safari/537.36 Prolific/2.1",
    "Mozilla/5.0 (Linux; Android 12; HUAWEI) AppleWebKit/537.36 Chrome/114.0 HuaweiBrowser/15.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36 DuckDuckGo/5 Chrome/131.0 Mobile Safari/537.36",
)
DEMO = Path(capture.__file__).parents[2] / "studies" / "demo.toml"
AGENT_RULE = ExclusionRule("agents", "Answers with signs of an agent.", "flags", ["agent"], "response")
AGENTS = {
    "Mozilla/5.0 AppleWebKit/537.36; compatible; ChatGPT-User/1.0; +https://openai.com/bot": "ChatGPT-User",
    "Mozilla/5.0 (compatible; Claude-User/1.0; +Claude-User@anthropic.com)": "Claude-User",
    "Mozilla/5.0 (compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)": "Perplexity-User",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/131.0.0.0 Safari/537.36": "HeadlessChrome",
    "Mozilla/5.0 (Linux; x86_64) GoogleAgent-Mariner": "GoogleAgent-Mariner",
}


@pytest.mark.parametrize("name", BROWSERS)
def test_browser_of_a_person_is_no_agent(name: str) -> None:
    assert "agent" not in read_evidence("{}", {"User-Agent": name})


@pytest.mark.parametrize("name", AGENTS)
def test_agent_that_says_its_name_is_kept_by_it(name: str) -> None:
    assert read_evidence("", {"User-Agent": name}) == {"observed": False, "agent": AGENTS[name]}


def test_agent_that_signs_its_requests_is_kept_by_its_address() -> None:
    assert read_evidence("{}", {"Signature-Agent": '"https://chatgpt.com"'})["agent"] == "chatgpt.com"


@pytest.mark.parametrize(
    ("evidence", "flagged"),
    [
        ({"hands": {"keys": 3, "untrusted": 4}, "automated": True}, True),
        ({"hands": {"keys": 3, "untrusted": 4}, "automated": False}, False),
        ({"hands": {}}, False),
        ({}, False),
    ],
)
def test_answer_by_a_driven_browser_is_taken_and_flagged(evidence: dict[str, object], flagged: bool) -> None:
    participant = make_participant(make_study(definition=read_study(DEMO)))
    kept = read_evidence(json.dumps(evidence))
    asked = prompt_of(participant, "ice")
    assert submit_paste(participant, PasteSubmission(asked, "B", evidence=kept)).accepted
    assert Flag.objects.filter(check_name="agent", outcome="kept").exists() == flagged
    assert count_kept_flags(participant.study) == {}  # it is asked of nobody
    assert bool(excluded_responses(participant.study, [AGENT_RULE])) == flagged


def test_hands_are_counted_as_documented() -> None:
    raw = json.dumps({"hands": {"keys": 3, "pointer": "x", "presses": -1, "more": 5}, "automated": "yes"})
    kept = read_evidence(raw)
    assert kept["hands"] == {"keys": 3, "pointer": 0, "presses": 0, "scrolls": 0, "untrusted": 0}
    assert kept["automated"] is False
