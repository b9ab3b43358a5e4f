"""The console's pages of people and their API: who may see them, what they say, and what they start."""

import gzip
import json
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.charts.figure import Options
from analysis.models import Attribute, Conversation, Corpus, CorpusStep, CorpusUpload, CorpusUser, Endpoint
from analysis.people import tasks
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora.embeddings import Embedder, EmbeddingError
from analysis.people.pages import reads, source_views, views
from analysis.people.pages.forms import settings_of, studies_for_items
from analysis.people.pages.views import draw_funnel
from analysis.people.steps import is_busy, note_failure, note_waiting, step_of
from surveys.models import AnnotationItem, AuditEvent, Membership, Study
from surveys.studies.lifecycle import close
from tests.analysis.people.people_samples import as_program, make_person, people, talk
from tests.analysis.runs.baseline_factories import make_conversation, make_corpus, make_endpoint, shared, use_letters
from tests.factories import make_account, make_annotation_study, make_study
from tests.roles import as_account, make_roles
from tests.surveys.console.console_pages import lines_of, said

pytestmark = pytest.mark.django_db
MAIL = "ann@example.org"


@pytest.fixture
def study() -> Study:
    study = make_study("draft")
    make_roles(study)
    return study


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    use_letters(monkeypatch)
    corpus = make_corpus()
    make_person("ann", [*talk("ann", 3), [f"Write to {MAIL}, I <b>bake</b> bread."]], corpus)
    make_person("bob", talk("bob", 3), corpus)
    make_person("rare", talk("rare", 1), corpus)
    keep_attributes(
        corpus,
        [
            NewAttribute("ann", f"Bakes bread, {MAIL}.", 0.9, [f"to {MAIL}, I <b>bake"], reasoning="She says so."),
            NewAttribute("ann", "Prays to God.", 0.8, ["never said"]),
            NewAttribute("bob", "Sings.", 0.9),
            NewAttribute("bob", "Quaffs.", 0.2),
            NewAttribute("bob", "Fixes wax.", 0.7),
        ],
    )
    for step in ("filter", "merge", "sample"):
        people("corpus", step)
    return corpus


def address(name: str, *more: Any, slug: str = "teas") -> str:
    return reverse(f"people:{name}", args=[slug, *more])


def test_page_of_a_corpus_opens_with_its_answer_and_shows_funnel_and_sample(study: Study, corpus: Corpus) -> None:
    page = as_account("researcher").get(address("corpus", "corpus"))
    words = lines_of(page)
    assert "2 of 3 users are kept; left out: 1 by activity." in words
    assert "The sample, from specialists to generalists" in words
    assert "Bakes bread, [e-mail address]." in words and MAIL not in page.content.decode()
    assert "Activity 1 2" in words  # the funnel's table
    assert page.content.decode().count('class="figure') == 2  # one for wide screens, one for narrow ones
    assert re.search(r"Between attributes of two users [\d.]+ 2 users", words)
    assert "corpus wildchat not named 8 3 2 5" in lines_of(as_account("researcher").get(address("corpora")))
    CorpusStep.objects.filter(name="merge").update(state="running", share=0.4)
    assert "It was interrupted. Start it again." in lines_of(as_account("researcher").get(address("corpus", "corpus")))


def test_person_shows_evidence_marked_without_personal_details(study: Study, corpus: Corpus) -> None:
    user = CorpusUser.objects.get(key="ann")
    first = Attribute.objects.filter(user=user).first()
    client = as_account("researcher")
    page = client.get(f"{address('person', 'corpus', user.pk)}?attribute={first.pk}").content.decode()
    marked = re.search(r'<a\s+id="evidence-1"\s*></a><mark\s+class="evidence"\s*>(.*?)</mark>', page)
    assert marked.group(1) == "to [e-mail address], I &lt;b&gt;bake"
    assert MAIL not in page and "asks 1 1" not in page
    whole = client.get(address("person", "corpus", user.pk))
    words = lines_of(whole)
    assert MAIL not in whole.content.decode()
    assert "ann asks 1 1" in words and "never said” not found" in words and "religion" in words
    assert "Activity kept 4 conversations, 19 user messages" in words
    for asked in ("x", "99999999999999999999", "0", "-1"):  # none of her attributes
        page = client.get(f"{address('person', 'corpus', user.pk)}?attribute={asked}")
        assert page.status_code == 200 and "All conversations" not in lines_of(page)


