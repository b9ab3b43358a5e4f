"""The list of runs: what tells runs apart, finding and grouping them, current activity, and two side by side."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from analysis.models import Completion, Run
from analysis.runs.lanes.runs import progress_of
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import make_corpus, make_endpoint, make_run
from tests.analysis.runs.run_samples import answer, make_done, make_running, page_of
from tests.factories import make_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of

# Session, account, study, role twice; runs, their calls by state and of the last minute, what is unread; the rail.
RUNS_PAGE = 11  # calls are counted from the index; leased and unread ones apart from it
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ten_seconds_of_work")]


def listed(client: Client, **wanted: object) -> list[int]:
    groups = client.get(page_of("runs"), wanted).context["groups"]
    return [line["run"].pk for group in groups for line in group["lines"]]


def settings_said(client: Client) -> dict[int, str]:
    groups = client.get(page_of("runs")).context["groups"]
    return {line["run"].pk: line["settings"] for group in groups for line in group["lines"]}


def test_empty_list_says_what_comes_first(client: Client) -> None:
    assert "First it takes an endpoint" in lines_of(client.get(page_of("runs")))
    make_endpoint()
    assert page_of("new-run") in text_of(client.get(page_of("runs")))


def test_list_shows_each_run_with_its_numbers(client: Client, study: Study) -> None:
    make_running(study, budget=5, spent=Decimal("0.0042"))
    make_done(study, condition="sp-profile", endpoint=make_endpoint(provider="openai", base_url="http://x/v1"))
    page = client.get(page_of("runs"))
    words = lines_of(page)
    # 4 calls have ended in the 10 seconds since it began: the 2 left take 5 seconds at 0.4 a second.
    assert "One of 2 runs is running: Offline, 5 s to go. $0.0042 spent · 4 answers not read yet" in words
    assert "3 of 6 · 1 failed · 5 s to go · 0.4 calls/s · 1 in flight $0.0042 of $5.00 today" in words
    assert text_of(page).count('<span class="chip mark">simulated</span>') == 1


def test_list_leaves_out_other_studies_and_benchmarks(client: Client, study: Study) -> None:
    make_done(make_study("draft", slug="coffees"))
    make_run(benchmark="sums")
    assert "No baseline has been run yet." in lines_of(client.get(page_of("runs")))


@pytest.mark.parametrize("runs", [1, 30])
def test_list_takes_as_many_statements_for_many(
    runs: int, client: Client, study: Study, django_assert_num_queries: Callable
) -> None:
    for _ in range(runs):
        make_running(study)
    with django_assert_num_queries(RUNS_PAGE):
        assert client.get(page_of("runs")).status_code == 200


def test_part_of_the_list_stops_asking_when_nothing_goes_on(client: Client, study: Study) -> None:
    run = make_running(study)
    assert client.get(page_of("runs-part")).status_code == 200
    Run.objects.filter(pk=run.pk).update(state="paused")
    response = client.get(page_of("runs-part"))
    assert (response.status_code, "<html" in text_of(response)) == (286, False)


def test_only_settings_that_tell_runs_apart_are_said(client: Client, study: Study) -> None:
    endpoint = make_endpoint()
    warm = make_done(study, endpoint=endpoint, repeats=4000)
    assert settings_said(client) == {
        warm.pk: f"{endpoint.name} · all prompts · version 1 · T 1 · 4,000 repeats · seed 0 · live"
    }
    cold = make_done(study, endpoint=endpoint, temperature=0.0)
    assert settings_said(client) == {warm.pk: "T 1 · 4,000 repeats", cold.pk: "T 0 · 1 repeat"}
    corpus, slug = make_corpus(), study.current.prompts.first().slug
    history = make_done(
        study, condition="sp-history", endpoint=endpoint, corpus=corpus, history_size=20, users=40, prompts=[slug]
    )
    # A setting that only one run has tells no runs apart.
    assert settings_said(client) == {
        warm.pk: "all prompts · T 1 · 4,000 repeats",
        cold.pk: "all prompts · T 0 · 1 repeat",
        history.pk: "1 prompt · T 1 · 1 repeat",
    }
    fewer = make_done(study, condition="sp-history", endpoint=endpoint, corpus=corpus, history_size=5, users=40)
    assert settings_said(client)[fewer.pk] == "all prompts · T 1 · K 5 · 1 repeat"


def test_an_endpoint_is_named_where_one_model_has_several(client: Client, study: Study) -> None:
    first, second = make_done(study), make_done(study)
    other = make_done(study, endpoint=make_endpoint(name="other", model="another"))
    assert settings_said(client) == {first.pk: first.endpoint.name, second.pk: second.endpoint.name, other.pk: "other"}
    first.delete()
    assert set(settings_said(client).values()) == {""}


def test_runs_are_found_by_words_of_what_the_list_says(client: Client, study: Study) -> None:
    wild = make_done(study, condition="sp-history", corpus=make_corpus("wildchat"), history_size=1)
    other = make_done(study, note="Before the outage", endpoint=make_endpoint(name="gemini", model="gemini-2.0-flash"))
    assert listed(client, q="history WILD") == [wild.pk]
    assert listed(client, q="outage gemini") == listed(client, q="flash") == [other.pk]
    assert listed(client, q=f"run {wild.pk}") == [wild.pk]
    page = client.get(page_of("runs"), {"q": "outage history"})
    assert "0 runs of 2." in lines_of(page) and "No run matches." in lines_of(page)


def test_runs_are_grouped_and_filtered_by_state(client: Client, study: Study) -> None:
    first = make_done(study, spent=Decimal("1.50"))
    profile = make_done(study, condition="sp-profile")
    last = make_run(study=study, state="stopped", spent=Decimal("0.25"))
    page = client.get(page_of("runs"), {"group": "condition"})
    assert [(group["name"], group["number"], group["cost"]) for group in page.context["groups"]] == [
        ("Offline", "2 runs", "$1.75"),
        ("SP-Profile", "1 run", "$0.00"),
    ]
    assert listed(client, group="condition") == [last.pk, first.pk, profile.pk]
    assert listed(client, state="stopped", group="model") == [last.pk]
    assert listed(client, state="nonsense", group="nonsense") == [last.pk, profile.pk, first.pk]
    assert "3 runs, none is running; 1 stopped and waiting for a decision." in lines_of(page)


def test_heading_says_how_many_calls_failed_whatever_the_list_shows(client: Client, study: Study) -> None:
    first, second = make_done(study), make_done(study)
    Completion.objects.filter(run=second).update(status="failed")
    calls, failed = (Completion.objects.filter(run__in=runs).count() for runs in ((first, second), (second,)))
    said = f"2 runs, none is running; {failed} of {calls} calls failed."
    for asked in ({}, {"q": f"run {first.pk}"}):
        assert said in lines_of(client.get(page_of("runs"), asked))


def test_part_that_was_asked_for_has_the_heading_and_gives_the_page_its_address(client: Client, study: Study) -> None:
    run = make_done(study)
    asked = client.get(page_of("runs-part"), {"q": "offline", "run": run.pk}, headers={"HX-Trigger": "find-runs"})
    assert (asked.status_code, asked["HX-Replace-Url"]) == (200, f"{page_of('runs')}?q=offline&")
    assert 'hx-swap-oob="true"' in text_of(asked) and "checked" in text_of(asked)
    by_clock = client.get(page_of("runs-part"))
    assert (by_clock.status_code, by_clock.has_header("HX-Replace-Url")) == (286, False)


@pytest.mark.parametrize("held", [{"sent_at": None}, {"lease_until": timezone.now()}])
def test_calls_that_are_not_sent_or_whose_lane_is_dead_still_wait(
    client: Client, study: Study, held: dict[str, Any]
) -> None:
    run = make_running(study)
    Completion.objects.filter(run=run, status="leased").update(**held)
    assert "3 of 6 · 1 failed · 5 s to go · 0.4 calls/s $" in lines_of(client.get(page_of("runs")))
    page = client.get(page_of("run", run.pk), {"status": "pending"})
    assert "In flight 0" in lines_of(page) and len(page.context["rows"]) == 2
    assert not client.get(page_of("run", run.pk), {"status": "leased"}).context["rows"]


# --- two runs


def test_a_call_answered_while_calls_are_counted_is_counted_once(study: Study) -> None:
    run = make_running(study)

    def answered(execute: Callable[..., object], *statement: object) -> object:
        found = execute(*statement)
        with connection.connection.cursor() as others:  # bypasses this wrapper
            others.execute("UPDATE analysis_completion SET status = 'done', done_at = now() WHERE status = 'leased'")
        return found

    with connection.execute_wrapper(answered):
        (standing,) = progress_of([run], rated=[])
    assert standing.counts == {"calls": 6, "done": 3, "failed": 1, "in_flight": 0, "pending": 2}


def test_two_runs_are_compared_by_their_settings(client: Client, study: Study) -> None:
    endpoint = make_endpoint()
    corpus = make_corpus()
    first = make_done(study, endpoint=endpoint, note="The first one")
    second = make_done(study, endpoint=endpoint, condition="sp-history", corpus=corpus, history_size=20, users=40)
    page = client.get(page_of("compare"), {"run": [second.pk, first.pk]})
    assert [(row.label, row.values) for row in page.context["different"]] == [
        ("Condition", ["Offline", "SP-History"]),
        ("Simulated users", ["–", "40"]),
        ("Corpus", ["–", "corpus"]),
        ("Conversations in front", ["–", "20"]),
        ("Language of the conversations", ["–", "any"]),
        ("Toxic and redacted conversations too", ["–", "no"]),
    ]
    assert {"Model", "Temperature", "Seed"} <= {row.label for row in page.context["same"]}
    assert "differ in 6 settings." in lines_of(page) and "The first one" in lines_of(page)


def test_compare_takes_two_runs_of_the_study(client: Client, study: Study) -> None:
    own, foreign = make_done(study), make_done(make_study("draft", slug="coffees"))
    for numbers in ([], [own.pk], [own.pk, foreign.pk], ["x", "9" * 30]):
        response = client.get(page_of("compare"), {"run": numbers}, follow=True)
        assert response.redirect_chain[-1][0] == page_of("runs")
        assert said(response) == ["Tick two runs of this study to compare their settings."]


# --- notes


def test_notes_are_written_audited_and_shown(client: Client, study: Study) -> None:
    run = make_done(study)
    change = page_of("change-run", run.pk, "note")
    assert said(client.post(change, {"note": " Before <b>the outage\0 "}, follow=True)) == ["The note is saved."]
    assert "Before &lt;b&gt;the outage" in text_of(client.get(page_of("runs")))
    event = AuditEvent.objects.get(action="baseline note written")
    assert (event.subject, event.detail) == (f"run {run.pk}", {"note": "Before <b>the outage", "before": ""})
    assert said(client.post(change, {"note": "Before <b>the outage"}, follow=True)) == ["The note says that already."]
    assert said(client.post(change, {"note": "x" * 3000}, follow=True)) == ["The note is saved."]
    assert len(Run.objects.get().note) == 2000
    assert "Save note" in lines_of(client.get(page_of("run", run.pk)))
    seen = lines_of(log_in(study, "viewer", name="vic").get(page_of("run", run.pk)))
    assert "x" * 2000 in seen and "Save note" not in seen
    assert said(client.post(change, {"note": ""}, follow=True)) == ["The note is gone."]
    assert AuditEvent.objects.filter(action="baseline note written").count() == 3


# --- calls as they are answered


def test_calls_are_shown_as_they_are_answered(client: Client, study: Study) -> None:
    run = make_running(study)
    newest = run.completions.filter(status="done").order_by("-done_at").first()
    page = client.get(page_of("run", run.pk))
    assert page_of("calls-part", run.pk) in text_of(page)
    part = client.get(page_of("calls-part", run.pk))
    assert part.status_code == 200 and "<html" not in text_of(part)
    assert part.context["rows"][0].done_at >= newest.done_at
    in_order = client.get(page_of("calls-part", run.pk), {"order": "sent"}).context["rows"]
    assert [row.position for row in in_order] == sorted(row.position for row in in_order)
    answer(run.completions.get(status="leased"))
    Run.objects.filter(pk=run.pk).update(state="done")
    over = client.get(page_of("calls-part", run.pk))
    assert over.status_code == 286
    assert [row.position for row in over.context["rows"]] == sorted(row.position for row in over.context["rows"])


def test_a_page_has_one_filled_button(client: Client, study: Study) -> None:
    run = make_running(study, state="paused")
    for page in (page_of("run", run.pk), page_of("runs"), page_of("new-run")):
        assert text_of(client.get(page)).count("button primary") == 1
