"""The console's frame: six entries that show their progress, every task in three clicks, and nothing beyond a role."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client
from django.urls import resolve, reverse

from analysis.answers.readings import read_everywhere
from analysis.notices.entries import EXPORT, STANDINGS, count_study, entries_of
from analysis.report.reports import Reporting
from surveys.annotation.label_imports import import_annotations
from surveys.console.monitoring.monitor import watch
from surveys.models import Participant, Slot, Study
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.analysis.exports.test_answer_tables import make_world
from tests.analysis.report.report_samples import tell
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import (
    annotate,
    finish_annotating,
    make_account,
    make_annotation_study,
    make_annotator,
    make_items,
    make_participant,
    make_study,
)
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = pytest.mark.django_db
MOST_CLICKS = 3
PERSON = "a person"
# Each task: what to press from the study's first page, and the page that does it.
TASKS = {
    "see how full the study is": (["Collect"], "console:monitor"),
    "pause recruiting": (["Collect", "Pause recruiting"], "console:change-state"),
    "read the study as it was written": (["Set-up"], "console:setup"),
    "amend the study": (["Edit"], "editor:study"),
    "let a colleague in": (["Members"], "console:members"),
    "be told when something needs attention": (["Notices"], "notices:page"),
    "rehearse with simulated people": (["Set-up", "Rehearse"], "simulation:page"),
    "find a participant": (["Collect", "Participants"], "console:participants"),
    "read what one person pasted": (["Collect", "Participants", PERSON], "console:participant"),
    "see where people left": (["Collect", "Flow"], "console:flow"),
    "top up people's pay": (["Collect", "Paying"], "paying:board"),
    "see what was paid": (["Collect", "Paying", "Ledger"], "paying:ledger"),
    "put the study on Prolific": (["Collect", "Paying", "The study on Prolific"], "paying:set-up"),
    "see what models were asked": (["Models"], "baselines:runs"),
    "ask a model": (["Models", "New run"], "baselines:new-run"),
    "say where a model is": (["Models", "Endpoints", "New endpoint"], "baselines:new-endpoint"),
    "bring conversations": (["Models", "Corpora"], "people:corpora"),
    "write simulated users' personas": (["Models", "Personas"], "people:personas"),
    "see which model learned from people": (["Models", "Trained models"], "training:models"),
    "read all answers": (["Answers"], "answers:list"),
    "decide what an unclear answer says": (["Answers", "To check"], "answers:review"),
    "make two spellings one": (["Answers", "Spellings"], "answers:spellings"),
    "know how well answers are read": (["Answers", "How well they are read"], "answers:accuracy"),
    "see what differs most": (["Compare"], "compare:overview"),
    "compare two chatbots": (["Compare", "Pair"], "compare:page"),
    "see what is recommended": (["Compare", "What people get"], "compare:page"),
    "see how varied answers are": (["Compare", "How varied, and for whom"], "compare:page"),
    "compare groups of people": (["Compare", "How varied, and for whom", "Demographics"], "compare:page"),
    "see scores of a benchmark": (["Compare", "Scores"], "compare:page"),
    "see what models cost": (["Compare", "Checks", "Cost and latency"], "compare:page"),
    "take the data": (["Export"], "export:page"),
    "take one table": (["Export", "Download"], "export:download"),
    "make a bundle for a journal": (["Export", "Replication bundle"], "compare:prepare-bundle"),
    "begin in a notebook": (["Export", "Notebook"], "export:notebook"),
    "see who did what": (["Export", "Audit trail"], "console:audit"),
    "let a program in": (["Export", "Your token"], "export:token"),
    "change one's password": (["Your account"], "console:account"),
    "go to another study": (["All studies"], "console:studies"),
}
OF_ANNOTATORS = {
    "see what judges were asked": (["Judges"], "baselines:runs"),
    "read where people differ": (["Items"], "agreement:differing"),
    "give annotators items": (["Items", "Portions"], "people:items"),
    "know how far people agree": (["Agreement"], "agreement:overview"),
    "decide which annotators stay": (["Agreement", "Pilot gate"], "agreement:gate"),
    "draw the paper's figures": (["Agreement", "Figures of the paper"], "papers:paper"),
}


class Anchors(HTMLParser):
    """A page's links in order: their words and addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found, self.address, self.words = list[tuple[str, str]](), "", list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.address, self.words = dict(attributes).get("href") or "", []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self.address:
            self.found.append((" ".join(" ".join(self.words).split()), self.address))
            self.address = ""