def test_queries_do_not_grow_with_the_sample(study: Study, corpus: Corpus) -> None:
    client = as_account("researcher")
    with CaptureQueriesContext(connection) as few:
        client.get(address("corpus", "corpus"))
    for number in range(20):
        make_person(f"p{number}", talk(f"p{number}", 3), corpus)
        keep_attributes(corpus, [NewAttribute(f"p{number}", text) for text in ("Runs.", "Quaffs wax.", "Boxes.")])
    for step in ("filter", "merge", "sample"):
        people("corpus", step)
    with CaptureQueriesContext(connection) as many:
        assert "p19" in client.get(address("corpus", "corpus")).content.decode()
    assert len(many) == len(few)


def test_surest_attributes_come_first_and_of_equally_sure_ones_those_said_most_often(corpus: Corpus) -> None:
    user = CorpusUser.objects.get(key="bob")
    said = [("Jumps.", 0.95, "1"), ("Weds.", 0.7, "1"), ("Weds!", 0.7, "1")]
    keep_attributes(corpus, [NewAttribute("bob", text, sure, (), place) for text, sure, place in said])
    people("corpus", "merge")
    shown = [entry["text"] for entry in reads.top_attributes([user])[user.pk]]
    assert shown[:2] == ["Jumps.", "Sings."] and shown[2].startswith("Weds") and shown[3] == "Fixes wax."


def begin(client: Client, step: str, **settings: Any) -> Any:
    return client.post(address("start", "corpus", step), settings, follow=True)


