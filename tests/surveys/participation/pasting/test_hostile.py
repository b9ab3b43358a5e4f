"""What participants, or others in their place, may send: never a server error, never shown raw, never lost."""

import json
import uuid
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from surveys.models import Draft, Participant, Response
from surveys.participation.steps import address
from surveys.simulation.browser import read_page
from surveys.studies.access import sign_link
from tests.factories import make_participant, make_study, make_visit, prompt_of

SCRIPT = "<script>alert(document.cookie)</script>"
HANDLER = '"><img src=x onerror=alert(1)>'
INJECTION = "'; DROP TABLE surveys_response; --"
LIST = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong\n"
FORM = "application/x-www-form-urlencoded"
PAGES = (
    *("questions", "instructions", "comprehension", "context", "debrief", "end"),
    *("draft", "trouble", "stop", "resume"),
)


def prompt_page(participant: Participant, number: int = 1) -> str:
    return address(participant, "prompt", number)


def list_page(participant: Participant) -> str:
    """The page of the prompt that asks for a list."""
    return prompt_page(participant, participant.order.index("teas") + 1)


def unlock(participant: Participant) -> Participant:
    """Answer every prompt before the one that asks for a list."""
    client = Client()
    if participant.order[0] != "teas":
        client.post(prompt_page(participant), {"text": "A", "key": str(uuid.uuid4())})
    return participant


# --- scripts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [SCRIPT, HANDLER, "</textarea>" + SCRIPT, "{{ participant.pid }}{% debug %}"])
def test_pasted_markup_is_never_shown_raw(client: Client, participant: Participant, payload: str) -> None:
    path, text = list_page(unlock(participant)), LIST + payload
    held = client.post(path, {"text": payload, "html": payload, "evidence": payload, "removed": payload})
    assert held.status_code == 200 and b"gate" in held.content
    client.post(path, {"text": text, "html": payload, "keep": "1"})
    again = client.get(path)
    for page in (held, again):
        shown = page.content.decode()
        assert SCRIPT not in shown and "<img src=x" not in shown and "</textarea><" not in shown
    assert Response.objects.filter(participant=participant, accepted=True, text=text, html=payload).exists()


def test_markup_in_ids_is_never_shown_raw(client: Client, db: None) -> None:
    study = make_study()
    for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "SIMULATED", "lang"):
        given = make_visit().as_parameters() | {name: SCRIPT}
        page = client.get(f"/s/{study.slug}/", given)
        assert page.status_code in (200, 400) and SCRIPT not in page.content.decode()


def test_markup_in_comments_and_trouble_is_kept_as_text(client: Client, db: None) -> None:
    participant = make_participant(at="debrief")
    page = client.post(address(participant, "debrief"), {"comments": SCRIPT}, follow=True)
    participant.refresh_from_db()
    assert participant.comments == SCRIPT and SCRIPT not in page.content.decode()


def test_draft_with_markup_is_shown_as_text(client: Client, participant: Participant) -> None:
    step = f"prompt:{participant.order[0]}"
    client.post(address(participant, "draft"), {"step": step, "text": "</textarea>" + SCRIPT, "evidence": HANDLER})
    shown = client.get(prompt_page(participant)).content.decode()
    assert SCRIPT not in shown and "<img src=x" not in shown and "&lt;script&gt;" in shown


def test_pages_forbid_scripts_that_are_not_files_of_ours(client: Client, participant: Participant) -> None:
    policy = client.get(prompt_page(participant)).headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "default-src 'none'" in policy and "unsafe" not in policy


def test_consent_needs_a_yes(client: Client, db: None) -> None:
    study = make_study()
    for chosen in ({}, {"consent": ""}, {"consent": "n"}, {"consent": "ye"}, {"consent": "YES"}):
        page = client.post(f"/s/{study.slug}/", make_visit().as_parameters() | chosen, follow=True)
        assert page.status_code == 200 and b'value="yes"' in page.content
    assert not Participant.objects.exists()


