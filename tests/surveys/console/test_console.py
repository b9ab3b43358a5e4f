"""The console's pages: what they show, what their forms do, and what they refuse."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from surveys.models import AnonymousExit, AuditEvent, Membership, Participant, Study, StudyVersion
from surveys.models.hashes import fingerprint
from surveys.studies import access, lifecycle
from surveys.studies.access import let_make_studies
from tests.factories import make_account, make_annotation_study, make_annotator, make_participant, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of
from tests.surveys.studies.files.sample_study import GOOD, changed

pytestmark = pytest.mark.django_db
State = Participant.State
FILES = Path(lifecycle.__file__).parent
HOSTILE = "</pre><script>alert('x')</script>\u202e<img src=x onerror=alert(1)>"


# --- logging in ---------------------------------------------------------------


def test_log_in_leads_to_the_page_that_was_asked_for() -> None:
    make_account("ada")
    form = {"username": "ada", "password": "password", "next": "/console/new/"}
    assert Client().post("/console/login/", form)["Location"] == "/console/new/"


def test_first_view_of_a_server_says_how_to_make_an_account() -> None:
    assert "create_owner NAME" in lines_of(Client().get("/", follow=True))
    make_account("ada")
    assert "create_owner" not in lines_of(Client().get("/", follow=True))


def test_log_in_never_leads_to_another_site() -> None:
    make_account("ada")
    for elsewhere in ("https://example.org/", "//example.org", "javascript:alert(1)"):
        form = {"username": "ada", "password": "password", "next": elsewhere}
        assert Client().post("/console/login/", form)["Location"] == "/console/"


def test_wrong_password_says_the_same_as_an_unknown_name() -> None:
    make_account("ada")
    answers = {
        re.sub(r'value="[^"]*"', "", lines_of(Client().post("/console/login/", {"username": name, "password": "x"})))
        for name in ("ada", "nobody-here")
    }
    assert len(answers) == 1


def test_log_in_is_limited_by_address(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    monkeypatch.setitem(access.LIMITS, "login", 2)
    settings.LIMIT_FACTOR = 1
    make_account("ada")
    form = {"username": "ada", "password": "wrong"}
    statuses = [Client().post("/console/login/", form, REMOTE_ADDR="192.0.2.77").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    right = Client().post("/console/login/", {**form, "password": "password"}, REMOTE_ADDR="192.0.2.77")
    assert right.status_code == 429


def test_log_out_is_a_form_and_ends_the_session() -> None:
    client = log_in()
    assert client.get("/console/logout/").status_code == 405
    assert client.post("/console/logout/")["Location"] == "/console/login/"
    assert client.get("/console/").status_code == 302


def test_password_is_changed_and_the_session_goes_on() -> None:
    client = log_in()
    form = {"old_password": "password", "new_password1": "a-long-new-one-7", "new_password2": "a-long-new-one-7"}
    assert client.post("/console/account/", form).status_code == 302
    assert client.get("/console/").status_code == 200
    assert Client().login(username="ada", password="a-long-new-one-7")


def test_weak_password_is_refused_in_english_whatever_the_browser_speaks() -> None:
    form = {"old_password": "password", "new_password1": "1", "new_password2": "1"}
    response = log_in().post("/console/account/", form, headers={"Accept-Language": "de"})
    assert response.status_code == 422
    assert "This password is too short" in lines_of(response)


# --- studies ------------------------------------------------------------------


def log_in_maker() -> Client:
    client = log_in()
    let_make_studies(get_user_model().objects.get(username="ada"))
    return client


def test_first_run_says_how_to_begin() -> None:
    words = lines_of(log_in_maker().get("/console/"))
    assert "There are no studies here yet." in words and "New study" in words


def test_list_has_ones_own_studies_with_their_progress() -> None:
    study = make_study(places=2)
    make_study(slug="coffees", title="Coffees of others")
    make_participant(study, State.COMPLETED)
    make_participant(study, Participant.Step.QUESTIONS, origin="imported")  # never came here
    given = {"version": study.current, "origin": "prolific", "day": timezone.localdate()}
    AnonymousExit.objects.create(kind="no_consent", **given)
    AnonymousExit.objects.create(kind="withdrawn", pilot=True, **given)
    words = lines_of(log_in(study).get("/console/"))
    assert "Teas" in words and "1 of 8 places filled" in words and "2 people came" in words
    assert "Coffees" not in words


def test_the_rail_has_the_pages_of_the_studys_kind() -> None:
    make_annotation_study(slug="profiles")
    compare, agreement = reverse("compare:overview", args=["teas"]), reverse("agreement:overview", args=["profiles"])
    survey = text_of(log_in(make_study()).get(reverse("console:monitor", args=["teas"])))
    assert compare in survey and "/agreement/" not in survey
    annotation = log_in(Study.objects.get(slug="profiles"), name="bob").get(
        reverse("console:monitor", args=["profiles"])
    )
    assert agreement in text_of(annotation) and "/compare/" not in text_of(annotation)


@pytest.mark.parametrize("rows", [1, 30])
def test_list_of_studies_takes_as_many_statements_for_many(rows: int, django_assert_num_queries: Callable) -> None:
    client = log_in()
    ada = Membership._meta.get_field("user").remote_field.model.objects.get(username="ada")
    for number in range(rows):
        Membership.objects.create(study=make_study("draft", slug=f"teas-{number}"), user=ada, role="viewer")
    with django_assert_num_queries(6):  # session, account, its permissions and its groups', studies with places, people
        assert text_of(client.get("/console/")).count('class="chip') == rows


@pytest.mark.parametrize("way", ["file", "text"])
def test_study_is_made_from_a_file_or_its_text(way: str) -> None:
    client = log_in_maker()
    given = {"file": SimpleUploadedFile("any name.toml", GOOD.encode())} if way == "file" else {"text": GOOD}
    assert client.post("/console/new/", given)["Location"] == "/console/teas/setup/"
    study = Study.objects.get()
    assert (study.state, study.memberships.get().role) == ("draft", "owner")
    assert "You are its owner" in lines_of(client.get("/console/teas/setup/"))


def test_all_faults_of_a_file_are_listed_with_line_and_place_and_nothing_is_made() -> None:
    text = changed(
        ("minutes = 10", "minutes = 0"), ('kind = "recommendation"', 'kind = "song"'), ('title = "Teas"', "title = 5")
    )
    response = log_in_maker().post("/console/new/", {"text": text})
    assert response.status_code == 422
    rows = re.findall(r'<tr>\s*<td class="number">(\d+)</td>\s*<td><code>([^<]+)</code>', text_of(response))
    lines = text.splitlines()
    assert [(place, lines[int(line) - 1]) for line, place in rows] == [
        ("title", "title = 5"),
        ("minutes", "minutes = 0"),
        ("prompts[1].kind", 'kind = "song"'),
    ]
    assert "has 3 faults" in lines_of(response)
    assert (Study.objects.count(), StudyVersion.objects.count(), AuditEvent.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "The file is empty"),
        (b"# To be written.\n", "is empty or has only comments"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"slug = ", "is not valid TOML"),
        (b"# " + b"x" * 1_000_000, "is larger than 1,000,000 bytes"),
    ],
)
def test_file_that_is_no_study_is_refused_in_words(content: bytes, says: str) -> None:
    response = log_in_maker().post("/console/new/", {"file": SimpleUploadedFile("a.toml", content)})
    assert response.status_code == 422 and says in lines_of(response)
    assert not Study.objects.exists()


def test_hostile_study_file_is_shown_as_text() -> None:
    text = changed(
        ('title = "Teas"', "title = 'Teas " + HOSTILE.replace("'", "") + "'"), ("minutes = 10", "minutes = 0")
    )
    page = text_of(log_in_maker().post("/console/new/", {"text": text}))
    assert "<script>alert" not in page and "<img src=x" not in page and "&lt;script&gt;" in page


def test_file_invites_people_only_of_a_study_that_its_account_researches() -> None:
    """Who is let in would otherwise reveal whom that study's gate kept."""
    text = (FILES / "profiles.toml").read_text().replace("[annotation]\n", '[annotation]\ninvited_from = "hers"\n')
    client, words = log_in_maker(), "you are a researcher of no study of that name"
    assert words in text_of(client.post("/console/new/", {"text": text}))
    hers = make_annotation_study(slug="hers")
    assert words in text_of(client.post("/console/new/", {"text": text}))
    ada = get_user_model().objects.get(username="ada")
    membership = Membership.objects.create(study=hers, user=ada, role=Membership.Role.VIEWER)
    assert words in text_of(client.post("/console/new/", {"text": text}))
    assert not Study.objects.filter(slug="profiles").exists()
    Membership.objects.filter(pk=membership.pk).update(role=Membership.Role.RESEARCHER)
    assert client.post("/console/new/", {"text": text}).status_code == 302
    make_annotation_study(slug="others")
    version = {"text": text.replace('"hers"', '"others"')}
    assert words in text_of(client.post("/console/profiles/setup/new-version/", version))
    membership.delete()  # what the file said before stays
    again = {"text": text.replace("overlap = 3", "overlap = 5", 1)}
    assert client.post("/console/profiles/setup/new-version/", again).status_code == 302