def test_step_is_begun_by_a_worker_and_noted(
    study: Study, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(views.people_step, "delay", lambda *arguments: given.append(arguments))
    with django_capture_on_commit_callbacks(execute=True):
        page = begin(as_account("researcher"), "sample", size="1", seed="4")
    assert said(page) == ["Sample begins as soon as a worker is free."]
    whose = {"account": get_user_model().objects.get(username="researcher").pk, "study": study.pk}
    assert given == [(corpus.pk, "sample", {"size": 1, "seed": 4}, "researcher", whose)]
    step = CorpusStep.objects.get(name="sample")
    assert (step.state, step.started_by) == ("waiting", "researcher")
    assert AuditEvent.objects.filter(study=study, action="people: sample", subject="corpus").exists()
    assert "every 2s" in page.content.decode()
    tasks.people_step(*given[0])
    step.refresh_from_db()
    assert (step.state, step.report["chosen"], step.share) == ("done", 1, 1.0)
    assert as_account("researcher").get(address("progress", "corpus")).headers["HX-Refresh"] == "true"


def test_every_step_runs_with_what_its_form_gives(study: Study, corpus: Corpus, monkeypatch) -> None:
    monkeypatch.setattr(tasks, "local_embedder", lambda: use_letters(monkeypatch))
    facts = make_annotation_study(kind="attribute", slug="facts")
    shared(corpus)
    owner = make_account("ada", facts, "owner")
    for step, form in views.FORMS.items():
        whose = {"user": owner, "study": facts, "corpus": corpus}
        blank = form(**whose)
        given = {"study": "facts"} if step == "push" else {}
        asked = form({name: field.initial for name, field in blank.fields.items()} | given, **whose)
        assert asked.is_valid(), asked.errors
        tasks.people_step(corpus.pk, step, asked.cleaned_data, "ada")
        assert CorpusStep.objects.get(name=step).state == "done"
    assert AnnotationItem.objects.filter(study=facts, corpus="corpus").exists()


def test_merge_with_the_embeddings_of_an_endpoint_is_repeated_with_them(study: Study, corpus: Corpus) -> None:
    make_endpoint(name="words", model="words", embeddings=True)
    tasks.people_step(corpus.pk, "merge", {"similarity": 0.7, "endpoint": "words"}, "ada")
    step = CorpusStep.objects.get(name="merge")
    assert (step.state, step.settings["model"]) == ("done", "words/words")
    assert settings_of(step)["endpoint"] == "words"
    assert settings_of(CorpusStep(settings={"model": "letters"}))["endpoint"] == ""


def test_items_go_only_into_studies_of_attributes_in_which_one_may_act(study: Study, corpus: Corpus) -> None:
    make_annotation_study(kind="attribute", slug="facts")
    mine = make_annotation_study(kind="attribute", slug="mine")
    make_annotation_study(kind="relevance", slug="pairs")
    researcher = get_user_model().objects.get(username="researcher")
    for slug, role in (("facts", "viewer"), ("mine", "researcher"), ("pairs", "owner")):
        Membership.objects.create(study=Study.objects.get(slug=slug), user=researcher, role=role)
    assert list(studies_for_items(researcher)) == [mine]
    assert "Select a valid choice" in said(begin(as_account("researcher"), "push", study="facts"))[0]
    close(mine, "tests")
    corpus.shared_with.add(mine)
    (why,) = said(begin(as_account("researcher"), "push", study="mine", seed="0"))
    assert why == "mine is closed for good: nobody new can label more items. Push them into another."
    assert not CorpusStep.objects.filter(name="push").exists()


def test_settings_that_mean_nothing_are_said(study: Study, corpus: Corpus) -> None:
    page = begin(as_account("researcher"), "merge", similarity="7", least="0.4")
    assert "Similarity: Ensure this value is less than or equal to 0.99." in said(page)[0]
    assert page.status_code == 422 and 'value="7"' in page.content.decode()  # nothing typed is lost
    assert re.search(r'<details\s+id="merge"\s+open', page.content.decode())
    fields = {"language": "English", "coverage": "4", "language_share": 0.5, "assistant_use": 0.6}
    numbers = dict.fromkeys(("window", "stride", "repeated", "always", "conversations", "messages"), 60)
    assert said(begin(as_account("researcher"), "filter", **fields, **numbers)) == [
        "coverage is 4; it must be from 0 to 1."
    ]


def test_step_that_cannot_begin_says_why(study: Study) -> None:
    corpus = make_corpus()
    note_waiting(corpus, "filter", {}, "ada")
    tasks.people_step(corpus.pk, "filter", {}, "ada")
    assert CorpusStep.objects.get().state == "failed"
    words = lines_of(as_account("researcher").get(address("corpus", "corpus")))
    assert "corpus has no users: it has no conversations." in words and "No conversations yet." in words


def test_one_step_at_a_time(study: Study, corpus: Corpus) -> None:
    with step_of(corpus, "merge", {}, "ada"):
        assert is_busy(corpus) and not is_busy(make_corpus("other"))
        assert said(begin(as_account("researcher"), "sample", size="1", seed="0")) == [
            "A step is running for corpus; wait until it is over."
        ]
        note_failure(corpus, "merge", "It is delivered a second time.")
        assert CorpusStep.objects.get(name="merge").state == "running"
    assert not is_busy(corpus)


def test_failure_is_kept_with_its_reason_whether_a_step_had_begun_or_not(corpus: Corpus, monkeypatch) -> None:
    def fail(texts: list[str]) -> None:
        raise EmbeddingError("The model is gone.")

    note_waiting(corpus, "merge", {}, "ada")
    with pytest.raises(Endpoint.DoesNotExist):
        tasks.people_step(corpus.pk, "merge", {"endpoint": "gone"}, "ada")
    step = CorpusStep.objects.get(name="merge")
    assert step.state == "failed" and "does not exist" in step.reason
    keep_attributes(corpus, [NewAttribute("ann", "New.")])
    monkeypatch.setattr(tasks, "local_embedder", lambda: Embedder("letters", fail))
    note_waiting(corpus, "merge", {}, "ada")
    tasks.people_step(corpus.pk, "merge", {}, "ada")
    step.refresh_from_db()
    assert (step.state, step.reason) == ("failed", "The model is gone.")
    with pytest.raises(CommandError, match="Merging the attributes of corpus did not come to its end. Repeat it"):
        people("corpus", "sample")


# --- files that are brought


RECORD = {"conversation": [{"role": "user", "content": "Hi"}], "hashed_ip": "ann", "language": "English"}
LINE = json.dumps(RECORD).encode() + b"\n"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks) -> Any:
    """Run a worker's steps in place, and in `with worker():` also what waits for the commit."""
    monkeypatch.setattr(source_views.people_step, "delay", lambda *given: tasks.people_step(*given))
    return lambda: django_capture_on_commit_callbacks(execute=True)