def test_details_taken_out_before_a_question_are_counted_in_the_answer_that_is_kept(
    client: Client, participant: Participant
) -> None:
    path, key = list_page(unlock(participant)), str(uuid.uuid4())
    held = client.post(path, {"text": "1. anna@example.org", "key": key, "privacy": "remove"})
    form = read_page(200, path, held.content.decode()).form.fields
    client.post(path, form | {"keep": "1"})
    response = Response.objects.get(participant=participant, prompt__slug="teas", accepted=True)
    assert "anna" not in response.text and response.personal == {"removed": {"e-mail": 1}}


# --- injection ---------------------------------------------------------------------------------------------


def test_sql_in_every_field_is_only_text(client: Client, participant: Participant) -> None:
    path = list_page(unlock(participant))
    client.post(path, {"text": LIST + INJECTION, "key": INJECTION, "page": INJECTION, "keep": "1"})
    assert Response.objects.get(participant=participant, prompt__slug="teas").text == LIST + INJECTION


@pytest.mark.parametrize("value", [INJECTION, "a" * 23 + "'", "%00", "a" * 5_000, "０" * 24])
def test_ids_that_are_none_get_a_page_that_says_what_to_do(client: Client, db: None, value: str) -> None:
    study = make_study()
    page = client.get(f"/s/{study.slug}/", make_visit().as_parameters() | {"PROLIFIC_PID": value})
    assert page.status_code == 400 and b"PROLIFIC_PID" in page.content and not Participant.objects.exists()


@pytest.mark.parametrize("value", ["en\r\nSet-Cookie: a=b", "en%0d%0aSet-Cookie: a=b", "\x00", "../../de"])
def test_header_injection_by_language_has_no_effect(client: Client, participant: Participant, value: str) -> None:
    for page in (
        client.get(prompt_page(participant), {"lang": value}),
        client.get(f"/s/{participant.study.slug}/", make_visit().as_parameters() | {"lang": value}),
    ):
        assert page.status_code == 200 and "a=b" not in str(page.headers)
    participant.refresh_from_db()
    assert participant.language == "en"


def test_nobody_marks_themselves_as_simulated(client: Client, db: None) -> None:
    study, visit = make_study(), make_visit()
    for mark in (visit.pid, f"{visit.pid}~{'a' * 43}", "~"):
        client.post(f"/s/{study.slug}/", visit.as_parameters() | {"SIMULATED": mark, "consent": "yes"})
    assert Participant.objects.get().origin == "prolific"


# --- encodings and sizes -----------------------------------------------------------------------------------

