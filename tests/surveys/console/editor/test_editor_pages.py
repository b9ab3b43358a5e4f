"""The editor's pages: who owns a working copy, two windows, faults shown at their fields, and what a copy becomes."""

import re
from dataclasses import replace

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from surveys.console.editor import copies, writing
from surveys.console.editor.copies import begin, copy_of
from surveys.models import Membership, Study, WorkingCopy
from surveys.studies import lifecycle
from surveys.studies.access import let_make_studies
from surveys.studies.differences import changes_to
from surveys.studies.files.definitions import parse_study
from surveys.studies.lifecycle import SHIPPED
from surveys.studies.members import LONGEST_REASON, create_study
from tests.analysis.runs.baseline_factories import make_item
from tests.factories import make_study
from tests.surveys.console.editor.test_writing import as_posted, fields_of
from tests.surveys.studies.files.sample_study import SAMPLES

pytestmark = pytest.mark.django_db
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
TEAS = (SAMPLES / "teas.toml").read_bytes()


def account(name: str, makes: bool = True) -> AbstractUser:
    made = get_user_model().objects.create_user(name, password="a-long-password-9")
    if makes:
        let_make_studies(made)
    return made


@pytest.fixture
def owner() -> AbstractUser:
    return account("owner")


@pytest.fixture
def site(owner: AbstractUser) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def send(
    site: Client, copy: WorkingCopy, section: str, revision: int = 0, follow: bool = False, **changes: str
) -> HttpResponse:
    """Send a section's form with these fields changed; `do` is the button pressed."""
    form = as_posted(fields_of(copy.text))
    names = {name.replace("__", "."): value for name, value in changes.items()}
    data = {name: form.getlist(name) for name in form} | {"revision": revision or copy.revision} | names
    return site.post(reverse("editor:edit", args=[copy.pk, section]), data, follow=follow)


def make(site: Client, copy: WorkingCopy, page: str = "", **form: str) -> HttpResponse:
    """Make the study, or its next version as `page` lists it or, without one, as the page does now."""
    if not copy.study:
        return send(site, copy, "about", follow=True, do="make")
    page = page or site.get(reverse("editor:first", args=[copy.pk])).content.decode()
    address = reverse("editor:make", args=[copy.pk])
    hidden = dict(HIDDEN.findall(page.partition(f'action="{address}"')[2].partition("</form>")[0]))
    return site.post(address, hidden | form, follow=True)


def test_a_hundred_prompts_are_sent_in_one_form(site: Client, owner: AbstractUser) -> None:
    choice = 'kind = "choice"\nquestion = "Which?"\nchoices = ["a", "b", "c", "d"]\nanswer = "A"\n'
    more = "".join(f'\n[[prompts]]\nslug = "p{number}"\ntitle = "P"\n{choice}' for number in range(100))
    copy = begin(owner, TEAS + more.encode(), "teas.toml")
    assert send(site, copy, "prompts", **{"prompts[51].title": "Other"}).status_code == 302
    assert WorkingCopy.objects.get(pk=copy.pk).text.count('title = "Other"') == 1


def test_begun_from_a_template_a_study_or_a_file(site: Client, owner: AbstractUser) -> None:
    study = make_study("draft")
    for unknown in ({"study": study.slug}, {"template": "no-such"}):
        missing = site.post(reverse("editor:start"), unknown)
        assert missing.status_code == 404 and b"not one of yours" in missing.content
    Membership.objects.create(study=study, user=owner, role="viewer")
    site.post(reverse("editor:start"), {"study": study.slug})
    site.post(reverse("editor:start"), {"template": "demo"})
    file = b"\xef\xbb\xbf" + TEAS.replace(b"\n", b"\r\n")
    site.post(reverse("editor:start"), {"file": SimpleUploadedFile("mine.toml", file)})
    mine, demo, of_study = WorkingCopy.objects.filter(owner=owner)
    assert parse_study(of_study.text.encode()) == lifecycle.definition_of(study.current_id)
    assert demo.text == (SHIPPED / "demo.toml").read_text(encoding="utf-8")
    assert site.get(reverse("editor:download", args=[mine.pk])).content == file
    for section in ("about", "consent", "chatbots", "questions", "prompts", "checks", "plan", "codes", "languages"):
        assert site.get(reverse("editor:edit", args=[demo.pk, section])).status_code == 200


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (b"", "file is empty or has only comments; choose another file, or begin with a template"),
        (b"\xef\xbb\xbf \r\n\t# To be written.\r\n", "file is empty or has only comments"),
        ("#\xdf".encode() * 400_000, "file is larger than 1,000,000 bytes, the limit for a study"),
        (b"PK\x03\x04\x14\x00", "file is not a text"),
    ],
    ids=["empty", "comments", "large", "zip"],
)
def test_file_without_a_study_is_refused_in_one_sentence(site: Client, file: bytes, says: str) -> None:
    refused = site.post(reverse("editor:start"), {"file": SimpleUploadedFile("mine.toml", file)})
    assert refused.status_code == 422 and says in refused.content.decode()
    assert not WorkingCopy.objects.exists()