def bring(content: bytes, **changes: Any) -> Any:
    given = {"name": "mine", "format": "wildchat", "source": "A friend", "licence": "CC-BY-4.0"}
    file = SimpleUploadedFile("chats.jsonl", content)
    return as_account("researcher").post(address("corpora"), given | {"file": file} | changes, follow=True)


def test_corpus_is_brought_through_the_browser(study: Study, worker: Any) -> None:
    with worker():
        page = bring(LINE)
    assert said(page) == ["chats.jsonl is here. It is imported as soon as a worker is free."]
    assert Corpus.objects.get().conversations.get().user == "ann"
    assert AuditEvent.objects.filter(study=study, action="corpus uploaded", subject="mine").exists()
    page = as_account("researcher").get(address("corpus", "mine"))
    assert "mine: A friend; licence: CC-BY-4.0." in lines_of(page)
    assert "1 new conversation, 0 repeated" in lines_of(page)
    with worker():
        bring(LINE, source="", licence="")
    assert Corpus.objects.get().licence == "CC-BY-4.0"  # what is not given again stays
    assert not CorpusUpload.objects.exists()


def test_file_with_a_fault_changes_nothing_unless_that_was_asked_for(study: Study, worker: Any) -> None:
    with worker():
        bring(LINE + b"none\n")
    words = lines_of(as_account("researcher").get(address("corpus", "mine")))
    assert "chats.jsonl: nothing was imported. Faults: 1, beside 1 conversation that" in words and "line 2: " in words
    assert not Conversation.objects.exists() and not CorpusUpload.objects.exists()
    assert "mine A friend CC-BY-4.0 0 0 0 0" in lines_of(as_account("researcher").get(address("corpora")))
    with worker():
        bring(LINE + b"none\n", faulty="on", format="lmsys")
    assert Conversation.objects.count() == 1
    assert Corpus.objects.get().format == "lmsys"  # nothing is left of the first file
    assert "1 record could not be read: line 2" in lines_of(as_account("researcher").get(address("corpus", "mine")))


def test_corpus_whose_conversations_name_no_users_says_so(study: Study) -> None:
    corpus = make_corpus()
    assert "It has no conversations." in lines_of(as_account("researcher").get(address("corpus", corpus.name)))
    make_conversation(corpus)
    words = lines_of(as_account("researcher").get(address("corpus", corpus.name)))
    assert "Its conversations name no users." in words


def test_packed_file_that_grows_without_end_is_refused(study: Study, worker: Any, monkeypatch) -> None:
    monkeypatch.setattr("analysis.people.corpora.uploads.MOST_UNPACKED", 1_000)
    with worker():
        bring(gzip.compress(LINE * 100), faulty="")
    assert "more than 1,000 bytes when unpacked" in CorpusStep.objects.get().reason
    assert not Conversation.objects.exists()


