"""The console's pages about people: the monitor, the list, one participant, the flow and the audit trail."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from surveys.console import collect_views, people_views
from surveys.models import AnonymousExit, AuditEvent, Participant, Study
from surveys.participation.pasting.read_back import ReadReply
from surveys.studies import audit, lifecycle
from surveys.studies.imports.responses import import_responses
from tests.factories import annotate, make_annotation_study, make_annotator, make_participant, make_response, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db
State, Step = Participant.State, Participant.Step
HOSTILE = "</pre><script>alert('x')</script>\u202e<img src=x onerror=alert(1)>"


@pytest.fixture
def study() -> Study:
    return make_study(places=9)


# --- collect and participants -------------------------------------------------


def test_monitor_names_simulated_people_and_those_left_out(study: Study) -> None:
    make_participant(study, origin="simulated")
    make_participant(study, origin="preview")
    page = lines_of(log_in(study).get("/console/teas/collect/"))
    assert "1 of 1 who came is simulated." in page
    assert "Left out: 1 previewing." in page


def test_monitor_and_flow_name_people_who_were_simulated_in_the_pilot() -> None:
    study = make_study("pilot")
    make_participant(study, origin="simulated")
    make_participant(study)
    client = log_in(study)
    for page in ("collect", "flow"):
        for who, says in (("pilot", True), ("all", True), ("main", False)):
            lines = lines_of(client.get(f"/console/teas/{page}/?who={who}"))
            assert ("1 of 2 who came is simulated." in lines) is says


def test_one_of_thousands_who_could_not_take_part_is_not_written_as_none(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ("technical", "no-access", 1, 1 / 3_000, 0.0, 0.0019)
    monkeypatch.setattr(collect_views, "count_could_not", lambda counts: [found])
    make_participant(study)
    assert "&lt;\u202f0.1\u202f% (0.0–0.2)" in log_in(study).get("/console/teas/flow/").content.decode()


def test_monitor_and_flow_count_simulated_people_of_whom_only_a_count_is_left(study: Study) -> None:
    make_participant(study, origin="simulated")
    given = {"version": study.current, "origin": "simulated", "day": timezone.localdate()}
    AnonymousExit.objects.create(kind="no_consent", **given)
    AnonymousExit.objects.create(kind="withdrawn", pilot=True, **given)
    client = log_in(study)
    for page in ("collect", "flow"):
        assert "2 of 2 who came are simulated." in lines_of(client.get(f"/console/teas/{page}/"))
        assert "3 of 3 who came are simulated." in lines_of(client.get(f"/console/teas/{page}/?who=all"))
    assert "2 of 2 who came are simulated." in lines_of(client.get("/console/teas/"))


def test_one_of_many_is_not_said_to_be_none_nor_all_others_everybody(study: Study) -> None:
    given = {"version": study.current, "origin": "prolific", "day": timezone.localdate()}
    AnonymousExit.objects.bulk_create(AnonymousExit(kind="no_consent", **given) for _ in range(299))
    AnonymousExit.objects.create(kind="withdrawn", **given)
    client = log_in(study)
    for page in ("collect", "flow"):
        words = text_of(client.get(f"/console/teas/{page}/"))
        assert ">\u202f99\u202f%<" in words.replace("&gt;", ">") and ">0\u202f%<" not in words
        assert "<\u202f1\u202f%" in words.replace("&lt;", "<")


def test_bars_are_drawn_from_the_numbers() -> None:
    study = make_study(places=4)
    make_participant(study, State.COMPLETED)
    make_participant(study)
    page = text_of(log_in(study).get("/console/teas/collect/numbers/"))
    assert 'aria-label="1 filled, 1 working, 2 free"' in page
    bars = re.findall(r'<rect class="(filled|leased)"\s+(?:x="(\d+)"\s+)?width="(\d+)"', page)
    assert bars[:2] == [("filled", "", "250"), ("leased", "250", "250")]


def test_part_of_the_monitor_is_no_whole_page() -> None:
    page = text_of(log_in(make_study()).get("/console/teas/collect/numbers/?who=nonsense"))
    assert "<html" not in page and "0 of 12 places are filled" in page


def people_found(client: Client, query: str) -> list[str]:
    return re.findall(
        r'class="name"\s+href="/console/teas/participants/(\w+)/"',
        text_of(client.get(f"/console/teas/participants/?{query}")),
    )


def test_filters_leave_the_people_asked_for(study: Study) -> None:
    done = make_participant(study, State.COMPLETED)
    flagged = make_participant(study, chatbot="gemini")
    make_response(flagged, "teas", "1. Only one", keep=True)
    preview = make_participant(study, origin="preview")
    client = log_in(study, "researcher")
    assert people_found(client, "") == [flagged.pseudonym, done.pseudonym]
    for query, found in {
        "state=completed": [done],
        f"cell={flagged.cell_id}": [flagged],
        "flag=too-few-items": [flagged],
        f"q={done.pseudonym[2:7]}": [done],
        f"q={done.pid}": [done],
        "q=zzzzzzzzzz": [],
        "who=preview": [preview],
        "who=all&sort=oldest": [done, flagged, preview],
        "sort=answers": [done, flagged],
        "sort=flags": [flagged, done],
        "state=nonsense&cell=x&flag=y&sort=z&who=w&page=99": [flagged, done],
        "q=%00&cell=99999999999999999999": [],
    }.items():
        assert people_found(client, query) == [person.pseudonym for person in found], query


def test_list_is_paged_and_links_keep_the_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_views, "PAGE_SIZE", 2)
    study = make_study(places=9)
    made = [make_participant(study, Step.QUESTIONS).pseudonym for _ in range(3)]
    client = log_in(study)
    assert people_found(client, "sort=oldest") == made[:2]
    page = text_of(client.get("/console/teas/participants/?sort=oldest&state=screening"))
    assert "?sort=oldest&amp;state=screening&amp;page=2" in page
    assert people_found(client, "sort=oldest&page=2") == made[2:]


@pytest.mark.parametrize("rows", [1, 30])
def test_list_of_participants_takes_as_many_statements_for_many(rows: int, django_assert_num_queries: Callable) -> None:
    study = make_study(places=40)
    for _ in range(rows):
        make_response(make_participant(study), "teas")
    client = log_in(study)
    # Session, account, study, role (2), number of people, people, kinds, cells.
    with django_assert_num_queries(9):
        assert text_of(client.get("/console/teas/participants/")).count('class="name"') == rows


def test_empty_list_says_why() -> None:
    client = log_in(make_study("draft"))
    assert "Nobody has agreed to take part yet. The study is a draft." in lines_of(
        client.get("/console/teas/participants/")
    )
    assert "Nobody matches these filters." in lines_of(client.get("/console/teas/participants/?state=completed"))


def test_lists_without_people_do_not_deny_those_of_the_pilot() -> None:
    study = make_study("pilot")
    make_participant(study)
    client = log_in(study)
    words = lines_of(client.get("/console/teas/participants/"))
    assert "Nobody of “Main data” has agreed to take part yet. Choose other people above." in words
    assert "Nobody of “Main data” has come yet." in lines_of(client.get("/console/teas/flow/"))
    assert "1 person." in lines_of(client.get("/console/teas/participants/?who=pilot"))


def test_participant_shows_answers_revisions_flags_and_evidence(study: Study) -> None:
    person = make_participant(study)
    make_response(
        person,
        "teas",
        "1. Only one",
        evidence={"observed": True, "copied_at": 1, "pasted": 11, "typed": 0, "share_pasted": 1.0},
    )
    make_response(person, "teas", "1. Two\n2. Three", keep=True)
    page = lines_of(log_in(study).get(f"/console/teas/participants/{person.pseudonym}/"))
    for words in (
        "1. Ask for teas" if person.order[0] == "teas" else "2. Ask for teas",
        "1. Two 2. Three",
        "1 other revision",
        "held by a check",
        "The copy button was pressed. 11 characters pasted, 0 typed (100 % pasted).",
        "Fewer items than asked",
        "this is what i got",
        "GPT-4o mini",
        "Chatbot context given",
        "Are you an adult? Yes",
    ):
        assert words in page, words


def test_hostile_text_is_shown_as_text_everywhere(study: Study) -> None:
    person = make_participant(study)
    for text in (HOSTILE, HOSTILE + "x" * 2000):
        make_response(person, "teas", text, keep=True, html=HOSTILE)
    Participant.objects.filter(pk=person.pk).update(
        comments=HOSTILE, reason=HOSTILE[:200], state="technical", finished_at="2026-01-01T00:00Z"
    )
    client = log_in(study, name="<script>alert(2)</script>")
    for path in (f"participants/{person.pseudonym}/", "participants/", "collect/", "flow/", "audit/", "members/"):
        page = text_of(client.get(f"/console/teas/{path}"))
        assert "<script>alert" not in page and "<img src=x" not in page, path
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in text_of(
        client.get(f"/console/teas/participants/{person.pseudonym}/")
    )


def test_text_comes_back_to_the_letter_as_plain_text() -> None:
    study = make_study()
    person = make_participant(study)
    text = "1. שלום\n\n2. 🍵\t" + HOSTILE + "é" * 50_000
    response = make_response(person, "teas", text, keep=True)
    got = log_in(study).get(f"/console/teas/participants/{person.pseudonym}/{response.pk}.txt")
    assert got.content.decode("utf-8") == text
    assert (got["Content-Type"], got["X-Content-Type-Options"]) == ("text/plain; charset=utf-8", "nosniff")


def test_page_of_a_participant_holds_only_the_beginning_of_huge_answers() -> None:
    study = make_study()
    person = make_participant(study)
    make_response(person, "teas", "1. " + "tea " * 50_000, keep=True)
    page = text_of(log_in(study).get(f"/console/teas/participants/{person.pseudonym}/"))
    assert len(page) < 60_000 and "200,003 characters" in page and "all of it" in page


def test_participant_takes_as_many_statements_whatever_they_gave(
    study: Study, django_assert_num_queries: Callable
) -> None:
    client = log_in(study)
    for revisions in (1, 20):
        person = make_participant(study)
        for number in range(revisions):
            make_response(person, "teas", f"{number}. Only one", keep=True)
        # Session, account, study, role (2), person, answers, flags, sessions, drafts, decisions.
        with django_assert_num_queries(12):
            client.get(f"/console/teas/participants/{person.pseudonym}/")


def test_researcher_marks_somebody_as_returned() -> None:
    study = make_study()
    person = make_participant(study)
    client = log_in(study, "researcher")
    response = client.post(f"/console/teas/participants/{person.pseudonym}/returned/", follow=True)
    assert said(response) == [f"{person.pseudonym} has been marked as returned; the place is free again."]
    assert "Marked as returned by ada" in lines_of(response)
    again = client.post(f"/console/teas/participants/{person.pseudonym}/returned/", follow=True)
    assert "has already ended" in said(again)[0]


def test_page_of_somebody_without_a_place_promises_none_to_the_next() -> None:
    study = make_study()
    person = make_participant(study, Step.QUESTIONS)
    client = log_in(study, "researcher")
    at = f"/console/teas/participants/{person.pseudonym}/"
    assert "The place is free" not in lines_of(client.get(at))
    assert said(client.post(f"{at}returned/", follow=True)) == [f"{person.pseudonym} has been marked as returned."]


def test_page_of_an_annotator_says_how_many_items_they_labelled() -> None:
    study = make_annotation_study(items=3)
    person = make_annotator(study)
    annotate(person)
    annotate(person)
    page = lines_of(log_in(study).get(f"/console/teas/participants/{person.pseudonym}/"))
    assert "This person has labelled 2 items." in page and "never came to the prompts" not in page


# --- flow and audit trail -----------------------------------------------------


def test_flow_page_shows_figure_and_table(study: Study) -> None:
    make_participant(study, State.COMPLETED)
    response = log_in(study).get("/console/teas/flow/")
    assert "1 person came, 1 agreed, 1 completed." in lines_of(response)
    assert "single responses among those in the analysis." in lines_of(response)
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="flow"' in text_of(response)


def test_flow_is_taken_away_as_svg_and_json(study: Study) -> None:
    make_participant(study, State.COMPLETED)
    client = log_in(study)
    drawn = client.get("/console/teas/flow/flow.svg")
    assert drawn["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert drawn["Content-Disposition"] == 'attachment; filename="teas-flow.svg"'
    assert client.get("/console/teas/flow/flow.json").json()["completed"] == 1


def test_audit_trail_has_the_newest_first_and_filters() -> None:
    client = log_in(make_study())
    rows = re.findall(r'<tr>\s*<td class="number">(\d+)</td>', text_of(client.get("/console/teas/audit/")))
    assert rows == ["2", "1"]
    page = text_of(client.get("/console/teas/audit/?action=launched&actor=tests"))
    assert re.findall(r'<tr>\s*<td class="number">(\d+)</td>', page) == ["2"]
    assert "1 decision matches" in lines_of(client.get("/console/teas/audit/?action=launched"))


def test_audit_trail_is_verified_on_demand() -> None:
    study = make_study()
    client = log_in(study)
    assert "The chain holds." in lines_of(client.get("/console/teas/audit/?verify=1"))
    # As if somebody had written a row past the rules.
    AuditEvent.objects.create(study=study, number=9, actor="x", action="forged", previous="0" * 64, sha256="1" * 64)
    page = lines_of(client.get("/console/teas/audit/?verify=1"))
    assert "The chain does not hold." in page and "event 3 is missing" in page


@pytest.mark.parametrize("rows", [1, 30])
def test_audit_trail_takes_as_many_statements_for_many(rows: int, django_assert_num_queries: Callable) -> None:
    study = make_study("draft")
    for number in range(rows - 1):
        audit.record(study, "ada", "tested", f"row {number}")
    client = log_in(study)
    # Session, account, study, role (2), number of events, events, actions, actors.
    with django_assert_num_queries(9):
        assert len(re.findall(r'<tr>\s*<td class="number">', text_of(client.get("/console/teas/audit/")))) == rows


def test_page_of_a_person_says_what_was_asked_again_and_what_became_of_it() -> None:
    study = make_study(definition=make_asking_definition())
    person = make_participant(study)
    person.order = ["teas", "teas--temporary", "water", "teas--2", "cakes", "water--2", "pots"]
    person.save()
    make_response(person, "teas", keep=True, rating="4")
    make_response(person, "teas--temporary", "", reply=ReadReply(no_answer="unreached"))
    make_response(person, "teas--2", keep=True, rating="unrated")
    page = lines_of(log_in(study).get(f"/console/teas/participants/{person.pseudonym}/"))
    for words in (
        *("Ask for teas (occasion 2)", "Ask for teas (temporary)", "Rated 4 of 5.", "Said that they cannot rate it."),
        "Said that they cannot find this state of the account.",
    ):
        assert words in page
    assert "Ask for teas (temporary)" in lines_of(log_in(study, name="bob").get("/console/teas/collect/"))
    setup = lines_of(log_in(study, name="eve").get("/console/teas/setup/"))
    assert "A second time, of 50 % of the people, at least 2 prompts later: teas, water" in setup
    assert "Press the dotted circle." in setup and "Rated from 1 to 5: How useful is it?" in setup


def test_page_of_an_imported_person_has_every_answer(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("participant,chatbot,prompt,text\nP1,gemini,water,C\nP1,gemini,teas,1. Assam\n")
    import_responses(study, file, "tests")
    definition = lifecycle.definition_of(study.current_id)
    later = (*definition.prompts, replace(definition.prompts[0], slug="cakes", title="Ask for cakes"))
    lifecycle.load_definition(replace(definition, prompts=later), "tests", "Cakes too.")
    file.write_text("participant,chatbot,prompt,text,position\nP1,gemini,cakes,1. Strudel,3\n")
    import_responses(Study.objects.get(pk=study.pk), file, "tests")
    person = Participant.objects.get()
    page = text_of(log_in(study).get(f"/console/teas/participants/{person.pseudonym}/"))
    heads = [re.sub("<[^>]+>", "", head) for head in re.findall("<h3>(.+?)</h3>", page)]
    assert heads == ["3. Ask for cakes", *(prompt.title for prompt in definition.prompts)]
    assert "never came to the prompts" not in page and all(said in page for said in ("1. Assam", "1. Strudel"))
