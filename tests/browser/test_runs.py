"""Runs in a real browser: an estimate that follows the form, and a run that updates itself."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from analysis.models import Completion, Endpoint, Run
from analysis.runs.lanes.runs import run_inline
from analysis.runs.pages import actions
from surveys.models import Study
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.analysis.runs.run_samples import answer, make_done, make_running
from tests.browser.console import faults_at, log_in
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(site: str, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(actions, "enqueue_lanes", lambda run: True)  # no worker listens; tests run the lanes
    return make_study("draft")


def work(run: Run) -> None:
    """Run the lanes in another thread, since Playwright's loop runs in this one."""

    def lanes() -> None:
        list(run_inline(run))
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lanes).result()


def pages_of(run: Run) -> list[str]:
    call = run.completions.order_by("pk").first()
    paths = ["", "new/", "endpoints/", "endpoints/new/", f"endpoints/{run.endpoint.name}/"]
    paths += [f"{run.pk}/", f"{run.pk}/cancel/", f"{run.pk}/calls/{call.pk}/"]
    paths.append("compare/?" + "&".join(f"run={other.pk}" for other in Run.objects.all()))
    return [f"/console/{run.study.slug}/baselines/{path}" for path in paths]


def test_run_from_the_form_to_its_answers(page: Page, study: Study) -> None:
    make_endpoint(name="priced", price_out=10)
    log_in(page, study, "researcher")
    page.goto("/console/teas/baselines/")
    page.get_by_role("link", name="New run").click()
    page.get_by_label("Repeats", exact=True).fill("4")
    # Two prompts, four times: 4 × (300 + 60) tokens at 10 dollars a million.
    expect(page.locator("#estimate")).to_contain_text("8 calls, about")
    expect(page.locator("#estimate")).to_contain_text("1,440 out: $0.01")
    assert not Run.objects.exists()
    expect(page.get_by_label("Corpus")).to_be_hidden()
    page.get_by_label("Condition").select_option("sp-history")
    expect(page.get_by_label("Corpus")).to_be_visible()
    expect(page.locator("#estimate")).to_contain_text("Complete the form")
    page.get_by_label("Condition").select_option("offline")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("No worker has taken it yet.")
    run = Run.objects.get()
    work(run)
    # The open page learns of it by itself, and then stops asking.
    expect(page.get_by_role("heading", level=1)).to_have_text("Done, 8 of 8 calls answered.")
    page.reload()
    page.locator("table").last.get_by_role("link").first.click()
    expect(page.get_by_text("exactly the same as what was sent")).to_be_visible()
    expect(page.locator(".reply")).not_to_be_empty()


def test_running_page_updates_and_can_be_paused(page: Page, study: Study) -> None:
    run = make_running(study)
    log_in(page, study, "researcher")
    page.goto(f"/console/teas/baselines/{run.pk}/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("3 of 6 calls answered")
    answer(Completion.objects.get(run=run, status="pending"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("4 of 6 calls answered")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status")).to_contain_text("Paused.")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Cancelled")


def test_list_follows_what_is_typed_and_what_is_answered(page: Page, study: Study) -> None:
    done, run = make_done(study, note="Before the outage"), make_running(study)
    log_in(page, study, "researcher")
    page.goto("/console/teas/baselines/")
    find = page.get_by_role("searchbox")
    find.fill("outage")
    expect(page.get_by_text("1 run of 2.")).to_be_visible()
    expect(page).to_have_url(re.compile("q=outage"))
    find.fill("")
    for number in (done.pk, run.pk):
        page.get_by_label(f"Compare run {number}").check()
    answer(Completion.objects.get(run=run, status="pending"))
    expect(page.get_by_text("4 of 6 ·")).to_be_visible()
    expect(page.get_by_label(f"Compare run {run.pk}")).to_be_checked()
    page.get_by_role("button", name="Compare settings of 2").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Runs {done.pk} and {run.pk}")


def test_pages_have_no_fault_and_fit_a_phone(page: Page, study: Study) -> None:
    make_done(study)
    run = make_running(study, budget=5)
    Endpoint.objects.update(study=study)  # so that its owner may change it
    log_in(page, study, "owner")
    assert faults_at(page, pages_of(run)) == []


def test_run_is_estimated_and_started_without_javascript(plain: Page, study: Study) -> None:
    make_endpoint(name="scripted")
    log_in(plain, study, "researcher")
    plain.goto("/console/teas/baselines/new/")
    plain.get_by_label("Repeats", exact=True).fill("3")
    plain.get_by_role("button", name="Estimate").click()
    expect(plain.locator("#estimate")).to_contain_text("6 calls, about")
    plain.get_by_role("button", name="Start the run").click()
    expect(plain.get_by_role("status")).to_contain_text("is started: 6 calls")