@pytest.mark.parametrize("more", [b"", b'\n[team]\nsecond_person = ["pay"]\n\n[matrix]\nset = "sums"\neach = 3\n'])
def test_a_study_with_questions_of_benchmarks_is_edited(site: Client, owner: AbstractUser, more: bytes) -> None:
    shipped = (SHIPPED / "field-13.toml").read_bytes()
    for number in range(1, 21):
        make_item(number)
    make_item(1, "mmlu", item="mmlu/college_medicine/test/16")
    study = create_study(parse_study(shipped + more), owner)
    stands = lifecycle.definition_of(study.current_id)
    assert any(prompt.imported for prompt in stands.prompts) and len(stands.set_questions) == (20 if more else 0)
    assert site.get(reverse("editor:study", args=[study.slug])).url == reverse(
        "editor:first", args=[WorkingCopy.objects.get().pk]
    )
    copy = WorkingCopy.objects.get()
    assert lifecycle.with_benchmark_items(parse_study(copy.text.encode())) == stands
    assert changes_to(study, parse_study(copy.text.encode())) == []
    assert (copy.text.encode() == shipped) == (not more)  # the shipped file, with its comments, where it is that


def test_set_of_questions_that_is_not_here_is_a_fault_of_a_working_copy(site: Client, owner: AbstractUser) -> None:
    for number in range(1, 21):
        make_item(number)
    shipped = (SHIPPED / "field-13.toml").read_bytes()
    study = create_study(parse_study(shipped), owner)
    text = shipped + b'\n[matrix]\nset = "no-such"\neach = 3\n'
    copy = begin(owner, text, "a file", study)
    for name in ("first", "text"):
        page = site.get(reverse(f"editor:{name}", args=[copy.pk]))
        assert page.status_code == 200 and "no-such" in page.content.decode()
    assert copy_of(study, owner) == copy and WorkingCopy.objects.get().text.encode() == text


def test_nobody_else_has_it_and_a_study_asks_for_its_role(site: Client, owner: AbstractUser) -> None:
    copy, other = begin(owner, TEAS, "a file"), Client()
    other.force_login(account("other"))
    for name in ("first", "text", "download"):
        assert other.get(reverse(f"editor:{name}", args=[copy.pk])).status_code == 404
    assert other.post(reverse("editor:make", args=[copy.pk])).status_code == 404
    assert send(other, copy, "about", title="Mine").status_code == 404
    study = make_study("draft")
    role = Membership.objects.create(study=study, user=owner, role="researcher")
    first = reverse("editor:first", args=[copy_of(study, owner).pk])
    assert site.get(first).status_code == 200
    role.role = "viewer"
    role.save()
    assert site.get(first).status_code == 403
    assert site.get(reverse("editor:study", args=[study.slug])).status_code == 403
    role.delete()
    assert site.get(first).status_code == 404


def test_who_may_not_make_studies_makes_none(owner: AbstractUser) -> None:
    client, maker = Client(), account("reader", makes=False)
    client.force_login(maker)
    assert client.get(reverse("editor:start")).status_code == 403
    assert client.post(reverse("editor:make", args=[begin(maker, TEAS, "a file").pk])).status_code == 403
    assert not Study.objects.exists()