STRANGE = {
    "emoji": "👩🏽‍🚀🏳️‍🌈 " * 9_000,
    "right to left": "شاي بالنعناع ‏\u202e\u2066\n" * 6_000,
    "zero width": "a\u200b\u200c\u200d\ufeff\u00ad" * 14_000,
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢" * 2_000,
    "control": "".join(chr(n) for n in range(1, 32) if n != 13) * 500 + "\x7f\x85\u2028\u2029",
    "beyond": "\U0010fffd\ue000\ufffe\uffff" * 500,
    "spaces": " \t\n\n  x  \n\t ",
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_text_survives_to_the_letter(client: Client, participant: Participant, kind: str) -> None:
    path, text = list_page(unlock(participant)), STRANGE[kind]
    sent = client.post(path, urlencode({"text": text, "keep": "1", "privacy": "keep"}), content_type=FORM)
    assert sent.status_code == 302
    stored = Response.objects.get(participant=participant, prompt__slug="teas", accepted=True)
    assert stored.text == text and stored.text_sha256


def test_text_that_begins_with_line_ends_is_shown_again_with_them(client: Client, participant: Participant) -> None:
    path = list_page(unlock(participant))
    client.post(path, {"text": "\n\n" + LIST, "keep": "1"})
    assert f"\n\n\n{LIST}</textarea>" in client.get(path).content.decode()


BROKEN = {
    "not UTF-8": b"text=%FF%FE%C3%28&key=%FF",
    "raw bytes": b"text=\xff\xfe\xc3\x28",
    "NUL": b"text=a%00b&key=%00&page=%00&evidence=%00&html=%00&removed=%00&privacy=%00",
    "lone surrogate": b"text=%ED%A0%80x%ED%BF%BF",
    "surrogate in evidence": b'text=x&evidence={"pastes":[{"at":1}],"x":"\\ud800"}&removed={"\\ud800":1}',
    "half a percent": b"text=%&key=%u00e9&=&&;",
    "no names": b"=====",
    "deep": b"text=x&evidence=" + b"[" * 50_000,
    "large number": b'text=x&evidence={"typed":' + b"9" * 5_000 + b"}&removed=" + b"9" * 5_000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_encodings_are_answered_and_stored_as_text(client: Client, participant: Participant, kind: str) -> None:
    path = list_page(unlock(participant))
    reply = client.post(path, BROKEN[kind] + b"&keep=1&privacy=keep", content_type=FORM)
    assert reply.status_code == 302
    assert "\x00" not in Response.objects.filter(participant=participant).latest("id").text


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("at,name", [("prompts", "draft"), ("context", "context"), ("debrief", "debrief")])
def test_broken_encodings_on_other_pages(client: Client, db: None, at: str, name: str, kind: str) -> None:
    participant = make_participant(at=at)
    fields = BROKEN[kind].replace(b"text=", b"comments=") + b"&model_shown=%00%FF&step=%00&number=%00&lang=%00"
    assert client.post(address(participant, name), fields, content_type=FORM).status_code < 500


def test_nul_in_draft_is_kept_out_of_the_database_and_the_rest_is_kept(
    client: Client, participant: Participant
) -> None:
    step = f"prompt:{participant.order[0]}"
    reply = client.post(address(participant, "draft"), {"step": step, "text": "a\x00b", "number": "0"})
    assert reply.status_code == 200 and Draft.objects.get().data["text"] == "a\ufffdb"


@pytest.mark.parametrize("query", ["lang=%FF", "older=%00", "%FF=%FF", "lang=%ED%A0%80", "a[]=1&a[]=2"])
def test_broken_queries_are_answered(client: Client, participant: Participant, query: str) -> None:
    for path in (prompt_page(participant), f"/s/{participant.study.slug}/"):
        assert client.get(f"{path}?{query}").status_code < 500


def test_body_above_the_limit_is_refused_and_nothing_stored(participant: Participant) -> None:
    client = Client(raise_request_exception=False)
    body = b"text=" + b"x" * (6 * 1024 * 1024 + 1)
    reply = client.post(prompt_page(participant), body, content_type=FORM)
    assert reply.status_code in (400, 413) and not Response.objects.exists()


def test_text_above_the_limit_is_asked_to_be_shortened_and_stays_on_the_page(
    client: Client, participant: Participant
) -> None:
    reply = client.post(prompt_page(participant), {"text": "y" * 1_000_001})
    assert b"1,000,000" in reply.content and b"yyyy" in reply.content and not Response.objects.exists()


def test_too_many_fields_are_refused(participant: Participant) -> None:
    body = "&".join(f"a{n}=1" for n in range(1_000))
    reply = Client().post(prompt_page(participant), body, content_type=FORM)
    assert reply.status_code in (400, 413) and not Response.objects.exists()


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "multipart/form-data", "multipart/form-data; boundary=x"]
)
def test_other_kinds_of_body_are_answered(client: Client, participant: Participant, kind: str) -> None:
    reply = client.generic("POST", prompt_page(participant), b"--x\r\nbroken", content_type=kind)
    assert reply.status_code < 500 and not Response.objects.filter(accepted=True).exists()


