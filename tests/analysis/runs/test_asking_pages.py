"""Asking about a corpus from the console and the API: first the cost, then a run that can be followed and paused."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.models import Attribute, Completion, Corpus, CorpusStep, CorpusUser, Run, Task
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.pages.reads import steps_of
from analysis.people.pages.waiting import AskingRun, CorpusStanding, asking_runs, cost_of, next_step, what_waits
from analysis.people.steps import note_waiting
from analysis.runs import tasks
from analysis.runs.asking.replies import read_replies
from analysis.runs.lanes.runs import pause, run_inline
from analysis.runs.pages import asking_views
from surveys.models import AuditEvent, Study
from tests.analysis.people.people_samples import make_person, people, talk
from tests.analysis.runs.baseline_factories import make_corpus, use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import make_study
from tests.lasting import copied_world
from tests.roles import RANK, as_account, make_roles
from tests.surveys.console.console_pages import lines_of, said

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = "ann@example.org"


@copied_world
def corpus() -> Corpus:
    """A corpus, and a study with accounts."""
    make_roles(make_study("draft"))
    corpus = make_corpus()
    make_person("ann", [*talk("ann", 3), [f"I live in Leeds. Write to {MAIL}, my address."]], corpus)
    make_person("rare", talk("rare", 1), corpus)
    make_fake(price_in=1, price_out=2)
    people("corpus", "filter", "--without-assistant-use")
    return corpus


@pytest.fixture(autouse=True)
def study(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Study:
    """The study; a worker's planning is done at once, and lanes wait to be run."""
    monkeypatch.setattr(asking_views.ask_step, "delay", lambda *given: tasks.ask_step(*given))
    monkeypatch.setattr(tasks, "enqueue_lanes", lambda *given: 1)
    return Study.objects.get(slug="teas")


def address(task: str = "extract") -> str:
    return reverse("baselines:ask", args=["teas", "corpus", task])


def ask(task: str = "extract", **given: Any) -> Any:
    return as_account("researcher").post(address(task), {"endpoint": "scripted"} | given, follow=True)


def begin(task: str = "extract") -> Any:
    """Press the button below the count."""
    page = as_account("researcher").get(address(task)).content.decode()
    mark = re.search(r'name="start" value="([^"]+)"', page)
    return as_account("researcher").post(address(task), {"start": mark.group(1) if mark else "1"}, follow=True)


def standing(corpus: Corpus) -> CorpusStanding:
    return CorpusStanding(corpus, steps_of(corpus), runs_of(corpus))


def runs_of(corpus: Corpus) -> list[AskingRun]:
    return asking_runs(corpus, get_user_model().objects.get(username="researcher"), Study.objects.get(slug="teas"))


def waits(corpus: Corpus) -> list[str]:
    return [wait.words for wait in what_waits(standing(corpus))]


def upcoming(corpus: Corpus) -> str | None:
    found = next_step(standing(corpus))
    return found and found.step


def work_off(run: Run) -> None:
    list(run_inline(run))
    read_replies(run)


# --- from the cost to the run


def test_cost_is_shown_before_anything_is_planned_or_sent(corpus: Corpus) -> None:
    assert "Extraction: 4 conversations not asked about yet" in lines_of(as_account("researcher").get(address()))
    words = lines_of(ask())
    assert "4 calls, about " in words and "Nothing has been sent yet." in words and "Send 4 calls" in words
    assert not Run.objects.exists() and not Task.objects.exists()
    step = CorpusStep.objects.get(name="extract")
    assert step.report["dry_run"] and step.report["run"] is None and step.report["usd"] > 0


def test_what_nobody_can_be_asked_yet_is_said_instead_of_a_count(corpus: Corpus) -> None:
    CorpusStep.objects.all().delete()
    words = lines_of(as_account("researcher").get(address()))
    assert "Extraction: nothing can be asked yet" in words
    assert "The users of corpus were not filtered to the end." in words
    assert "not asked about yet" not in words and "Dry run" not in words


