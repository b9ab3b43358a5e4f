"""Attributes go to annotators with their evidence, without personal details; and a person can be erased again."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.agreement.agreements import agreement_of
from analysis.models import (
    Attribute,
    Completion,
    Conversation,
    ConversationRepeat,
    ConversationVector,
    Corpus,
    CorpusUser,
    ErasedUser,
    MetricValue,
    Task,
    TextVector,
)
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora.embeddings import embed_corpus
from analysis.people.corpora.importing import Report, make_row, store
from analysis.people.corpora.records import Record
from analysis.people.corpora.retrieval import read_vectors
from analysis.people.pushing import cluster_of
from surveys.models import Annotation, AnnotationItem, AuditEvent, History, Slot, Study
from surveys.studies.audit import find_breaks
from tests.analysis.people.people_samples import command, make_person, people, said, write_lines
from tests.analysis.runs.baseline_factories import LETTERS, make_corpus, make_run, use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import annotate, make_annotation_study, make_annotator, make_study

pytestmark = pytest.mark.django_db
MAIL = "ann@example.org"


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    use_letters(monkeypatch)
    corpus = make_corpus()
    make_person("ann", [[f"Write to {MAIL}, I bake bread.", "And I sing in a choir."], ["Only weather here."]], corpus)
    make_person("bob", [["I bake bread, says Bob."]], corpus)
    keep_attributes(
        corpus,
        [
            NewAttribute("ann", "Bakes bread.", 0.9, [f"write to {MAIL}, i bake"], "ann-1", generator="model-a"),
            NewAttribute("ann", "Bakes  bread", 0.8, ["I bake bread"], "ann-1"),
            NewAttribute("ann", "Quits jumpy zoo fix.", 0.7, ["nothing of this was said"]),
            NewAttribute("ann", "Sings hymns to God.", 0.7),
            NewAttribute("bob", "Bakes bread.", 0.9, ["I bake bread"]),
        ],
    )
    people("corpus", "merge")
    return corpus


@pytest.fixture
def study() -> Study:
    return make_annotation_study(kind="attribute", slug="facts")


def test_items_show_the_conversations_and_the_evidence_in_its_place(corpus: Corpus, study: Study) -> None:
    report = people("corpus", "push", "--study", "facts")
    assert {name: report[name] for name in ("items", "users", "histories", "personal", "unlocated")} == {
        "items": 3, "users": 2, "histories": 2, "personal": 1, "unlocated": 1,
    }  # fmt: skip
    assert report["without_evidence"] == 1
    item = AnnotationItem.objects.get(cluster="ann", payload__attribute="Bakes bread.")
    assert item.payload["evidence"] == [
        {"quote": "Write to [e-mail address], I bake", "conversation": 1, "turn": 1},
        {"quote": "I bake bread", "conversation": 1, "turn": 1},
    ]
    assert MAIL not in json.dumps(item.history.conversations)
    assert [len(conversation["turns"]) for conversation in item.history.conversations] == [4, 2]
    assert item.tags == {"corpus": "corpus", "user": "ann", "generator": "model-a"}
    assert (item.corpus, item.source) == ("corpus", str(Attribute.objects.get(text="Bakes bread.", user__key="ann").pk))
    odd = AnnotationItem.objects.get(payload__attribute="Quits jumpy zoo fix.")
    assert odd.payload["evidence"][0]["turn"] is None and odd.history == item.history
    assert annotate(make_annotator(study)) is not None


def test_pushing_again_adds_what_is_new(corpus: Corpus, study: Study) -> None:
    people("corpus", "push", "--study", "facts")
    keep_attributes(corpus, [NewAttribute("bob", "Wears velvet.", 0.9, ["bake"])])
    people("corpus", "merge")
    report = people("corpus", "push", "--study", "facts")
    assert (report["items"], report["already_there"], AnnotationItem.objects.count()) == (1, 3, 4)


def test_a_cluster_that_another_attribute_stands_for_is_not_pushed_again(corpus: Corpus, study: Study) -> None:
    people("corpus", "push", "--study", "facts")
    first, second = Attribute.objects.filter(user__key="ann", text__startswith="Bakes").order_by("id")
    assert first.merged_into == second.merged_into == first
    first.cluster_size = first.cluster_confidence = None
    first.merged_into = second
    first.save()
    Attribute.objects.filter(pk=second.pk).update(merged_into=second, cluster_size=2, cluster_confidence=0.9)
    assert people("corpus", "push", "--study", "facts")["items"] == 0


def test_only_the_sampled_are_pushed_where_there_is_a_sample(corpus: Corpus, study: Study) -> None:
    assert people("corpus", "sample")["chosen_users"] == ["ann"]  # bob has one attribute
    assert people("corpus", "push", "--study", "facts")["users"] == 1
    assert set(AnnotationItem.objects.values_list("cluster", flat=True)) == {"ann"}


def test_histories_that_are_too_long_keep_what_the_evidence_is_from(
    corpus: Corpus, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        make_person("ann", [[f"Small talk {number}."]], corpus)
    monkeypatch.setattr("analysis.people.pushing.ROOM", 80)
    report = people("corpus", "push", "--study", "facts")
    history = AnnotationItem.objects.filter(cluster="ann").first().history.conversations
    assert report["conversations_left_out"] == 9 and "choir" in json.dumps(history)


def test_merged_attributes_go_into_a_study_of_attributes(study: Study) -> None:
    make_corpus()
    make_annotation_study(kind="preference", slug="answers")
    for slug, words in (
        ("facts", "corpus has no merged attributes: people corpus merge"),
        ("answers", "Annotators of answers judge preference items"),
        ("nowhere", "There is no study nowhere"),
    ):
        with pytest.raises(CommandError, match=words):
            people("corpus", "push", "--study", slug)


def test_nothing_goes_on_from_a_step_that_was_stopped(corpus: Corpus, study: Study) -> None:
    make_study(slug="teas")
    make_fake()
    ask = ("ask", "candidates", "--endpoint", "scripted", "--prompts", "teas")
    for step, words in (("merge", "Merging the attributes of corpus"), ("filter", "The funnel of corpus")):
        corpus.steps.update_or_create(name=step, defaults={"state": "running"})
        for go_on in (("sample",), ("push", "--study", study.slug), ask):
            with pytest.raises(CommandError, match=f"{words} did not come to its end. Repeat it: people corpus {step}"):
                people("corpus", *go_on)


def everything() -> dict[str, int]:
    models = (Conversation, ConversationVector, CorpusUser, Attribute, AnnotationItem, History, Slot, Annotation)
    return {model.__name__: model.objects.count() for model in models}


def test_person_is_erased_with_all_that_is_about_them(corpus: Corpus, study: Study, tmp_path: Path) -> None:
    list(embed_corpus(corpus, LETTERS))
    people("corpus", "push", "--study", "facts")
    person = make_annotator(study)
    while annotate(person):
        pass
    item = AnnotationItem.objects.filter(cluster="ann").first()
    run = make_run("judge", study, instruction="same-1")
    Completion.objects.create(run=run, task=run.tasks.create(annotation_item=item), repeat=0, position=0)
    user = CorpusUser.objects.get(key="ann")
    for about in ({"annotation_item": item}, {"user": user}, {"conversation": corpus.conversations.get(user="bob")}):
        task = Task.objects.create(run=run, key=str(about), sha256="", **about)
        Completion.objects.create(run=run, task=task, repeat=0, position=0)
    agreement_of(study, draws=5)
    assert '"ann"' in json.dumps(list(MetricValue.objects.values_list("value", flat=True)))
    report = command("erase_user", "corpus", "ann")
    assert report == {
        **{"corpus": "corpus", "conversations": 2, "attributes": 4, "items": 2, "labels": 2, "completions": 3}
    }
    assert '"ann"' not in json.dumps(list(MetricValue.objects.values_list("value", flat=True)))
    assert Completion.objects.count() == 1
    assert everything() == {
        **{"Conversation": 1, "ConversationVector": 1, "CorpusUser": 1, "Attribute": 1},
        **{"AnnotationItem": 1, "History": 1, "Slot": 3, "Annotation": 1},
    }
    assert sum(len(piece.matrix) for piece in read_vectors(corpus, LETTERS.name)) == 1
    assert TextVector.objects.count() == 1  # bob bakes too
    event = AuditEvent.objects.filter(study=study).order_by("-number").first()
    assert (event.action, event.detail) == ("person erased", {"items": 2, "labels": 2, "completions": 2})
    assert list(find_breaks(study)) == [] and "ann" not in json.dumps(event.detail) + event.subject
    with pytest.raises(CommandError, match="corpus has no user 'ann'"):
        command("erase_user", "corpus", "ann")


def test_erased_person_stays_out_of_later_imports_until_that_is_allowed(tmp_path: Path) -> None:
    lines = [
        {"conversation": said(f"Hello from {user} {n}"), "hashed_ip": user, "language": "English"}
        for n, user in enumerate(["ann", "ann", "bob"])
    ]
    file = write_lines(tmp_path / "chats.jsonl", lines)
    told = write_lines(tmp_path / "told.jsonl", [{"user": user, "text": "Bakes."} for user in ("ann", "bob")])
    arguments = ("chats", str(file), "--format", "wildchat")
    command("import_corpus", *arguments)
    command("erase_user", "chats", "ann")
    assert command("import_corpus", *arguments)["erased"] == 2
    report = command("import_attributes", "chats", str(told))
    assert (report["erased"], report["attributes"], report["users"]) == (1, 1, 1)
    assert set(Conversation.objects.values_list("user", flat=True)) == {"bob"}
    assert set(Attribute.objects.values_list("user__key", flat=True)) == {"bob"}
    assert "ann" not in json.dumps(list(ErasedUser.objects.values("salt", "digest")))
    command("import_corpus", "other", *arguments[1:])  # somebody of another corpus is somebody else
    assert Conversation.objects.filter(corpus__name="other", user="ann").count() == 2
    assert command("import_corpus", *arguments, "--allow-erased", "--limit", "1")["new"] == 1
    assert not ErasedUser.objects.exists()
    assert command("import_corpus", *arguments)["new"] == 1
    assert command("import_attributes", "chats", str(told))["new"] == 1


def test_what_others_said_in_the_same_words_stays_theirs() -> None:
    corpus = make_corpus()
    records = [Record(said("Hello?"), f"id {n}", user, "English") for n, user in enumerate(["ann", "ann", "bob"])]
    for record in records:
        store(corpus, [make_row(record)], Report("corpus"))
    rows = [NewAttribute("bob", "Greets.", None, ["Hello"], name) for name in ("", "id 2")]
    assert keep_attributes(corpus, rows).unlocated == 0
    assert command("erase_user", "corpus", "ann")["conversations"] == 2
    assert (Conversation.objects.get().user, ConversationRepeat.objects.count()) == ("bob", 0)
    assert Attribute.objects.filter(user__key="bob").count() == 2
    assert command("erase_user", "corpus", "bob")["conversations"] == 1
    assert not Conversation.objects.exists()


def test_only_the_very_person_is_erased_and_a_corpus_with_all_its_people(corpus: Corpus) -> None:
    before = everything()
    for key in ("'; DROP TABLE analysis_attribute; --", "%", "", "ann\n"):
        with pytest.raises(CommandError, match="has no user"):
            command("erase_user", "corpus", key)
    assert everything() == before
    people("corpus", "sample")
    Attribute.objects.get(text="Bakes bread.", user__key="ann").delete()
    left = Attribute.objects.get(text="Bakes  bread")
    assert (left.merged_into, left.cluster_size) == (None, None)  # its cluster's representative is gone
    corpus.delete()
    assert (CorpusUser.objects.count(), Attribute.objects.count()) == (0, 0)


def test_key_that_stands_on_no_line_is_called_by_its_hash() -> None:
    assert (cluster_of("ann"), len(cluster_of("a\nb"))) == ("ann", 64)


def test_people_are_written_as_files(corpus: Corpus, tmp_path: Path) -> None:
    people("corpus", "sample")
    report = command("export_people", "corpus", "--out", str(tmp_path / "people"))
    assert (report["users"], report["attributes"]) == (2, 5)
    users, rows = (
        [json.loads(line) for line in (tmp_path / "people" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("users", "attributes")
    )
    assert [(user["key"], user["place"]) for user in users] == [("ann", 1), ("bob", None)]
    first, second = rows[:2]
    assert (first["merged_into"], first["cluster_size"], second["merged_into"]) == (first["id"], 2, first["id"])
    assert first["evidence"][0]["start"] == 0 and first["source_id"] == "ann-1" and rows[3]["sensitive"] == ["religion"]
    steps = json.loads((tmp_path / "people" / "steps.json").read_text())["steps"]
    assert {step["name"]: step["state"] for step in steps} == {"merge": "done", "sample": "done"}


def test_export_says_when_there_is_nothing_and_when_it_cannot_write(corpus: Corpus, tmp_path: Path) -> None:
    make_corpus("empty")
    with pytest.raises(CommandError, match="Nobody is known of empty yet"):
        call_command("export_people", "empty", "--out", str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_people", "corpus", "--out", str(tmp_path / "file"))


def test_toxic_and_redacted_conversations_are_shown_only_on_purpose(corpus: Corpus, study: Study) -> None:
    Conversation.objects.filter(source_id="ann-1").update(toxic=True)
    keep_attributes(corpus, [NewAttribute("ann", "Talks about weather.", 0.9, ["Only weather here."], "ann-2")])
    people("corpus", "merge", "--similarity", "0.99")
    report = people("corpus", "push", "--study", "facts")
    assert report["conversations_marked"] == 1
    about = AnnotationItem.objects.filter(cluster="ann")
    assert set(about.values_list("payload__attribute", flat=True)) == {"Talks about weather.", "Quits jumpy zoo fix."}
    assert "choir" not in json.dumps(about.first().history.conversations)
    other = make_annotation_study(kind="attribute", slug="others")
    assert people("corpus", "push", "--study", other.slug, "--toxic")["conversations_marked"] == 0
    assert other.annotation_items.filter(payload__attribute="Bakes bread.", cluster="ann").exists()