# --- addresses ---------------------------------------------------------------------------------------------


def test_links_that_we_did_not_sign_are_not_found(client: Client, participant: Participant) -> None:
    slug, other = participant.study.slug, participant.pseudonym
    good = sign_link(slug, other)
    forged = [
        other,
        good[:-1],
        good + "a",
        good.upper(),
        good.replace("~", "~~"),
        sign_link("coffee", other),
        "~",
        "a~b",
    ]
    for token in forged:
        for page in ("", "prompt/1/", "draft/", "stop/", "end/"):
            path = f"/s/{slug}/{quote(token)}/{page}"
            assert client.get(path).status_code == 404, token
            assert client.post(path, {"how": "withdraw", "sure": "1"}).status_code == 404, token
    assert Participant.objects.filter(pk=participant.pk).exists()


def test_link_of_one_study_opens_nothing_in_another(client: Client, participant: Participant) -> None:
    token = sign_link(participant.study.slug, participant.pseudonym)
    assert client.get(f"/s/coffee/{token}/prompt/1/").status_code == 404


@pytest.mark.parametrize("number", ["0", "3", "999999999999999999999999", "-1", "1.5", "٣"])
def test_prompt_numbers_that_are_none_lead_somewhere(client: Client, participant: Participant, number: str) -> None:
    path = prompt_page(participant).replace("/prompt/1/", f"/prompt/{quote(number)}/")
    for reply in (client.get(path, follow=True), client.post(path, {"text": LIST}, follow=True)):
        assert reply.status_code in (200, 404)
    assert not Response.objects.exists()


def test_prompt_that_is_not_due_yet_leads_to_the_one_that_is(client: Client, participant: Participant) -> None:
    assert client.get(prompt_page(participant, 2)).headers["Location"] == prompt_page(participant, 1)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "BREW"])
def test_other_methods_change_nothing(client: Client, participant: Participant, method: str) -> None:
    paths = [prompt_page(participant), *(address(participant, name) for name in PAGES)]
    for path in [*paths, f"/s/{participant.study.slug}/", f"/s/{participant.study.slug}/withdrawn/"]:
        reply = client.generic(method, path, b"text=x&how=withdraw&sure=1", content_type=FORM)
        assert reply.status_code < 500, path
    assert Participant.objects.get(pk=participant.pk).state == "active" and not Response.objects.exists()


def test_study_that_is_none_gets_a_page(client: Client, db: None) -> None:
    for slug in ("nothing", "a" * 300, "-", "_"):
        assert client.get(f"/s/{slug}/", make_visit().as_parameters()).status_code == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Accept-Language", "Accept", "Cookie", "Referer", "User-Agent"])
def test_strange_headers_are_harmless(client: Client, participant: Participant, header: str) -> None:
    for value in ("a" * 8_000, "\xff\xfe", SCRIPT, "1.2.3.4, " * 500, "application/json;q=x"):
        reply = client.get(prompt_page(participant), headers={header: value})
        assert reply.status_code == 200 and SCRIPT not in reply.content.decode()


# --- fuzz --------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Co", "Zl"]), max_size=10),
    st.sampled_from(
        ["", "0", "1", "-1", "1e9", "null", "[]", "{}", "\x00", SCRIPT, INJECTION, LIST, "yes", "keep", "remove"]
    ),
    st.sampled_from(
        ["chatgpt", "Yes", "Milk", "Answers", "return", "withdraw", "prompt:teas", "prompt:x", "context", "de"]
    ),
)
NAMES = st.sampled_from(
    ["text", "key", "page", "evidence", "html", "privacy", "removed", "keep", "step", "number", "check", "chatbot"]
    + ["q-adult", "q-milk", "q-cups", "task", "answer", "product", "model_shown", "plan", "memory", "personalisation"]
    + ["chat", "chat_language", "device", "comments", "what", "how", "consent", "lang", "SIMULATED", "PROLIFIC_PID"]
)
FIELDS = st.dictionaries(NAMES, TEXTS, max_size=12)
STEPS = ("questions", "instructions", "comprehension", "context", "prompts", "debrief", "returned", "completed")