def test_new_version_of_a_draft_needs_no_reason() -> None:
    study = make_study("draft")
    response = log_in(study).post(
        "/console/teas/setup/new-version/", {"text": changed(("minutes = 10", "minutes = 12"))}
    )
    assert response.status_code == 302
    study.refresh_from_db()
    assert (study.current.number, lifecycle.definition_of(study.current_id).minutes) == (2, 12)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("draft", "Version 2 is the current one. Nobody can begin while the study is a draft."),
        ("pilot", "Version 2 is what people see from now on."),
        ("live", "Version 2 is what people see from now on."),
        ("closed", "Version 2 is the current one. Nobody can begin while the study is closed."),
    ],
)
def test_new_version_is_said_to_be_seen_only_where_people_can_begin(state: str, says: str) -> None:
    sent = {"text": changed(("minutes = 10", "minutes = 12")), "amendment": "People took longer"}
    client = log_in(make_study(state))
    assert said(client.post("/console/teas/setup/new-version/", sent, follow=True)) == [says]


def test_launched_study_asks_why_it_is_changed() -> None:
    study, text = make_study(), changed(("minutes = 10", "minutes = 12"))
    client = log_in(study)
    refused = client.post("/console/teas/setup/new-version/", {"text": text})
    assert refused.status_code == 422 and "Say why with an amendment" in lines_of(refused)
    assert text.splitlines()[3] in text_of(refused).replace("&quot;", '"')  # what was typed is not lost
    client.post("/console/teas/setup/new-version/", {"text": text, "amendment": "People took <b>longer</b>"})
    study.refresh_from_db()
    assert (study.current.number, study.current.amendment) == (2, "People took <b>longer</b>")
    assert "People took &lt;b&gt;longer&lt;/b&gt;" in text_of(client.get("/console/teas/setup/"))