def test_bad_uploads_are_told(study: Study, worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with worker():
        bring(b"nothing\n")
    assert "chats.jsonl holds no whole wildchat conversation" in CorpusStep.objects.get().reason
    assert "Use up to 50 letters" in lines_of(bring(b"x", name="a b"))
    assert "Say it, or that it is not known." in lines_of(bring(b"x", licence="", name="new"))
    monkeypatch.setattr("analysis.people.pages.forms.MOST_BYTES", 3)
    page = bring(b"long")
    assert page.status_code == 422 and "Read it on the server" in lines_of(page)


def test_file_comes_in_parts_and_each_account_adds_to_its_own(study: Study, worker: Any, monkeypatch) -> None:
    monkeypatch.setattr("analysis.people.corpora.uploads.PART_BYTES", 50)
    client, content = as_account("researcher"), LINE + LINE.replace(b"Hi", b"Ho").replace(b"ann", b"bob")
    about = {"name": "mine", "format": "wildchat", "source": "A friend", "licence": "MIT", "filename": "chats.jsonl"}
    upload = client.post(address("new-upload"), about | {"size": str(len(content))}).json()["address"]
    parts = [content[start : start + 50] for start in range(0, len(content), 50)]

    def post(query: str, body: bytes = b"", role: str = "researcher") -> Any:
        return as_account(role).post(f"{upload}?{query}", body, content_type="application/octet-stream")

    assert post("part=0", parts[0], role="owner").status_code == 404
    kept = {post(f"part={number}", part).status_code for number, part in enumerate(parts[:-1])}
    assert kept == {200} and len(parts) > 3
    assert post("end=1").json()["faults"] == ["Some of chats.jsonl has not arrived. Choose it again."]
    assert post(f"part={len(parts)}", b"more").status_code == 409
    assert post("part=x", b"more").status_code == 404
    for _ in range(2):  # the browser repeats a request whose answer got lost
        assert post(f"part={len(parts) - 1}", parts[-1]).status_code == 200
    with worker():
        assert post("end=1").json() == {"address": address("corpus", "mine")}
    assert set(Corpus.objects.get().conversations.values_list("user", flat=True)) == {"ann", "bob"}


def test_funnel_is_a_file(study: Study, corpus: Corpus) -> None:
    client = as_account("researcher")
    files = {kind: client.get(address("figure", "corpus", kind)).content.decode() for kind in ("svg", "csv", "json")}
    assert all("Activity" in content for content in files.values())
    assert files["csv"].splitlines()[1:] == [
        "All users,0,3", "Language,0,3", "Scripted templates,0,3", "Activity,1,2", "Use as an assistant,0,2",
    ]  # fmt: skip


@pytest.mark.parametrize("narrow", [True, False])
def test_funnel_of_nobody_is_a_sentence(narrow: bool) -> None:
    assert draw_funnel({}, Options(narrow=narrow)).alt == "Nobody has been filtered yet."


# --- the API ----------------------------------------------------------------


def api(client: Client, path: str = "") -> Any:
    return client.get(f"/api/v1/studies/teas/people/{path}")


def test_api_tells_what_the_commands_do(study: Study, corpus: Corpus) -> None:
    client = as_program("researcher")
    assert api(client).json()["corpora"][0]["kept"] == 2
    steps = api(client, "corpus/").json()["steps"]
    assert {name: step["state"] for name, step in steps.items()} == {
        "filter": "done",
        "merge": "done",
        "sample": "done",
    }
    assert steps["filter"]["report"]["kept"] == 2
    users = api(client, "corpus/users/?limit=2").json()
    assert (users["count"], [user["key"] for user in users["results"]]) == (3, ["ann", "bob"])
    rows = api(client, "corpus/attributes/").json()
    assert (rows["count"], rows["results"][1]["sensitive"]) == (5, ["religion"])


def test_api_begins_steps(study: Study, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views.people_step, "delay", lambda *given: None)
    client = as_program("researcher")

    def post(step: str, body: Any) -> Any:
        return client.post(f"/api/v1/studies/teas/people/corpus/{step}/", json.dumps(body), "application/json")

    response = post("filter", {"settings": {"messages": 3}})
    assert response.status_code == 202
    assert response.json()["steps"]["filter"]["state"] == "waiting"
    settings = CorpusStep.objects.get(name="filter").settings
    assert (settings["messages"], settings["conversations"]) == (3, 3)
    assert post("merge", {"settings": {"similarity": 9}}).status_code == 400
    assert "settings may name similarity" in post("merge", {"settings": {"sim": 0.7}}).json()["detail"]
    assert post("nothing", {}).status_code == 404
    assert as_program("viewer").post("/api/v1/studies/teas/people/corpus/merge/").status_code == 403