def test_what_was_counted_is_what_starts(study: Study, corpus: Corpus) -> None:
    ask(limit="2", budget="0.5")
    page = begin()
    assert said(page) == ["Extraction: asking begins as soon as a worker is free."]
    run = Run.objects.get()
    assert (run.state, run.budget, run.completions.count()) == ("running", 0.5, 2)
    assert (CorpusStep.objects.get(name="extract").report["run"], run.created_by) == (run.pk, "researcher")
    events = AuditEvent.objects.filter(study=study, action="people: extract").order_by("number")
    assert [event.detail.get("dry_run") for event in events] == [True, None]
    work_off(run)
    assert Attribute.objects.filter(user__key="ann").exists() or Task.objects.filter(values__isnull=False).count() == 2


@pytest.mark.parametrize("answered", [True, False])
def test_count_of_what_was_asked_before_says_so(corpus: Corpus, answered: bool) -> None:
    ask()
    begin()
    if answered:
        work_off(Run.objects.get())
    words = lines_of(ask())
    assert "Nothing new to ask Of scripted. All of it was asked before, or waits in one of the runs of corpus" in words
    assert "Nothing has been sent yet" not in words and "Send 0 calls" not in words


@pytest.mark.parametrize(("state", "sends"), [("paused", 4), ("running", 2)])
def test_calls_planned_before_are_named_and_counted_if_starting_sends_them(
    corpus: Corpus, state: str, sends: int
) -> None:
    ask(limit="2")
    begin()
    Run.objects.update(state=state)
    words = lines_of(ask())
    said = "2 calls planned before will be sent too: about $" in words
    assert f"Send {sends} calls" in words and said is (sends == 4)
    begin()
    run = Run.objects.get()
    assert (run.state, run.completions.count()) == ("running", 4)


def test_nothing_starts_that_was_not_counted(corpus: Corpus) -> None:
    page = begin()
    assert said(page) == ["See first what it would cost."] and not Run.objects.exists()


def test_nothing_starts_that_the_page_did_not_show(corpus: Corpus) -> None:
    """Another tab or another person has counted with other settings meanwhile."""
    ask(limit="1")
    page = as_account("researcher").get(address()).content.decode()
    shown = re.search(r'name="start" value="([^"]+)"', page).group(1)
    ask(limit="3", budget="500")
    again = as_account("researcher").post(address(), {"start": shown}, follow=True)
    assert said(again) == ["It was counted anew since you loaded the page. Look at what it costs now."]
    assert "Send 3 calls" in lines_of(again) and not Run.objects.exists()
    begin()
    assert Run.objects.get().completions.count() == 3


def test_what_cannot_be_asked_says_why(corpus: Corpus) -> None:
    words = lines_of(ask(budget="0.000001"))
    assert "It cannot be asked like this" in words and "above the budget of $0.000001" in words
    assert "Send" not in words
    assert "Select a valid choice" in lines_of(ask("candidates", prompts="coffees"))
    assert "has no batch API" in lines_of(ask(batch="on"))
    assert as_account("researcher").get(address("reason")).status_code == 404