def test_what_a_file_changes_is_shown_before_anything_is_loaded() -> None:
    study, text = make_study(), changed(("minutes = 10", "minutes = 12"))
    client = log_in(study)
    sent = {"text": text, "amendment": "People took longer", "compare": "1"}
    page = client.post("/console/teas/setup/new-version/", sent)
    assert "The file changes 1 place. Nothing is loaded yet." in lines_of(page)
    assert "minutes 10 → 12" in lines_of(page) and "People took longer" in lines_of(page)
    assert study.versions.count() == 1
    same = client.post("/console/teas/setup/new-version/", sent | {"text": GOOD})
    assert "says the same as the current version" in lines_of(same)


def test_file_of_another_study_is_no_version_of_this_one() -> None:
    study = make_study("draft")
    response = log_in(study).post(
        "/console/teas/setup/new-version/", {"text": changed(('slug = "teas"', 'slug = "herbs"'))}
    )
    assert response.status_code == 422 and "not for `teas`" in lines_of(response)
    assert Study.objects.count() == 1


def test_same_file_again_changes_nothing() -> None:
    study = make_study("draft")
    response = log_in(study).post("/console/teas/setup/new-version/", {"text": GOOD}, follow=True)
    assert said(response) == ["The file says the same as the current version. Nothing was changed."]
    assert study.versions.count() == 1