def press(page: str, words: str, person: Participant | None = None) -> str:
    """The address of the first link that begins with these words; empty if there is none."""
    begins = person.pseudonym if person and words == PERSON else words
    return next((href for name, href in Anchors(page).found if re.match(rf"{re.escape(begins)}\b", name)), "")


def lost(client: Client, study: Study, tasks: dict[str, tuple[list[str], str]]) -> dict[str, str]:
    """The tasks not reached in MOST_CLICKS clicks, with where the clicks led."""
    person, found, pages = study.participants.order_by("-pk").first(), {}, dict[str, str]()
    for task, (clicks, page) in tasks.items():
        address = reverse("console:study", args=[study.slug])
        for words in clicks:
            if address not in pages:
                pages[address] = text_of(client.get(address, follow=True))
            address = press(pages[address], words, person).partition("#")[0]
            if not address:
                found[task] = f"no “{words}”"
                break
        else:
            reached = resolve(address.partition("?")[0]).view_name
            if reached != page or len(clicks) > MOST_CLICKS:
                found[task] = f"{reached} after {len(clicks)}"
    return found


def test_every_task_is_found_in_three_clicks() -> None:
    study = make_world()
    make_endpoint()
    assert len(TASKS) >= 30 and lost(log_in(study), study, TASKS) == {}


def test_annotators_studies_have_their_own_entries() -> None:
    study = make_annotated(slug="labels")[0]
    assert lost(log_in(study), study, OF_ANNOTATORS) == {}
    assert [entry.title for entry in entries_of(study)] == [
        "Study", "Collect", "Judges", "Items", "Agreement", "Export"
    ]  # fmt: skip


def test_a_viewer_sees_no_tab_that_they_may_not_open() -> None:
    study = make_study()
    client = log_in(study, "viewer")
    for page in ("console:study", "console:monitor", "baselines:runs"):
        for name, address in Anchors(text_of(client.get(reverse(page, args=["teas"])))).found:
            if address.startswith("/"):
                assert client.get(address).status_code == 200, (name, address)


def test_every_entry_says_how_it_stands() -> None:
    study = make_study()
    named = {entry.name for kind in (study, make_annotated(slug="labels")[0]) for entry in entries_of(kind)}
    assert named == {*STANDINGS}


def test_what_the_frame_counts_is_what_its_pages_count() -> None:
    study = make_world()
    counts, watched = count_study(study, make_account("eve", study, "viewer")), watch(study)
    assert (counts.places, counts.filled, counts.leased) == (watched.places, watched.filled, watched.leased)
    assert counts.number("people") == watched.people and counts.number("runs") == study.runs.count()
    waiting = log_in(study).get(reverse("answers:list", args=["teas"])).context["counts"]["waiting"]
    assert counts.number("waiting") == waiting


def test_compare_counts_the_people_who_completed() -> None:
    study = make_study("live", places=3)
    make_participant(study)
    tell(study, ["Assam"])
    assert STANDINGS["compare"](study, count_study(study, make_account("eve", study))).words == "1 completed, 0 runs"
    read_everywhere()
    assert Reporting(study).part("about")["answers"]["people"] == 1


@pytest.mark.parametrize(
    ("state", "people", "step"),
    [
        ("draft", 0, "Next: Read and launch the study."),
        ("live", 0, "Next: Give people the link."),
        ("paused", 1, "Next: Resume recruiting."),
        ("live", 1, "Next: Start a first run."),
    ],
)
def test_first_page_of_a_study_says_what_to_do_next(state: str, people: int, step: str) -> None:
    study = make_study(state, places=3)
    for _ in range(people):
        make_participant(study)
    address = reverse("console:study", args=["teas"])
    assert step in lines_of(log_in(study).get(address))
    assert "Next:" not in lines_of(log_in(study, "viewer", "bob").get(address))


def test_annotators_get_the_link_once_there_are_items() -> None:
    study = make_annotation_study("live")
    client, address = log_in(study), reverse("console:study", args=["teas"])
    assert "Next: Give annotators items." in lines_of(client.get(address))
    make_items(study, 1)
    assert "Next: Give people the link." in lines_of(client.get(address))


