"""The walk of docs/people.md through the paper's three studies: pilot, gate, panel, and tables 5 and 6 with judges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

import surveys
from surveys.models import Annotation, AnnotationItem, Participant, Session, Slot, Study
from surveys.studies import lifecycle
from tests.analysis.people.people_samples import command, write_lines
from tests.analysis.runs.servers import make_fake
from tests.factories import item_of, make_account, make_visit
from tests.roles import as_account
from tests.surveys.annotation.page_forms import path_of, read, send

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
FOLDER = Path(surveys.__file__).parent / "studies"
QUALITY, RELEVANCE, PREFERENCE = "recenter-1-quality", "recenter-2-relevance", "recenter-3-preference"
ANSWERS = {
    "q-english": "Fluently, or as my first language",
    "whose": "No, it may be made up for the task",
    "any-way": "Yes, the response changes",
    "given": "Only if I prefer it, given what is known",
}
Say = Callable[[AnnotationItem], dict[str, str]]


def sit(slug: str, pid: str, say: Say) -> str:
    """One sitting with its own submission, from the Prolific link to the last page; returns the code shown there."""
    client, visit = Client(), make_visit(pid=pid).as_parameters()
    page = client.get(f"/a/{slug}/", visit, follow=True)
    if read(page).name == "consent":
        page = client.post(f"/a/{slug}/", visit | {"consent": "yes"}, follow=True)
    while (shown := read(page)).name != "end":
        if shown.name == "item":
            labels = say(AnnotationItem.objects.get(pk=shown.number))
            page = send(client, page, **{name.replace("/", "__"): value for name, value in labels.items()})
        else:
            wanted = shown.form.fields.keys() | shown.form.choices.keys()
            page = send(client, page, **{name: value for name, value in ANSWERS.items() if name in wanted})
    assert path_of(page).endswith("/end/")
    return read(page).code


def say_as(place: int, question: str, opinions: str) -> Say:
    """Answer a part's n-th item by the n-th of the recurring `opinions`; people 3 and on say the opposite."""
    words = {"y": "yes", "n": "no"} if place < 3 else {"y": "no", "n": "yes"}
    return lambda item: {question: words[opinions[int(item.key.rpartition("-")[2]) % len(opinions)]]}


def prefer_b(item: AnnotationItem) -> dict[str, str]:
    return {f"preference/{part['id']}": "4" for part in item.payload["attributes"]}


def load(slug: str, rows: list[dict[str, Any]], pilot: list[dict[str, Any]], folder: Path) -> Study:
    call_command("load_study", str(FOLDER / f"{slug}.toml"))
    for part, options in ((rows, []), (pilot, ["--pilot"])):
        if part:
            command("import_items", slug, str(write_lines(folder / f"{slug}.jsonl", part)), *options)
    return Study.objects.get(slug=slug)


def pilot_and_launch(study: Study, people: int, question: str) -> list[str]:
    """`people` people judge the pilot, the gate keeps three, and the main part begins; returns all Prolific ids."""
    lifecycle.start_pilot(study, "ada")
    pids = [f"{number:024x}" for number in range(1, people + 1)]
    for place, pid in enumerate(pids):
        assert sit(study.slug, pid, say_as(place, question, "yny"))
    assert set(Slot.objects.filter(item__pilot=True, item__study=study, done_at=None)) == set()
    gate = reverse("agreement:gate", args=[study.slug])
    limits = {"part": "pilot", "kappa": "0.4", "distance": "0.4", "shared": "5"}
    page = as_account("ada").get(gate, limits)
    assert page.context["stay"] < people
    verdicts = {
        f"keep-{person.pseudonym}": "yes" if person.pid in pids[:3] else "no"
        for person in Participant.objects.filter(study=study)
    }
    notes = {name.replace("keep", "note"): "As the authors did, by their answers." for name in verdicts}
    decided = as_account("ada").post(
        reverse("agreement:decide", args=[study.slug]), limits | verdicts | notes | {"reason": "Three who agree."}
    )
    assert decided.status_code == 302
    study.refresh_from_db()
    lifecycle.launch(study, "ada")
    return pids


def attributes(first: int) -> list[dict[str, Any]]:
    return [item_of(n, "attribute", key=f"q-{n}", source=str(n), corpus="real") for n in range(first, first + 6)]


def pairs(first: int) -> list[dict[str, Any]]:
    about = {"corpus": "real", "tags": {"candidates by": "model-a"}}
    prompts = ("Which tea is best?", "Which cup?")
    return [
        about
        | {"key": f"r-{n}", "source": str(n), "attribute": f"Drinks tea number {n}."}
        | {"prompt": prompts[n % 2], "cluster": f"user-{n // 3}"}
        for n in range(first, first + 6)
    ]


def test_three_linked_studies_from_items_to_tables_5_and_6(tmp_path: Path) -> None:
    make_fake()
    make_account("ada", is_superuser=True)
    study = load(QUALITY, attributes(0), attributes(60), tmp_path)
    pids = pilot_and_launch(study, 5, "quality")
    for place, pid in enumerate(pids[:3]):
        assert sit(QUALITY, pid, say_as(place, "quality", "yyn")) == "RQDONE1"
    assert sit(QUALITY, pids[4], say_as(4, "quality", "y")) == "RQDONE1"  # sees the code again and does nothing
    assert command("judge", QUALITY, "--endpoint", "scripted")["labelled"] == 6
    command("ask", QUALITY, "reason", "--endpoint", "scripted", "--rule", "majority")
    asked = command("ask", QUALITY, "category", "--endpoint", "scripted", "--rule", "majority")
    quality = command("agreement", QUALITY)["questions"][0]
    people = {rater["rater"] for rater in quality["raters"] if rater["kind"] == "person"}
    assert (len(people), quality["majority"]["no"], asked["read"]) == (3, 2, 2)
    assert quality["categories"]["models"][0]["n"] == 2  # table 5
    study = load(RELEVANCE, pairs(0), pairs(60), tmp_path)
    pilot_and_launch(study, 7, "relevance")
    for place, pid in enumerate(pids[:3]):
        assert sit(RELEVANCE, pid, say_as(place, "relevance", "yyn")) == "RRDONE1"
    command("ask", RELEVANCE, "respond", "--endpoint", "scripted")
    study = load(PREFERENCE, [], [], tmp_path)
    pushed = command("push_relevant", RELEVANCE)
    assert (pushed["to"], pushed["relevant"], pushed["tied"], pushed["without_responses"]) == (PREFERENCE, 4, 0, 0)
    lifecycle.launch(study, "ada")
    assert sit(PREFERENCE, f"{99:024x}", prefer_b) == "RPSCRN3"  # not one of the three
    for pid in pids[:3]:
        assert sit(PREFERENCE, pid, prefer_b)
    assert command("judge", PREFERENCE, "--endpoint", "scripted")["labelled"] > 0
    ratings = command("agreement", PREFERENCE)["questions"][0]["ratings"]
    assert [rater["rater"].split()[0] for rater in ratings["raters"]] == ["people", "scripted"]  # table 6
    assert "Stage 3 of 3" in as_account("ada").get(reverse("people:items", args=[PREFERENCE])).text
    panel = Participant.objects.filter(pid__in=pids[:3], pilot=False)
    assert panel.count() == 9 and set(panel.values_list("state", flat=True)) == {"completed"}
    assert Session.objects.filter(rule="sitting").count() == 6
    assert not Annotation.objects.filter(participant__pid=pids[4], item__pilot=False).exists()