# --- set-up -------------------------------------------------------------------


def test_setup_shows_the_definition_the_codes_and_the_link(settings) -> None:
    settings.SITE_URL = "https://study.example.org"
    study = make_study("draft")
    page = lines_of(log_in(study).get("/console/teas/setup/"))
    for words in (
        "Recommend five teas.",
        "How hot should it be?",
        "With milk",
        "CODE6",
        "What do you paste?",
        study.current.sha256,
    ):
        assert words in page
    link = "https://study.example.org/s/teas/?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}&amp;SESSION_ID={{%SESSION_ID%}}"
    assert f'value="{link}"' in text_of(log_in(study, name="bob").get("/console/teas/setup/"))


def test_every_code_has_its_prolific_type() -> None:
    page = lines_of(log_in(make_study("draft")).get("/console/teas/setup/"))
    for code, kind in (("CODE1", "COMPLETED"), ("CODE2", "NO_CONSENT"), ("CODE3", "OTHER"), ("CODE9", "OTHER")):
        assert f"{code} {kind}" in page
    assert "CODE4 OTHER Manually review; pay a screen-out that the study file promises, otherwise" in page


def test_setup_says_when_the_pages_differ_from_the_frozen_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    client = log_in(make_study())
    assert "no longer those" not in lines_of(client.get("/console/teas/setup/"))
    monkeypatch.setattr(lifecycle, "interface_hash", lambda: "0" * 64)
    assert "no longer those" in lines_of(client.get("/console/teas/setup/"))


def test_version_can_be_taken_away_and_its_hash_computed_again() -> None:
    study = make_study()
    taken = log_in(study).get("/console/teas/setup/versions/1.json").json()
    assert fingerprint({"document": taken["document"], "interface": taken["interface"]}) == taken["sha256"]
    assert taken["sha256"] == study.current.sha256


def test_life_of_a_study_step_by_step() -> None:
    study = make_study("draft")
    client = log_in(study)
    for name, state in (
        ("pilot", "pilot"),
        ("end-pilot", "draft"),
        ("launch", "live"),
        ("pause", "paused"),
        ("resume", "live"),
        ("close", "closed"),
    ):
        address = f"/console/teas/setup/state/{name}/"
        assert address in text_of(client.get("/console/teas/setup/")), name
        before = study.state
        assert client.get(address).status_code == 200
        study.refresh_from_db()
        assert study.state == before  # asking changes nothing
        client.post(address)
        study.refresh_from_db()
        assert study.state == state
    page = text_of(client.get("/console/teas/setup/"))
    assert set(re.findall(r"/setup/state/([\w-]+)/", page)) == {"archive"}
    actions = [event.action for event in study.audit_events.all()]
    assert actions[1:] == ["pilot started", "pilot ended", "launched", "paused", "resumed", "closed"]
    assert {event.actor for event in study.audit_events.all()[1:]} == {"ada"}


def test_launch_asks_first_with_what_is_frozen() -> None:
    study = make_study("draft")
    page = lines_of(log_in(study).get("/console/teas/setup/state/launch/"))
    for words in ("Launch the study?", study.current.sha256, "needs a reason", "USD 2.00 for 10 minutes"):
        assert words in page


def test_launch_of_a_study_of_annotators_names_items_and_no_chatbots() -> None:
    study = make_annotation_study("draft", places=7, items=3)
    page = lines_of(log_in(study).get("/console/teas/setup/state/launch/"))
    assert "Items 3 Places 7: 7 Annotators Pay" in page and "for each of" not in page


def test_annotators_work_at_items_and_not_at_prompts() -> None:
    study = make_annotation_study(items=3)
    make_annotator(study)
    words = lines_of(log_in(study).get("/console/teas/collect/"))
    assert "Working now: 1 at “items”." in words


