"""A lab's own words for a task are asked instead of the shipped ones, and whatever rests on them names them."""

from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import DatabaseError, transaction

from analysis.models import Attribute, ConversationVerdict, Instruction, Run, Task
from analysis.runs.asking.registry import kind_of
from surveys.models import Annotation, AnnotationItem
from tests.analysis.people.people_samples import command, make_person, people
from tests.analysis.people.test_relevant import make_judged, make_preferences, push
from tests.analysis.runs.baseline_factories import make_corpus
from tests.analysis.runs.servers import make_fake
from tests.factories import make_annotation_study, make_items

pytestmark = pytest.mark.django_db(transaction=True)


def bring(folder: Path, task: str, text: str, name: str = "paper") -> str:
    file = folder / f"{task}.txt"
    file.write_text(text, encoding="utf-8")
    return str(command("import_instruction", task, name, str(file))["label"])


def said(task: Task) -> str:
    return "\n".join(message["content"] for message in kind_of(task.run).write(task))


def test_attributes_and_verdicts_name_the_words_that_they_rest_on(tmp_path: Path) -> None:
    make_fake(extra={})
    make_person("ann", [[f"I like tea {n}.", *(f"Ask {n} {m}" for m in range(6))] for n in range(3)], make_corpus())
    label = bring(tmp_path, "language", "Is all of it in {language}?")
    people("corpus", "ask", "language", "--endpoint", "scripted", "--instruction", "paper")
    assert set(ConversationVerdict.objects.values_list("source", flat=True)) == {f"scripted {label}"}
    assert said(Task.objects.first()).startswith("Is all of it in English?\n\nThe conversation is material to read")
    people("corpus", "filter", "--without-assistant-use")
    label = bring(tmp_path, "extract", "List what is true of them. Braces {stay}.")
    people("corpus", "extract", "--endpoint", "scripted", "--instruction", "paper")
    assert label.startswith("extract-paper-") and Run.objects.filter(instruction=label).exists()
    assert set(Attribute.objects.values_list("generator", flat=True)) == {f"scripted {label} (simulated)"}
    assert "Braces {stay}." in said(Task.objects.filter(run__instruction=label).first())
    with pytest.raises(CommandError, match="There is no instruction 'other' for extract .paper."):
        people("corpus", "extract", "--endpoint", "scripted", "--instruction", "other")


def test_changed_words_are_another_version_and_both_stay(tmp_path: Path) -> None:
    make_fake()
    study = make_annotation_study(kind="relevance", slug="pairs")
    make_items(study, 2)
    labels = [bring(tmp_path, "judge", f"Say yes or no. {words}") for words in ("Be strict.", "Be mild.", "Be mild.")]
    assert labels[0] != labels[1] == labels[2] and Instruction.objects.count() == 2
    report = command("judge", "pairs", "--endpoint", "scripted", "--prompt", "paper")
    assert report["judge"] == f"scripted {labels[1]}"
    assert set(Annotation.objects.values_list("judge", flat=True)) == {report["judge"]}
    shown = said(Task.objects.filter(run=report["run"]).select_related("run").first())
    assert shown.startswith("Say yes or no. Be mild.\n\nThe prompt:")
    with pytest.raises(DatabaseError), transaction.atomic():
        Instruction.objects.update(text="Other words.")
    with pytest.raises(CommandError, match="There is no instruction 'nobody'; there are same, optimised."):
        command("judge", "pairs", "--endpoint", "scripted", "--prompt", "nobody")


def test_responses_by_own_words_name_them_in_their_items(tmp_path: Path) -> None:
    make_fake(extra={"reply": "Assam."})
    study, into = make_judged(), make_preferences()
    label = bring(tmp_path, "respond", "You know this person.")
    command("ask", study.slug, "respond", "--endpoint", "scripted", "--instruction", "paper")
    assert said(Task.objects.filter(payload__arm="personalised").first()).startswith("You know this person.\n- ")
    push()
    assert set(AnnotationItem.objects.filter(study=into).values_list("tags__instruction", flat=True)) == {label}


@pytest.mark.parametrize(
    ("task", "name", "content", "words"),
    [
        ("extract", "Paper", b"List.", "names no instruction"),
        ("extract", "same", b"List.", "names no instruction"),
        ("extract", "paper", b" \n", "is empty"),
        ("extract", "paper", b"\xff\xfe", "is not UTF-8"),
        ("extract", "paper", b"x" * 60_000, "60,000 characters; the limit is 50,000"),
    ],
)
def test_what_is_no_instruction_is_refused(tmp_path: Path, task: str, name: str, content: bytes, words: str) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=words):
        command("import_instruction", task, name, str(file))
    assert not Instruction.objects.exists()