def encoded(fields: dict[str, str]) -> bytes:
    return urlencode(fields, errors="surrogatepass").encode()


class Fuzz(TestCase):
    """Any fields on any page: the response is below 500, and the person's state is one the database allows."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.study = make_study(places=50)

    def paths(self) -> Iterator[tuple[Participant, str]]:
        for step in STEPS:
            participant = make_participant(self.study, step)
            yield participant, prompt_page(participant)
            yield participant, address(participant, "attention", "leaf")
            for name in PAGES:
                yield participant, address(participant, name)

    @settings(max_examples=5, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_any_fields_on_any_page(self, data: st.DataObject) -> None:
        client = Client()
        for _participant, path in self.paths():
            fields = data.draw(FIELDS)
            headers = data.draw(st.sampled_from([{}, {"Accept": "application/json"}]))
            reply = client.post(path, encoded(fields), content_type=FORM, headers=headers)
            assert reply.status_code < 500, (path, fields)
            query = encoded({"lang": data.draw(TEXTS)}).decode()
            reply = client.get(f"{path}?{query}", headers=headers)
            assert reply.status_code < 500, (path, fields)

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(fields=FIELDS, sends=st.booleans())
    def test_any_fields_at_the_entry(self, fields: dict[str, str], sends: bool) -> None:
        given_ids = make_visit().as_parameters() | fields
        body = encoded(given_ids)
        path = f"/s/{self.study.slug}/"
        reply = Client().post(path, body, content_type=FORM) if sends else Client().get(f"{path}?{body.decode()}")
        assert reply.status_code < 500, fields


def test_evidence_of_any_shape_is_stored_as_documented(client: Client, participant: Participant) -> None:
    asked = prompt_of(participant)
    for evidence in (
        {"pastes": [1, None, {"at": "x"}]},
        {"typed": 1e308, "pasted": -0.0},
        {"typed": True},
        {"hands": [1]},
        {"hands": {"keys": "x"}},
    ):
        client.post(prompt_page(participant), {"text": "B", "evidence": json.dumps(evidence), "keep": "1"})
        kept = Response.objects.filter(participant=participant, prompt=asked).latest("id").evidence
        documented = {"observed", "typed", "pasted", "edited_after", "pastes", "share_pasted", "hands", "automated"}
        assert set(kept) <= documented


def test_draft_of_a_step_that_no_database_holds_is_a_bad_request(client: Client, participant: Participant) -> None:
    step = f"prompt:{participant.order[0]}"
    for name in (f"{step}\x00", "prompt:\x00", "\x00"):
        client.get(prompt_page(participant))
        reply = client.post(address(participant, "draft"), {"step": name, "text": "a"})
        assert reply.status_code == 400 and reply.json()["error"]
    assert not Draft.objects.exists()


def test_fields_with_names_that_no_database_holds_are_kept_without_these(client: Client, db: None) -> None:
    participant = make_participant(at="debrief")
    sent = client.post(address(participant, "trouble"), {"what": "x" * 20_000, "a\x00b": "c"})
    assert sent.status_code == 302 and Draft.objects.get().data["ab"] == "c"


def test_draft_of_a_report_goes_with_the_end(client: Client, db: None) -> None:
    participant = make_participant(at="debrief")
    path = address(participant, "trouble")
    client.post(path, {"what": "x" * 20_000})
    assert Draft.objects.filter(step="trouble").exists()
    client.post(path, {"what": "It does not load."})
    assert Participant.objects.get().state == "technical" and not Draft.objects.filter(step="trouble").exists()
    late = client.post(path, {"what": "x" * 20_000})
    assert late.status_code == 302 and not Draft.objects.filter(step="trouble").exists()