def test_second_window_is_told_and_overwrites_nothing(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    assert send(site, copy, "about", title="First window").status_code == 302
    late = send(site, copy, "about", title="Second window")
    assert late.status_code == 409
    assert b"saved in another window" in late.content and b"Second window" in late.content
    text = site.post(reverse("editor:text", args=[copy.pk]), {"text": "title = 1", "revision": 1})
    assert text.status_code == 409 and b"title = 1" in text.content
    copy.refresh_from_db()
    assert writing.read(copy.text)["title"] == "First window" and copy.revision == 2


def test_what_was_typed_is_shown_where_it_cannot_be_saved(
    site: Client, owner: AbstractUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = begin(owner, TEAS, "a file")
    monkeypatch.setattr(copies, "LARGEST_FILE", len(TEAS))
    refused = send(site, copy, "about", title="A title that is far too long for it")
    said = refused.content.decode()
    assert refused.status_code == 422 and "characters that no file can hold" in said
    assert "<q>A title that is far too long for it</q>" in said and "another window" not in said
    text = site.post(reverse("editor:text", args=[copy.pk]), {"text": "a = 1\n" * 9_999, "revision": 1})
    assert text.status_code == 422 and text.content.count(b"a = 1\n") == 9_999
    assert b"another window" not in text.content
    copy.refresh_from_db()
    assert copy.text.encode() == TEAS
    late = send(site, copy, "about", revision=9, recruiting__blocked_from="teas-1\nteas-2")
    assert "<q>teas-1<br>teas-2</q>" in late.content.decode()


def test_faults_stand_at_their_fields_and_money_follows(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    send(site, copy, "about", minutes="soon", pay__amount="0.10", slug="")
    page = site.get(reverse("editor:edit", args=[copy.pk, "about"])).content.decode()
    for place, said in (("minutes", "must be a whole number, not text"), ("slug", "is missing")):
        assert f'href="{reverse("editor:edit", args=[copy.pk, "about"])}#{place}"' in page
        assert said in page.partition(f'id="e-{place}"')[2].partition("</p>")[0].lower()
    copy.refresh_from_db()
    form = as_posted(fields_of(copy.text)) | {"cells[1].places": "many", "revision": str(copy.revision)}
    grid = site.post(reverse("editor:edit", args=[copy.pk, "questions"]), form, follow=True).content.decode()
    assert 'value="many"' in grid and grid.count("whole number, not text") == 3
    assert b"left to fix" in make(site, copy).content
    assert not Study.objects.exists()
    copy = begin(owner, TEAS, "a file")
    form = as_posted(fields_of(copy.text))
    form["pay.amount"], form["minutes"] = "3.00", "15"
    assert "$12.00" in site.post(reverse("editor:standing", args=[copy.pk, "about"]), form).content.decode()
    copy.refresh_from_db()
    assert copy.revision == 1


def test_what_is_typed_is_checked_where_it_stands(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    form = as_posted(fields_of(copy.text)) | {"minutes": "soon"}
    page = site.post(reverse("editor:standing", args=[copy.pk, "about"]), form).content.decode()
    assert 'id="e-minutes" hx-swap-oob="true"' in page and page.count('class="errors"') == 1
    assert "What it costs is shown when pay, minutes and places can be read." in page and "0 minutes" not in page
    assert "1 to fix" in page.partition('id="sections"')[2] and "disabled" in page.partition('id="make"')[2]
    assert 'name="shown" value="minutes"' in " ".join(page.split())
    form |= {"minutes": "10", "shown": "minutes"}
    page = site.post(reverse("editor:standing", args=[copy.pk, "about"]), form).content.decode()
    assert 'id="e-minutes" hx-swap-oob="true"' in page and 'class="err"' not in page and 'name="shown"' not in page
    assert "to fix" not in page.replace("Nothing is left to fix.", "") and "disabled" not in page


@pytest.mark.parametrize("where", ["edit", "text"])
def test_the_study_is_made_of_what_is_typed_and_once(site: Client, owner: AbstractUser, where: str) -> None:
    copy = begin(owner, TEAS, "a file")
    address = reverse(f"editor:{where}", args=[copy.pk, *(["about"] if where == "edit" else [])])
    new = copy.text.replace('title = "Teas"', 'title = "Teas by day"')
    typed = {"text": new} if where == "text" else as_posted(fields_of(copy.text)) | {"title": "Teas by day"}
    typed |= {"revision": str(copy.revision), "do": "make"}
    for _ in range(2):  # a double click
        assert site.post(address, typed)["Location"] == "/console/teas/setup/"
    copy.refresh_from_db()
    assert Study.objects.get().title == "Teas by day" and copy.text == new
    late = typed | ({"text": new + "\n# late"} if where == "text" else {"title": "Late"})
    assert site.post(address, late).status_code == 409 and Study.objects.get().title == "Teas by day"


def test_entries_are_added_moved_and_removed(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    slugs = [prompt["slug"] for prompt in writing.read(copy.text)["prompts"]]
    for do, wanted in (
        ("down/prompts/1", slugs[::-1]),
        ("add/prompts", [*slugs[::-1], None]),
        ("remove/prompts/3", slugs[::-1]),
        ("up/prompts/2", slugs),
        ("up/prompts/1", slugs),
        ("remove/prompts/99", slugs),
    ):
        assert send(site, copy, "prompts", do=do).status_code == 302
        copy.refresh_from_db()
        assert [prompt.get("slug") for prompt in writing.read(copy.text)["prompts"]] == wanted
    assert copy.text.encode() == TEAS


def test_it_becomes_a_study_and_then_an_amendment(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    seen = site.get(reverse("editor:seen", args=[copy.pk, 0]))
    assert seen.context["definition"].consent.text in parse_study(TEAS).consent.text
    assert "frame-ancestors 'self'" in seen["Content-Security-Policy"]
    assert site.post(reverse("editor:seen", args=[copy.pk, 0])).url.endswith("/1/")
    make(site, copy)
    study = Study.objects.get(slug="teas")
    again = make(site, copy)  # a double click
    assert again.request["PATH_INFO"] == reverse("console:setup", args=["teas"])
    assert "The study has been created already." in again.content.decode()
    assert copies.make(copy, owner, "", 1, "") == (study, "present")  # at the same moment: read before the first's end
    assert study.memberships.get().user == owner and lifecycle.definition_of(study.current_id) == parse_study(TEAS)
    lifecycle.launch(study, "tests")
    copy.refresh_from_db()
    assert copy_of(study, owner) == copy and copy.text.encode() == TEAS
    send(site, copy, "about", title="Teas of today")
    page = site.get(reverse("editor:first", args=[copy.pk])).content.decode()
    assert "<b>1 change to version 1</b>" in page and '<ins dir="auto">Teas of today</ins>' in page
    for reason in ("", ("x" * (LONGEST_REASON + 1))):
        refused = make(site, copy, amendment=reason).content.decode()
        assert f'value="{reason}"' in refused and "Make version 2" in refused
        assert f'action="{reverse("editor:edit", args=[copy.pk, "about"])}"' in refused  # where *Save* sends it
    study.refresh_from_db()
    assert study.current.number == 1
    make(site, copy, amendment="A better title")
    study.refresh_from_db()
    assert (study.current.number, study.current.amendment) == (2, "A better title")


def test_only_the_changes_that_were_listed_become_a_version(site: Client, owner: AbstractUser) -> None:
    study = create_study(parse_study(TEAS), owner)
    copy, first = copy_of(study, owner), reverse("editor:study", args=[study.slug])
    send(site, copy, "about", title="First title")
    listed = site.get(first, follow=True).content.decode()
    copy.refresh_from_db()
    send(site, copy, "about", title="Second title")
    assert "was saved again since" in make(site, copy, listed).content.decode()
    listed = site.get(first, follow=True).content.decode()
    assert "was made after this copy was begun" not in listed
    lifecycle.load_definition(replace(parse_study(TEAS), minutes=99), "somebody")
    assert "Version 2 has come since you looked" in make(site, copy, listed).content.decode()
    study.refresh_from_db()
    assert study.current.number == 2
    listed = site.get(first, follow=True).content.decode()
    assert "Version 2 was made after this copy was begun" in listed and "<code>minutes</code>" in listed
    make(site, copy, listed)
    study.refresh_from_db()
    assert (study.current.number, study.title) == (3, "Second title")
    copy.refresh_from_db()
    send(site, copy, "about", title="Third title")
    listed = site.get(first, follow=True).content.decode()
    assert "has come since" not in listed and "From teas, version 3" in listed


def test_text_that_is_no_toml_stays_and_names_its_line(site: Client, owner: AbstractUser) -> None:
    copy = begin(owner, TEAS, "a file")
    broken = TEAS.decode() + "\nwhat is this"
    assert site.post(reverse("editor:text", args=[copy.pk]), {"text": broken, "revision": 1}).status_code == 302
    assert site.get(reverse("editor:first", args=[copy.pk])).url == reverse("editor:text", args=[copy.pk])
    page = site.get(reverse("editor:text", args=[copy.pk])).content.decode()
    assert f'<td class="number">{broken.count(chr(10)) + 1}</td>' in page and "what is this</textarea>" in page
    assert "Edit: a file</h1>" in page


def test_copy_that_goes_back_to_an_earlier_version_is_kept(site: Client, owner: AbstractUser) -> None:
    study = create_study(parse_study(TEAS), owner)
    copy = copy_of(study, owner)
    before = writing.read(copy.text)["title"]
    send(site, copy, "about", title="Other teas")
    make(site, copy)
    copy.refresh_from_db()
    send(site, copy, "about", title=before)
    study.refresh_from_db()
    assert writing.read(copy_of(study, owner).text)["title"] == before
    lifecycle.load_definition(replace(parse_study(TEAS), contact="Call us."), "somebody")
    study.refresh_from_db()
    assert writing.read(copy_of(study, owner).text)["title"] == before
    site.post(reverse("editor:drop", args=[copy.pk]))
    copy_of(study, owner)
    lifecycle.load_definition(replace(parse_study(TEAS), contact="Do not call."), "somebody")
    study.refresh_from_db()
    assert writing.read(copy_of(study, owner).text)["contact"] == "Do not call."  # untouched, so renewed
