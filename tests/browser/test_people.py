"""A corpus's people in a real browser: importing the corpus, its funnel, and evidence one click away."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from analysis.models import Corpus, CorpusUser
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora import uploads
from analysis.people.funnel import FilterSettings, filter_users
from analysis.people.merging import merge_attributes
from analysis.people.pages import source_views, views
from analysis.people.sampling import sample_users
from analysis.people.tasks import people_step
from analysis.runs.asking.plans import order_asking, plan_conversations
from analysis.runs.asking.registry import TASKS
from analysis.runs.pages import asking_views
from analysis.runs.tasks import ask_step
from surveys.models import Study
from tests.analysis.people.people_samples import make_person, talk
from tests.analysis.runs.baseline_factories import LETTERS, make_corpus, make_endpoint, make_personas, shared
from tests.browser.console import faults_at, log_in
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(site: str, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A draft with no worker listening: filtering and the like wait, imports and counts happen at once."""
    monkeypatch.setattr(views.people_step, "delay", lambda *given: given[1] == "import" and people_step(*given))
    monkeypatch.setattr(asking_views.ask_step, "delay", lambda *given: ask_step(*given))
    monkeypatch.setattr("analysis.runs.tasks.enqueue_lanes", lambda *given: 1)
    return make_study("draft")


def fill_corpus() -> None:
    corpus = make_corpus("chats")
    for name in ("ann", "bob", "cleo", "dan", "eve", "finn"):
        make_person(name, [*talk(name, 3), [f"I bake bread, says {name}."]], corpus)
        rows = [
            NewAttribute(name, "Bakes bread.", 0.9, ["i bake  bread"]),
            NewAttribute(name, f"Is called {name}.", 0.6),
        ]
        keep_attributes(corpus, rows)
    make_person("rare", talk("rare", 1), corpus)
    filter_users(corpus, FilterSettings(without_assistant_use=True))
    merge_attributes(corpus, LETTERS)
    sample_users(corpus, 5)


def write_chats(path: Path, number: int) -> Path:
    records = [
        {"conversation": [{"role": "user", "content": f"Hi {n}"}], "hashed_ip": "ann", "language": "English"}
        for n in range(number)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def bring(page: Page, file: Path) -> None:
    page.goto("/console/teas/people/")
    page.get_by_label("Name").fill("mine")
    page.get_by_label("Format").select_option("wildchat")
    page.get_by_label("Source").fill("A friend")
    page.get_by_label("Licence").fill("MIT")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").click()


def test_corpus_is_brought_in_parts_and_filtered(
    page: Page, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (uploads, source_views):  # the page says how long parts are
        monkeypatch.setattr(module, "PART_BYTES", 1_000)
    parts: list[str] = []
    page.on("request", lambda request: parts.append(request.url) if "part=" in request.url else None)
    log_in(page, study, "researcher")
    bring(page, write_chats(tmp_path / "chats.jsonl", 30))
    expect(page.get_by_role("heading", level=1)).to_have_text("30 conversations; nobody has been filtered yet.")
    assert len(parts) > 2
    page.get_by_role("button", name="Filter", exact=True).first.click()
    expect(page.get_by_text("Filter begins as soon as a worker is free.")).to_be_visible()
    expect(page.get_by_text("Waiting", exact=True)).to_be_visible()


def test_upload_that_cannot_be_sent_says_why_and_can_be_sent_again(page: Page, study: Study, tmp_path: Path) -> None:
    log_in(page, study, "researcher")
    file = write_chats(tmp_path / "chats.jsonl", 3)
    page.route("**/uploads/*/?part=*", lambda route: route.fulfill(status=409, json={"faults": ["Too much."]}))
    bring(page, file)
    expect(page.get_by_role("alert").filter(has_text="Too much.")).to_be_visible()
    page.unroute("**/uploads/*/?part=*")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("3 conversations; nobody has been filtered yet.")


@pytest.mark.parametrize("scripts", [True, False])
def test_extraction_begins_with_what_it_costs(scripts: bool, browser: Browser, site: str, study: Study) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=scripts)
    make_endpoint(name="scripted", price_in=1, price_out=3)
    fill_corpus()
    page = context.new_page()
    log_in(page, study, "researcher")
    page.goto("/console/teas/people/chats/")
    page.get_by_role("link", name="Extract attributes").click()
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("24 calls, about")).to_be_visible()
    page.get_by_role("button", name="Send 24 calls").click()
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    page.get_by_role("button", name="Pause run").click()
    expect(page.get_by_text("is paused with 24 calls left.")).to_be_visible()
    context.close()


def test_evidence_is_one_click_away(page: Page, study: Study) -> None:
    fill_corpus()
    log_in(page, study, "researcher")
    page.goto("/console/teas/people/chats/")
    expect(page.locator(".wide-only svg.figure")).to_be_visible()
    page.get_by_role("link", name="Bakes bread.").first.click()
    expect(page.locator("mark.evidence")).to_have_text("I bake bread")


def test_pages_of_people_can_be_used_by_everybody(page: Page, study: Study) -> None:
    fill_corpus()
    log_in(page, study, "researcher")
    order_asking(Corpus.objects.get(), "extract", {"endpoint": make_endpoint().name, "dry_run": True}, "ada")
    run = shared(plan_conversations(TASKS["language"], Corpus.objects.get(), make_endpoint().name, "ada")[0]).pk
    make_personas("made-up", [("A made-up nurse who sings.", ["I row."])])
    looks = ("people/chats/conversations/", "personas/", "personas/made-up/")
    evidence = f"people/chats/users/{CorpusUser.objects.get(key='ann').pk}/"
    paths = ("people/", "people/chats/", "people/chats/ask/extract/", f"baselines/{run}/", evidence, *looks)
    assert faults_at(page, [f"/console/teas/{path}" for path in paths]) == []