def test_step_that_is_not_possible_or_not_known_says_so() -> None:
    client = log_in(make_study("closed"))
    response = client.post("/console/teas/setup/state/launch/", follow=True)
    assert said(response) == ["teas is closed, so it can't be launched now."]
    assert client.post("/console/teas/setup/state/delete/").status_code == 404


@pytest.mark.parametrize(
    ("state", "step", "says"),
    [
        ("live", "pilot", "teas is live, so its pilot can't be started now."),
        ("draft", "end-pilot", "teas is a draft, so its pilot can't be ended now."),
        ("pilot", "pause", "teas is in its pilot, so it can't be paused now."),
    ],
)
def test_refused_step_is_a_sentence(state: str, step: str, says: str) -> None:
    client = log_in(make_study(state))
    assert said(client.post(f"/console/teas/setup/state/{step}/", follow=True)) == [says]


def test_setup_of_a_study_of_annotators_counts_items_and_places() -> None:
    page = lines_of(log_in(make_annotation_study("draft", places=7, items=3)).get("/console/teas/setup/"))
    assert "Teas: 3 items, 7 places" in page and "0 chatbots" not in page


def test_preview_opens_a_participants_page() -> None:
    response = log_in(make_study("draft"), "researcher").post("/console/teas/setup/preview/", follow=True)
    assert response.status_code == 200 and "/s/teas/" in response.request["PATH_INFO"]
    assert Participant.objects.get().origin == "preview"


# --- members ------------------------------------------------------------------


def test_owner_adds_changes_and_removes_members_on_the_record() -> None:
    study = make_study("draft")
    client = log_in(study)
    make_account("bob")
    client.post("/console/teas/members/add/", {"username": "bob", "role": "viewer"})
    bob = study.memberships.get(user__username="bob")
    client.post(f"/console/teas/members/{bob.pk}/", {"role": "researcher"})
    bob.refresh_from_db()
    assert bob.role == "researcher"
    client.post(f"/console/teas/members/{bob.pk}/", {"remove": "1"})
    assert study.memberships.count() == 1
    events = AuditEvent.objects.filter(study=study, subject="bob").order_by("number")
    assert list(events.values_list("actor", "action", "detail")[1:]) == [
        ("ada", "role changed", {"before": "viewer", "role": "researcher"}),
        ("ada", "member removed", {"role": "researcher"}),
    ]


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"username": " ", "role": "viewer"}, "Write the name of their account."),
        ({"username": "nobody", "role": "viewer"}, "There is no account called “nobody”"),
        ({"username": "ada", "role": "viewer"}, "ada already works on this study."),
        ({"username": "bob", "role": "king"}, "Choose a role"),
        ({"username": "bob\x00", "role": ""}, "Choose a role"),
    ],
)
def test_member_that_cannot_be_added_is_named(form: dict, says: str) -> None:
    study = make_study("draft")
    client = log_in(study)
    make_account("bob")
    page = client.post("/console/teas/members/add/", form, follow=True)
    assert says in said(page)[0]
    typed, role = form["username"].strip(" \x00"), form["role"]
    assert re.search(rf'name="username"\s+value="{typed}"', text_of(page))
    assert f'<option value="{role}" selected>' in text_of(page).partition("Add somebody")[2] or role != "viewer"
    assert study.memberships.get().role == "owner"


def test_last_owner_stays_and_another_ones_predecessor_may_go() -> None:
    study = make_study("draft")
    client = log_in(study)
    own = study.memberships.get()
    for form in ({"remove": "1"}, {"role": "viewer"}):
        response = client.post(f"/console/teas/members/{own.pk}/", form)
        assert "A study needs an owner" in lines_of(client.get(response["Location"]))
        own.refresh_from_db()
        assert own.role == "owner"
    make_account("eve", study, "owner")
    client.post(f"/console/teas/members/{own.pk}/", {"remove": "1"})
    assert study.memberships.get().user.username == "eve"