def test_a_full_study_of_annotators_is_closed_once_all_labels_are_given() -> None:
    study = make_annotation_study("live", places=1, overlap=1, items=2)
    person, client = make_annotator(study), log_in(study)
    annotate(person)
    finish_annotating(person)
    first, monitor = (reverse(name, args=["teas"]) for name in ("console:study", "console:monitor"))
    for address in (first, monitor):
        words = lines_of(client.get(address))
        assert "The only place is filled, and 1 label is missing." in words
        assert "All places are filled, 1 label missing" in words
        assert "Close the study" not in words and "can be closed" not in words
    Slot.objects.filter(done_at=None).delete()
    assert "Next: Close the study." in lines_of(client.get(first))


def test_a_study_of_annotators_with_free_places_is_closed_once_all_labels_are_given() -> None:
    study = make_annotation_study("live", places=2, overlap=1, items=1)
    person, client = make_annotator(study), log_in(study)
    address = reverse("console:study", args=["teas"])
    assert "Close the study" not in lines_of(client.get(address))
    annotate(person)
    finish_annotating(person)
    words = lines_of(client.get(address))
    assert "Next: Close the study." in words and "Every label is there." in words


def test_imported_labels_count_in_the_rail_and_in_the_list_of_people(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("item,annotator,label\n1,Ann,yes\n2,Ann,no\n1,Bob,yes\n")
    import_annotations("labels", tmp_path / "labels.csv", "tests")
    client = log_in(Study.objects.get(slug="labels"))
    words = lines_of(client.get(reverse("console:study", args=["labels"])))
    assert "Items 2 items 3 of 3 labels" in words and "Agreement 3 labels No items of a pilot" in words
    assert "live until" in words and "live since" not in words
    assert "Collect 2 people Imported" in words and "0 of 0" not in words and "The study is closed." in words
    assert "labels given" not in lines_of(client.get(reverse("console:monitor", args=["labels"])))  # of none wanted
    words = lines_of(client.get(reverse("console:setup", args=["labels"])))
    assert "2 items, 0 places, USD 0.00 for 1 minute." in words
    listed = client.get(reverse("console:participants", args=["labels"])).context["people"]
    assert sorted(person.answered for person in listed) == [1, 2]


def test_the_rail_does_not_say_that_nobody_came_to_a_pilot() -> None:
    study = make_annotation_study("pilot")
    make_items(study, 1, pilot=True)
    annotate(make_annotator(study))
    words = lines_of(log_in(study).get(reverse("console:study", args=["teas"])))
    assert "The pilot runs" in words and "Nobody has come yet" not in words and "Pilot gate not decided" in words


def test_first_page_of_a_study_says_once_which_cell_is_behind() -> None:
    study = make_study("live", places=2)
    for chatbot, cell in (("chatgpt", "milky"), ("chatgpt", "plain"), ("gemini", "milky")):
        make_participant(study, Participant.State.COMPLETED, chatbot=chatbot, cell=cell)
    heading = lines_of(log_in(study).get(reverse("console:study", args=["teas"]))).partition("is behind.")
    assert heading[1] and not heading[2].startswith(" Next:")


def test_other_studies_are_in_the_menu_and_those_of_others_are_not() -> None:
    client, mine = log_in(make_study()), make_study("draft", slug="herbs", title="Herbs")
    make_study("draft", slug="cups", title="Cups")
    make_account("eve", mine, "viewer")
    words = lines_of(client.get(reverse("console:study", args=["teas"])))
    assert "Herbs" not in words and "Cups" not in words
    both = Client()
    both.force_login(mine.memberships.get().user)
    Study.objects.get(slug="teas").memberships.create(user=mine.memberships.get().user, role="viewer")
    words = lines_of(both.get(reverse("console:study", args=["teas"])))
    assert "Herbs" in words and "Cups" not in words


def test_export_without_data_says_what_comes_first() -> None:
    study = make_study()
    client = log_in(study)
    words = lines_of(client.get(reverse("export:page", args=["teas"])))
    assert "There is nothing to export yet." in words and "Give people the link" in words
    assert "Download" not in words.partition("There is nothing")[2]
    assert EXPORT.tabs[0].page == "export:page"