def test_candidates_are_asked_for_the_prompts_of_a_study(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    keep_attributes(corpus, [NewAttribute("ann", "Drinks tea.", 0.9)])
    people("corpus", "merge")
    assert "2 calls, about " in lines_of(ask("candidates", prompts="teas"))


# --- the run and its page


@pytest.fixture
def run(corpus: Corpus) -> Run:
    ask()
    begin()
    return Run.objects.get()


def test_run_about_a_corpus_has_its_page_for_researchers_only(run: Run) -> None:
    work_off(run)
    call = Completion.objects.get(task__conversation__user="ann", reply__contains="Leeds")
    own = {
        "run": [run.pk],
        "run-part": [run.pk],
        "completion": [run.pk, call.pk],
        "completion-messages": [run.pk, call.pk],
    }
    for name, more in own.items():
        where = reverse(f"baselines:{name}", args=["teas", *more])
        found = {role: as_account(role).get(where).status_code for role in RANK}
        assert found["stranger"] == found["viewer"] == 404 and found["blinded"] == 403, name
        assert found["researcher"] == found["owner"] in (200, 286), name
        page = as_account("researcher").get(where).content.decode()
        assert (MAIL in page) == (name == "completion-messages"), name


def test_unreadable_replies_are_listed_with_their_calls(corpus: Corpus, study: Study) -> None:
    make_fake(name="broken", extra={"reply": f"Dear {MAIL}, no."})
    ask(endpoint="broken")
    begin()
    run = Run.objects.get()
    work_off(run)
    client = as_account("researcher")
    page = client.get(reverse("baselines:run", args=["teas", run.pk]))
    words = lines_of(page)
    assert "0 replies read, 4 could not be." in words and "[e-mail address], no." in words
    assert MAIL not in page.content.decode()
    assert "4 calls match" in lines_of(client.get(f"{reverse('baselines:run', args=['teas', run.pk])}?unreadable=1"))
    assert f"4 replies of run {run.pk} could not be read." in waits(corpus)


def test_run_is_held_and_goes_on_from_the_page_of_people(study: Study, run: Run, corpus: Corpus) -> None:
    client = as_account("researcher")
    here = reverse("people:corpus", args=["teas", "corpus"])
    assert "Pause run 1" in lines_of(client.get(here)).replace(f"run {run.pk}", "run 1")
    answer = client.post(reverse("baselines:change-run", args=["teas", run.pk, "pause"]), {"people": "1"})
    assert answer.headers["Location"] == here
    assert waits(corpus) == [f"Run {run.pk} (extraction) is paused with 4 calls left."]
    assert AuditEvent.objects.filter(study=study, action="baseline paused").exists()
    client.post(reverse("baselines:change-run", args=["teas", run.pk, "resume"]), {"people": "1"})
    run.refresh_from_db()
    assert run.state == "running"


# --- what waits, and what is next


def test_next_step_leads_from_conversations_to_annotators(
    corpus: Corpus, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_letters(monkeypatch)
    fresh = make_corpus("fresh")
    assert upcoming(fresh) == "import"
    assert upcoming(corpus) == "extract" and waits(corpus) == []
    ask()
    begin()
    run = Run.objects.get()
    assert upcoming(corpus) is None  # it runs
    pause(run)
    assert upcoming(corpus) == "resume"
    run.refresh_from_db()
    Run.objects.filter(pk=run.pk).update(state="running")
    work_off(run)
    assert cost_of(runs_of(corpus)) == Run.objects.get().spent > 0
    for step in ("merge", "sample"):
        assert upcoming(corpus) == step
        people("corpus", step)
    assert upcoming(corpus) == "push" and waits(corpus) == []


def test_a_fault_of_the_worker_is_noted_with_the_step(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    note_waiting(corpus, "extract", {}, "researcher")
    monkeypatch.setattr(tasks, "order_asking", lambda *given: [][0])
    with pytest.raises(IndexError):
        tasks.ask_step(corpus.pk, "extract", {}, "researcher")
    assert waits(corpus) == ["Extraction failed: IndexError('list index out of range')"]


def test_next_step_leads_to_the_question_about_use_where_no_model_was_asked(corpus: Corpus) -> None:
    people("corpus", "filter")
    words = "No model has been asked whether the 1 kept user uses the assistant as a person would. Ask about"
    page = as_account("researcher").get(reverse("people:corpus", args=["teas", "corpus"]))
    assert f'id="next" class="button primary" href="{address("assistant-use")}"' in page.content.decode()
    for shown in (lines_of(page), lines_of(as_account("researcher").get(address()))):
        assert shown.count(words) == 1 and "people corpus ask" not in shown
    keep_attributes(corpus, [NewAttribute("ann", "Bakes bread.", 0.9)])
    assert upcoming(corpus) != "assistant-use"
    assert words in lines_of(as_account("researcher").get(reverse("people:corpus", args=["teas", "corpus"])))
    corpus.users.update(left_out_by="", conversations=1)
    CorpusUser.objects.filter(key="rare").update(verdicts={"assistant-use": {"asked": 1}})
    assert standing(corpus).use_not_asked.startswith("No model has been asked whether 1 of the 2 kept users uses ")


def test_what_no_longer_holds_waits(corpus: Corpus, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    keep_attributes(corpus, [NewAttribute("ann", "Bakes bread.", 0.9)])
    people("corpus", "merge")
    keep_attributes(corpus, [NewAttribute("ann", "Sings.", 0.9)])
    assert (
        waits(corpus) == ["1 attribute came after the last merge. Do it again: merge."] and upcoming(corpus) == "merge"
    )
    ask("assistant-use")
    begin("assistant-use")
    work_off(Run.objects.get())
    assert "4 verdicts of models came after the filter. Do it again: filter." in waits(corpus)
    assert upcoming(corpus) == "filter"
    people("corpus", "filter", "--without-assistant-use")
    assert "The users were filtered after the last merge. Do it again: merge." in waits(corpus)
    make_person("ann", [["One more thing."]], corpus)
    assert "1 conversation not asked about yet: assistant use." in waits(corpus)


def test_budget_that_is_used_up_waits(run: Run, corpus: Corpus) -> None:
    Run.objects.filter(pk=run.pk).update(state="stopped", reason="The budget of $0.10 is used up.")
    assert waits(corpus) == [f"Run {run.pk} (extraction) stopped with 4 calls left: The budget of $0.10 is used up."]
    words = lines_of(as_account("researcher").get(reverse("people:corpus", args=["teas", "corpus"])))
    assert "Set a budget" in words


@pytest.mark.parametrize("step", ["nothing", "filter", "merge", "sample"])
def test_page_has_one_filled_button(step: str, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    keep_attributes(corpus, [NewAttribute("ann", "Bakes bread.", 0.9)])
    for name in {"merge": ["merge"], "sample": ["merge", "sample"]}.get(step, []):
        people("corpus", name)
    if step == "nothing":
        CorpusStep.objects.all().delete()
    page = as_account("researcher").get(reverse("people:corpus", args=["teas", "corpus"])).content.decode()
    assert page.count("button primary") == 1


# --- the API


def as_program(role: str) -> Client:
    token, _ = Token.objects.get_or_create(user=get_user_model().objects.get(username=role))
    return Client(headers={"Authorization": f"Token {token.key}"})


def post(path: str, body: Any = None, role: str = "researcher") -> Any:
    where = f"/api/v1/studies/teas/people/corpus/{path}"
    return as_program(role).post(where, json.dumps(body or {}), "application/json")


def test_api_plans_starts_and_holds(corpus: Corpus) -> None:
    answer = post("ask/extract/", {"endpoint": "scripted", "dry_run": True})
    assert answer.status_code == 202
    assert answer.json()["steps"]["extract"]["report"]["calls"] == 4 and not Run.objects.exists()
    number = post("ask/extract/", {"endpoint": "scripted"}).json()["steps"]["extract"]["report"]["run"]
    rows = as_program("researcher").get("/api/v1/studies/teas/people/corpus/runs/").json()["results"]
    assert [(row["id"], row["calls"], row["instruction"], row["study"]) for row in rows] == [
        (number, 4, "extract-1", None)
    ]
    assert post(f"runs/{number}/pause/").json()["run"]["state"] == "paused"
    told = as_program("researcher").get("/api/v1/studies/teas/people/corpus/").json()
    assert (told["next"], told["usd"], told["not_asked"]["extract"]) == ("resume", 0.0, 0)
    assert told["waits"][0]["run"] == number
    assert post(f"runs/{number}/resume/", {"budget": "2"}).json()["run"]["budget_usd"] == 2
    assert post(f"runs/{number}/explode/").status_code == 404


def test_api_refuses_what_it_does_not_know(corpus: Corpus) -> None:
    assert "limits: no such field" in post("ask/extract/", {"endpoint": "scripted", "limits": 3}).json()["detail"]
    assert post("ask/extract/", {}).status_code == 400
    assert post("ask/nothing/", {"endpoint": "scripted"}).status_code == 404
